"""`torch.nn.utils.rnn`: sequences of different lengths in one tensor, padded or packed."""

from __future__ import annotations

from collections.abc import Iterable

from impl.core.dtypes import int64
from impl.core.registry import C, name_home
from impl.factories.creation.from_data import as_tensor
from impl.factories.creation.ranges import arange
from impl.nn.packed_sequence import PackedSequence, invert_permutation
from impl.tensor.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def pack_padded_sequence(
    input: Tensor, lengths, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack the first `lengths` steps of padded sequences (L, N, ...), or (N, L, ...) if
    `batch_first`; without `enforce_sorted` they are sorted by length.

    Raises RuntimeError unless the lengths are positive and, if `enforce_sorted`, descending
    (torch.nn.utils.rnn.pack_padded_sequence).
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=int64)
    else:
        lengths = as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        lengths, order = C.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    data, sizes = C._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences (L, N, ...), or (N, L, ...), in their original order, padded to the longest or
    to `total_length`, and their lengths. Raises ValueError if `total_length` is too small
    (torch.nn.utils.rnn.pad_packed_sequence)."""
    length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    padded, lengths = C._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order]


def pad_sequence(
    sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L_i, ...) stacked as (L, N, ...), or (N, L, ...), with padding on one side.

    Raises RuntimeError without sequences (torch.nn.utils.rnn.pad_sequence).
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    return C.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The first `lengths` steps of each sequence; input that is not `batch_first` is transposed in
    place (torch.nn.utils.rnn.unpad_sequence)."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    steps = arange(padded_sequences.size(1))
    pairs = zip(padded_sequences, lengths, strict=True)
    return [sequence[steps < length] for sequence, length in pairs]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_i, ...); see `pack_padded_sequence`."""
    lengths = as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, in the order in which they were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


name_home(globals())
