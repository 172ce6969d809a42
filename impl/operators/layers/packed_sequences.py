"""Sequences of several lengths in one tensor: padded to the longest, or packed without padding.

A packed tensor holds all first steps, then all second steps and so on, of the longest sequence
first; `batch_sizes` says how many sequences have each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.registry import FUNCTIONS, array_ops, native, tensor_ops
from impl.core.tensor_lists import require_tensors
from impl.dispatch import forward_rules
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.facts import NoComplex
from impl.operators.views.slicing import narrow
from impl.tensor.tensor import Tensor
from impl.tensor.wrappers import refuse_pointer

_UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
    "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
    "requirement if you do not need ONNX exportability."
)

# -- packing ------------------------------------------------------------------------------------


def batch_sizes_of(lengths: np.ndarray) -> np.ndarray:
    """How many sequences, which are sorted by length, have each step."""
    steps = np.arange(lengths[0] if lengths.size else 0)
    return (lengths[:, None] > steps).sum(0, dtype=np.int64)


@operator(
    node="PackPaddedSequenceBackward0",
    outputs=("result0", "result1"),
    function=False,
    method=False,
    complex=NoComplex(derivative="_pack_padded_sequence"),
)
def pack_padded(input: Array, lengths: Array, batch_first) -> tuple:
    steps = input.swapaxes(0, 1) if batch_first else input
    sizes = batch_sizes_of(lengths)
    there = steps[: len(sizes)]  # a length may be more than there is
    return there[np.arange(steps.shape[1]) < sizes[: len(there), None]], sizes


def _turned(shape) -> tuple[int, ...]:
    return (shape[1], shape[0], *shape[2:])


def _filled(shape, value, like: Tensor) -> Any:
    """A tensor to write into; that it is filled counts as a write, as in torch's C++."""
    return FUNCTIONS["empty"](tuple(shape), dtype=like.dtype).fill_(value)


def _backward(grad, shape, sizes, batch_first: bool):
    steps = np.zeros(_turned(shape) if batch_first else shape, grad.dtype)
    if len(sizes) > len(steps):
        raise IndexError(
            f"select(): index {len(steps)} out of range for tensor of size {[*steps.shape]} at "
            "dimension 0"
        )
    present = np.arange(steps.shape[1]) < sizes[:, None]
    steps[: len(sizes)][present] = grad
    return steps.swapaxes(0, 1) if batch_first else steps


def _recording_backward(grad, shape, sizes, batch_first: bool) -> Tensor:
    """The same of recorded operators: each step is written into zeros."""
    padded = _filled(_turned(shape) if batch_first else shape, 0, grad)
    offset = 0
    for step, size in enumerate(sizes.tolist()):
        padded[step][:size].copy_(grad[offset : offset + size])
        offset += size
    return padded.transpose(0, 1) if batch_first else padded


def _writes(_, made) -> int:
    """How often the gradient was written: with zeros, and then step by step."""
    if isinstance(made, Tensor):
        return made._version
    return 1 + made.shape[made.strides[0] < made.strides[1]]


array_ops.pack_padded_backward = _backward
tensor_ops.pack_padded_backward = _recording_backward


pack_padded.differentiable("result0").gradient(
    input=written(
        lambda F, grad, input_shape, batch_first, result1: F.pack_padded_backward(
            grad, input_shape, result1, batch_first
        ),
        _writes,
    )
)
pack_padded.forward("unsupported", name="_pack_padded_sequence", invited=True)


def _check_lengths(lengths: Tensor) -> None:
    if lengths._raw.ndim != 1 or lengths.dtype.name != "int64":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths._raw.ndim}D cpu {lengths.dtype.legacy} tensor"
        )


