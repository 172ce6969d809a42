"""`PackedSequence`: a batch of sequences of different lengths, without padding."""

from __future__ import annotations

from typing import Any, NamedTuple

from impl.core.registry import C
from impl.factories.creation.ranges import arange
from impl.tensor.tensor import Tensor

_NOT_ON_CPU = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
    "manually. They should be instantiated by functions like pack_sequence and "
    "pack_padded_sequences in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)


class PackedSequence_(NamedTuple):
    """The fields of a packed sequence."""

    data: Tensor
    batch_sizes: Any
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The elements of all sequences by time step, and the batch size of each step; the indices that
    sort the sequences by length, and those that undo it (torch.nn.utils.rnn.PackedSequence).

    Raises AssertionError unless given data and batch sizes, AttributeError for batch sizes that are
    no tensor, ValueError for those on another device.
    """

    def __new__(
        cls, data: Any, batch_sizes=None, sorted_indices=None, unsorted_indices=None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(_NOT_ON_CPU)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs) -> PackedSequence:
        """The sequence with data converted by `Tensor.to`; itself if the data stays the same."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def pin_memory(self) -> PackedSequence:
        """The sequence with all but the batch sizes in pinned memory."""
        rest = (part if part is None else part.pin_memory() for part in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *rest)

    def cpu(self, *args, **kwargs) -> PackedSequence:
        """Like `to`: all memory is the CPU's."""
        return self.to(*args, **kwargs)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device: never."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory: never."""
        return self.data.is_pinned()


def _conversion(name: str):
    def convert(self):
        return self.to(dtype=getattr(self.data, name)().dtype)

    convert.__name__, convert.__qualname__ = name, f"PackedSequence.{name}"
    convert.__doc__ = f"The sequence with its data as {name}."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _conversion(_name))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another; None for None."""
    if permutation is None:
        return None
    output = C.empty_like(permutation)
    return output.scatter_(0, permutation, arange(0, permutation.numel()))
