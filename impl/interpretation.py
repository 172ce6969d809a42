"""The two interpretations of a gradient formula: over raw arrays, and over tensors that record.

An ordinary backward has nobody to record for, so its gradients are bare arrays and its formulas
run on kernels. With `create_graph=True` the same formulas run on tensors with operators, and what
they record is the graph of the second derivative.
"""

from __future__ import annotations

import sys
import weakref

import numpy as np

from impl import forward
from impl.allocation import preserved
from impl.dtypes import BY_NUMPY, WIDE
from impl.modes import STATE
from impl.operator import RAW, TAPED, new
from impl.pending import Pending, marked, source_of
from impl.precision import widened
from impl.saved import raw_of, tensor_of
from impl.sizes import repeated_dims
from impl.storage import (
    address,
    element_strides,
    elementwise_strides,
    empty_strided,
    owner_of,
    strides_of,
)
from impl.sweeps import MODERATE, sum_of_rows
from impl.tensor import Tensor
from impl.zeros import is_zeros


def sum_to(raw, shape):
    """Sum an array over the dimensions along which `shape` was broadcast to its shape.

    Reduced-precision sums are accumulated in float32, as torch does.
    """
    axes = repeated_dims(shape, raw.shape) or ()
    rows = axes == (0,) and raw.ndim == 2 and len(raw) <= MODERATE and raw.dtype in WIDE
    if rows and len(shape) == 1 and raw.flags.c_contiguous:
        return sum_of_rows(raw)  # a view, as torch's is
    wide = widened(raw)
    if not shape:  # torch sums everything then, which makes no view
        return wide.sum().astype(raw.dtype)
    if not wide.flags.c_contiguous:  # row-major nevertheless, as ATen's reductions are
        kept = tuple(1 if d in axes else n for d, n in enumerate(raw.shape))
        total = np.add.reduce(wide, axes, keepdims=True, out=np.empty(kept, wide.dtype))
    else:
        total = np.add.reduce(wide, axes, keepdims=True)
    if raw.ndim > len(shape):
        total = total.reshape(shape)
    return total if wide is raw else total.astype(raw.dtype)


class RawInterpretation:
    """Gradients are arrays; formulas run on kernels. One is made for each backward."""

    F = RAW
    records = False

    def __init__(self) -> None:
        # Gradients that came in as tensors, by their array: autograd.grad returns the caller's own
        # cotangent where the derivative is the identity.
        self.given: dict[int, Tensor] = {}
        self.kept: list = []  # those arrays, where their tensors do not hold them
        # By an array over the memory of a tensor that nobody else held, and that does not hold the
        # array: a weak reference to the array, the tensor or another like it, and if the tensor was
        # given back, a weak reference to it.
        self.adopted: dict[int, tuple] = {}
        # Tensors over memory of which several gradients are views, so that they share a counter.
        self.bases: dict[int, Tensor] = {}

    unpack = staticmethod(raw_of)

    def evaluate(self, node, grads: list, wanted):
        """What a node makes of the gradients of its outputs, by edge (see `Node._evaluate`)."""
        return node._evaluate(grads, self, wanted)

    def lower(self, tensor: Tensor):
        """The gradient in a tensor the caller gave, remembered as given."""
        raw = tensor.remembered() if isinstance(tensor, Pending) else tensor._raw
        self._remember(raw, tensor)
        return raw

    def _remember(self, raw, tensor: Tensor) -> None:
        self.given[id(raw)] = tensor
        if isinstance(tensor, Pending) or tensor._raw is not raw:
            self.kept.append(raw)

    def adopt(self, tensor: Tensor):
        """The gradient in a tensor that nobody else holds, so that a leaf may take it over.

        If its memory has been shared, the gradient is another array over it, of the same counter.
        """
        if isinstance(tensor, Pending):
            self.bases.setdefault(id(owner_of(tensor._array()[...])), tensor)
            return tensor.remembered()
        raw = tensor._raw
        if type(raw) is not np.ndarray or (raw.base is None and _is_alone(tensor, raw)):
            return raw
        view = raw[...]
        if tensor._memory is not None and (key := id(owner_of(view))) not in self.bases:
            self.bases[key] = tensor.detach()
        self.adopted[id(view)] = (weakref.ref(view), tensor, None)
        return view

    def _given_back(self, raw) -> Tensor | None:
        """The tensor that was adopted as this array, which is the caller's alone from now on."""
        reference, kept, given = self.adopted.get(id(raw), (None, None, None))
        if reference is None or reference() is not raw:
            return None
        tensor = given and given()
        if tensor is None:
            tensor, kept = kept, kept.detach()
            kept._view = tensor._view
            self.adopted[id(raw)] = (reference, kept, weakref.ref(tensor))
        return tensor

    def lower_all(self, tensors: list) -> list:
        """The gradients in tensors, or None, all of which are taken from the list.

        Those that nobody else holds are adopted.
        """
        known: dict = {}
        gradients = []
        tensors.reverse()
        while tensors:
            tensor = tensors.pop()
            key = id(tensor)
            if tensor is not None and key not in known:
                # Held by this name, by the call that asks, and by the rest of the list.
                held = 2 + sum(other is tensor for other in tensors)
                noted = self.given.get(id(tensor._raw)) is tensor  # a Function's, shown to a hook
                alone = sys.getrefcount(tensor) <= held + noted
                if alone and noted:
                    del self.given[id(tensor._raw)]
                known[key] = self.adopt(tensor) if alone else self.lower(tensor)
            gradients.append(None if tensor is None else known[key])
        return gradients

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
        tensor = self._given_back(raw)
        if tensor is not None:
            return tensor
        owner = owner_of(raw)
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
        """The sum of two gradients, in new memory, laid out as ATen's sums are."""
        if a.ndim < 2 or (a.flags.c_contiguous and b.flags.c_contiguous):
            return a + b
        terms = [x for x in (a, b) if not is_zeros(x)]  # to which ATen adds nothing
        strides = elementwise_strides(a.shape, [(x.shape, element_strides(x)) for x in terms])
        if strides is None:
            return np.ascontiguousarray(a + b)
        pattern = empty_strided(a.shape, strides, a.dtype)
        return np.add(a, b, out=np.empty_like(pattern))  # which owns its memory, as the engine asks

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
        if value.ndim > 1 and not value.flags.c_contiguous:
            value = preserved(value)
        return value.astype(dtype)