@function(method=False, batching="fallback")
def _pack_padded_sequence(input, lengths, batch_first) -> tuple[Tensor, Tensor]:
    """The first `lengths` steps of padded sequences (L, N, ...), or (N, L, ...), packed, with the
    batch sizes. Raises RuntimeError for nothing to pack, and unless the lengths are positive and
    descending (torch._pack_padded_sequence)."""
    if input._raw.size == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    _check_lengths(lengths)
    batch = input._raw.shape[wrap_dim(0 if batch_first else 1, input._raw.ndim)]
    values = lengths._raw
    if len(values) != batch:
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(values)} (batch_size={batch})"
        )
    forward_rules.refuse(pack_padded, (input, lengths, batch_first))
    refuse_pointer()
    if values[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if (values[:-1] < values[1:]).any():
        raise RuntimeError(_UNSORTED)
    return pack_padded(input, lengths, batch_first)


# -- padding ------------------------------------------------------------------------------------


@function(method=False, batching="fallback")
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    """Packed sequences padded to the longest, or to `total_length`, and their lengths; steps of the
    same batch size are copied together (torch._pad_packed_sequence)."""
    _check_lengths(batch_sizes)
    refuse_pointer()
    sizes = batch_sizes._raw.tolist()
    length = len(sizes)
    if total_length > 0:
        if total_length < length:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    trailing = data.shape[1:]
    padded = _filled((length, sizes[0], *trailing), padding_value, data)
    lengths = []
    start = offset = 0
    for step, size in enumerate([*sizes[1:], 0], 1):
        before = sizes[step - 1]
        if size != before:
            count = before * (step - start)
            block = data[offset : offset + count].view(step - start, before, *trailing)
            padded[start:step][:, :before].copy_(block)
            offset, start = offset + count, step
        lengths += [step] * (before - size)
    result = padded.transpose(0, 1) if batch_first else padded
    return result, FUNCTIONS["tensor"](lengths[::-1])


@native
@RULES["no_rule"]
def pad_sequence(
    sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L_i, ...) side by side in one tensor (L, N, ...), or (N, L, ...), with padding on
    the "right" or on the "left". Raises RuntimeError for none, and for another side."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    require_tensors(sequences)
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    first = sequences[0]
    if first._raw.ndim == 0:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest, count = max(s.size(0) for s in sequences), len(sequences)
    shape = (count, longest) if batch_first else (longest, count)
    padded = _filled((*shape, *first.shape[1:]), padding_value, first)
    for i, sequence in enumerate(sequences):
        length = sequence.size(0)
        start = longest - length if padding_side == "left" else 0
        if batch_first:
            place = narrow(padded.select(0, i), 0, start, length)
        else:
            place = narrow(padded, 0, start, length).select(1, i)
        place.copy_(sequence)
    return padded


# -- recurrence ---------------------------------------------------------------------------------


def _states(function, *states):
    """A function of the parts of states, each of which is a tensor or a tuple of them."""
    if isinstance(states[0], tuple):
        return tuple(function(*parts) for parts in zip(*states, strict=True))
    return function(*states)


def _rows(state, start: int, end: int):
    return _states(lambda s: narrow(s, 0, start, end - start), state)


def _joined(*states):
    return _states(lambda *parts: FUNCTIONS["cat"](parts, 0), *states)


def forwards(step, gates: Tensor, sizes: list[int], state, w_hh, b_hh):
    """The outputs of all steps from the first on, and the last state of each sequence: sequences
    that have ended are cut off."""
    outputs, ended = [], []
    offset, before = 0, sizes[0]
    for size in sizes:
        given = narrow(gates, 0, offset, size)
        offset += size
        if size < before:
            ended.append(_rows(state, size, before))
            state = _rows(state, 0, size)
        before = size
        state = step(given, state, w_hh, b_hh)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return FUNCTIONS["cat"](outputs, 0), _joined(state, *ended[::-1])


def backwards(step, gates: Tensor, sizes: list[int], state, w_hh, b_hh):
    """The outputs of all steps, computed from the last on, and the last states: sequences that
    begin there are added."""
    initial, outputs = state, []
    offset, before = gates.size(0), sizes[-1]
    state = _rows(initial, 0, before)
    for size in sizes[::-1]:
        if size > before:
            state = _joined(state, _rows(initial, before, size))
        given = narrow(gates, 0, offset - size, size)
        offset -= size
        before = size
        state = step(given, state, w_hh, b_hh)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return FUNCTIONS["cat"](outputs[::-1], 0), state
