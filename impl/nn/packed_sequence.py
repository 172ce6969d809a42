"""`PackedSequence`: sequences of several lengths without padding, and which sequence is where."""

from __future__ import annotations

from typing import Any, NamedTuple

from impl.creation.ranges import arange
from impl.operator import FUNCTIONS
from impl.tensor import Tensor


class PackedSequence_(NamedTuple):
    """The four parts of a packed sequence."""

    data: Tensor
    batch_sizes: Any
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """All steps of the sequences, first steps first, and how many sequences have each; the order
    by length in which they are, and the way back (torch.nn.utils.rnn.PackedSequence).

    Raises AssertionError unless there are data and batch sizes.
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
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs) -> PackedSequence:
        """With its data converted as by `Tensor.to`; itself where there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def pin_memory(self) -> PackedSequence:
        """With all but the batch sizes in pinned memory."""
        rest = (part if part is None else part.pin_memory() for part in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *rest)

    def cpu(self, *args, **kwargs) -> PackedSequence:
        """Itself, unless something else is asked for: all memory is the CPU's."""
        return self.to(*args, **kwargs)

    @property
    def is_cuda(self) -> bool:
        """Whether its data is on a CUDA device: never."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether its data is in pinned memory: never."""
        return self.data.is_pinned()


def _conversion(name: str, dtype: str):
    def convert(self):
        return self.to(dtype=getattr(self.data, dtype)().dtype)

    convert.__name__ = name
    convert.__doc__ = f"With its data as {dtype}."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _conversion(_name, _name))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another; None for None."""
    if permutation is None:
        return None
    output = FUNCTIONS["empty_like"](permutation)
    return output.scatter_(0, permutation, arange(0, permutation.numel()))