def _is_alone(tensor: Tensor, raw: np.ndarray) -> bool:
    """Whether nobody but `tensor` and the caller holds its array or its storage."""
    memory = tensor._memory
    if memory is None:
        return True
    # Held by names, by the calls that ask, and by the tensor; the array by the storage too.
    return sys.getrefcount(memory) <= 3 and sys.getrefcount(raw) <= 5


def _view(raw, tensor: Tensor, memory) -> Tensor:
    from impl.views import NO_GRAD, View

    result = new(raw, strides_of(raw))
    result._storage = tensor._storage
    result._offset = (address(raw) - address(memory)) // raw.itemsize
    result._view = View(tensor, NO_GRAD, tensor._storage.version)
    return result


class TapedInterpretation:
    """Gradients are tensors; formulas run on operators, which record.

    The methods are those of `RawInterpretation`; a tensor needs no lowering and no lifting.
    """

    F = TAPED
    records = True

    unpack = staticmethod(tensor_of)

    def evaluate(self, node, grads: list, wanted):
        return node._evaluate(grads, self, wanted)

    def lower(self, tensor: Tensor) -> Tensor:
        return tensor

    adopt = lower

    def lower_all(self, tensors: list) -> list:
        return tensors

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


class DualInterpretation(TapedInterpretation):
    """Gradients are tensors that need not record: they, or what was saved for them, may have
    tangents, so that forward mode goes through the pass; or autocast says what operators do; or
    they are empty, so that NumPy knows no strides of them.
    """

    def __init__(self) -> None:
        self.given: list[Tensor] = []  # what belongs to the caller

    def unpack(self, value, node):
        tensor = tensor_of(value, node)
        if isinstance(tensor, Tensor) and tensor._node is node:
            forward.restore(tensor, node)
        return tensor

    def lower(self, tensor: Tensor) -> Tensor:
        self.given.append(tensor)
        return tensor

    def add(self, a, b):
        # Referenced by what waits in the engine, by our name, and by the call's own: nobody else.
        unshared = sys.getrefcount(a) <= 3 and a._view is None
        kept = a._zero or is_zeros(a._raw) or any(a is tensor for tensor in self.given)
        if STATE.enabled or not unshared or kept:
            return a + b
        return a.add_(b)


TAPED_INTERPRETATION = TapedInterpretation()


def interpreting(records: bool, on_tensors: bool = False):
    """How a pass takes gradients and formulas, which `records` or not; if that is asked, on tensors
    in any case."""
    if forward.is_used():
        return DualInterpretation()
    if records:
        return TAPED_INTERPRETATION
    return DualInterpretation() if on_tensors or STATE.autocast is not None else RawInterpretation()
