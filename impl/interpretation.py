"""The two interpretations of a gradient formula: over raw arrays, and over tensors that record.

An ordinary backward has nobody to record for, so its gradients are bare arrays and its formulas
run on kernels. With `create_graph=True` the same formulas run on tensors with operators, and what
they record is the graph of the second derivative.
"""

from __future__ import annotations

import sys

import numpy as np

from impl.dtypes import BY_NUMPY
from impl.operator import RAW, TAPED, new
from impl.pending import Pending, marked, source_of
from impl.precision import widened
from impl.saved import raw_of, tensor_of
from impl.sizes import broadcast_dims
from impl.storage import Memory, strides_of
from impl.tensor import Tensor


def sum_to(raw, shape):
    """Sum an array over the dimensions along which `shape` was broadcast to its shape.

    Reduced-precision sums are accumulated in float32, as torch does.
    """
    axes = broadcast_dims(shape, raw.shape)
    wide = widened(raw)
    if not shape:  # torch sums everything then, which makes no view
        return wide.sum().astype(raw.dtype)
    kept = tuple(1 if d in axes else n for d, n in enumerate(raw.shape))
    # Row-major whatever the order of the input's dimensions, as ATen's reductions are.
    total = wide.sum(axes, keepdims=True, out=np.empty(kept, wide.dtype))
    if raw.ndim > len(shape):
        total = total.reshape(shape)
    return total if wide is raw else total.astype(raw.dtype)


def expandable(shape, to) -> bool:
    """Whether `shape` broadcasts to exactly `to`."""
    if len(shape) > len(to):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


class RawInterpretation:
    """Gradients are arrays; formulas run on kernels. One is made for each backward."""

    F = RAW
    records = False

    def __init__(self) -> None:
        # Gradients that came in as tensors, by their array: autograd.grad returns the caller's own
        # cotangent where the derivative is the identity.
        self.given: dict[int, Tensor] = {}
        self.kept: list = []  # those arrays, where their tensors do not hold them
        # Tensors over memory of which several gradients are views, so that they share a counter.
        self.bases: dict[int, Tensor] = {}

    unpack = staticmethod(raw_of)

    def lower(self, tensor: Tensor):
        """The gradient in a tensor the caller gave, remembered as given."""
        raw = tensor._raw
        self._remember(raw, tensor)
        return raw

    def _remember(self, raw, tensor: Tensor) -> None:
        self.given[id(raw)] = tensor
        if isinstance(tensor, Pending):
            self.kept.append(raw)

    def adopt(self, tensor: Tensor):
        """The gradient in a tensor that nobody else holds, so that a leaf may take it over.

        If its memory has been seen, the gradient is a view of it, which shares the counter.
        """
        if isinstance(tensor, Pending):
            self.bases.setdefault(id(_owner(tensor._array()[...])), tensor)
            return tensor.remembered()
        raw = tensor._raw
        if tensor._memory is None or type(raw) is not np.ndarray:
            return raw
        view = raw[...]
        self.bases.setdefault(id(_owner(view)), tensor)
        return view

    def lift(self, raw) -> Tensor:
        """A tensor over a gradient array: the given one, or an alias of its memory."""
        known = self.given.get(id(raw))
        if known is not None:
            return known
        if type(raw) is not np.ndarray or raw.base is None:
            return new(raw, strides_of(raw))
        return self._alias(raw)

    def result(self, raw) -> Tensor:
        """`lift`, and the same tensor again for the same array: torch does not copy results."""
        tensor = self.lift(raw)
        self._remember(raw, tensor)
        return tensor

    def _alias(self, raw) -> Tensor:
        """A formula returned a view: of a given tensor's memory, or of its own."""
        known = source_of(raw)
        if known is not None:
            source, conjugates = known
            return marked(self._alias(source), conjugates, not conjugates)
        owner = _owner(raw)
        for tensor in self.given.values():
            flat = tensor._storage.flat
            if flat is owner or flat.base is owner:
                return _view(raw, tensor, flat)
        if not isinstance(owner, np.ndarray):
            return new(raw, strides_of(raw))
        base = self.bases.get(id(owner))
        if base is None:
            base = self.bases[id(owner)] = new(owner, strides_of(owner))
        return _view(raw, base, owner)

    def add(self, a, b):
        """The sum of two gradients, in new memory."""
        return a + b

    def unshared(self, value, references: int) -> bool:
        """Whether only the caller holds the array; `references` counts its own, this call's too."""
        return sys.getrefcount(value) <= references + 1

    def shape_dtype(self, value):
        """A gradient's shape and NumPy dtype."""
        return value.shape, value.dtype

    def sum_to(self, value, shape):
        """A gradient summed over the dimensions along which `shape` was broadcast."""
        return sum_to(value, shape)

    def cast(self, value, dtype):
        """A gradient in another NumPy dtype."""
        return value.astype(dtype)


def _owner(raw):
    """Whose memory an array shows, through NumPy's views and ours."""
    owner = raw.base
    while True:
        if isinstance(owner, Memory):
            owner = owner.owner
        elif isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        else:
            return owner


def _view(raw, tensor: Tensor, memory) -> Tensor:
    from impl.views import NO_GRAD, View

    result = new(raw, strides_of(raw))
    result._storage = tensor._storage
    address = raw.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    result._offset = address // raw.itemsize
    result._view = View(tensor, NO_GRAD, tensor._storage.version)
    return result


class TapedInterpretation:
    """Gradients are tensors; formulas run on operators, which record.

    The methods are those of `RawInterpretation`; a tensor needs no lowering and no lifting.
    """

    F = TAPED
    records = True

    unpack = staticmethod(tensor_of)

    def lower(self, tensor: Tensor) -> Tensor:
        return tensor

    adopt = lower

    def lift(self, value: Tensor) -> Tensor:
        return value

    def result(self, value: Tensor) -> Tensor:
        return value

    def add(self, a, b):
        return a + b

    def unshared(self, value, references: int) -> bool:
        return False

    def shape_dtype(self, value):
        return value._raw.shape, value._raw.dtype

    def sum_to(self, value, shape):
        return TAPED.sum_to(value, shape)

    def cast(self, value, dtype):
        return value.to(BY_NUMPY[dtype])


TAPED_INTERPRETATION = TapedInterpretation()
