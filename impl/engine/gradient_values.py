"""The two forms of gradients in a pass: arrays, and tensors that are recorded.

An ordinary backward records nothing, so its gradients are bare arrays and its formulas run on
kernels. With `create_graph=True` the same formulas run on tensors with operators, and record the
graph of the second derivative.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.devices import CPU, META
from impl.core.dtypes import BY_NUMPY
from impl.core.meta_arrays import is_meta
from impl.core.meta_functions import to_meta
from impl.core.ownership import is_unshared
from impl.core.registry import array_ops, tensor_ops, tensor_ops_no_grad
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.storage import address, owner_of
from impl.core.strides import element_strides, empty_strided, owns_memory, strides_of
from impl.core.tensor_iterator import elementwise_strides
from impl.core.zero_arrays import is_zeros
from impl.kernels.casting import converted
from impl.kernels.sum_to import sum_to
from impl.tape.saved_variable import is_output, unpack_array, unpack_tensor
from impl.tensor import forward_grad
from impl.tensor.allocation import preserved
from impl.tensor.batched_tensor import BatchedTensor
from impl.tensor.lazy_conj import LazyConjTensor, source_of, with_bits
from impl.tensor.sparse_tensor import over
from impl.tensor.tensor import Tensor, is_asked, new
from impl.tensor.views import INFERENCE, NO_GRAD, ViewMeta


class ArrayGradients:
    """Gradients are arrays; formulas run on kernels. One is made for each backward."""

    F = array_ops
    records = False

    def __init__(self) -> None:
        # Gradients that came in as tensors, by their array: autograd.grad returns the caller's own
        # cotangent where the derivative is the identity.
        self.given: dict[int, Tensor] = {}
        self.kept: list = []  # those arrays, where their tensors do not hold them
        # Stolen gradients whose tensor does not hold the array: by the array's id, a weak reference
        # to the array, the tensor or an alias of it, and if the tensor was given back, a weak
        # reference to that.
        self.stolen: dict[int, tuple] = {}
        # The tensors that hooks have seen, by the id of the array, while hooks keep them.
        self.shown: dict[int, weakref.ref[Tensor]] = {}
        # Tensors over memory of which several gradients are views, so that they share a counter.
        self.bases: dict[int, Tensor] = {}

    unpack = staticmethod(unpack_array)

    def evaluate(self, node, grads: list, wanted):
        """The gradients that a node computes from those of its outputs, by edge (see
        `Node._evaluate`)."""
        return node._evaluate(grads, self, wanted)

    def to_array(self, tensor: Tensor):
        """The gradient in a tensor the caller gave, remembered as given."""
        raw = tensor.tracked() if isinstance(tensor, LazyConjTensor) else tensor._raw
        self._remember(raw, tensor)
        return raw

    def _remember(self, raw, tensor: Tensor) -> None:
        self.given[id(raw)] = tensor
        if isinstance(tensor, LazyConjTensor) or tensor._raw is not raw:
            self.kept.append(raw)

    def steal(self, tensor: Tensor):
        """The gradient in an unshared tensor, so that a leaf may take it over.

        If its memory has been shared, the gradient is another array over it, of the same counter.
        """
        if isinstance(tensor, LazyConjTensor):
            self.bases.setdefault(id(owner_of(tensor._array()[...])), tensor)
            return tensor.tracked()
        raw = tensor._raw
        if type(raw) is not np.ndarray or (owns_memory(raw) and _is_alone(tensor, raw)):
            return raw
        view = raw[...]
        if tensor._memory is not None and (key := id(owner_of(view))) not in self.bases:
            self.bases[key] = tensor.detach()
        self.stolen[id(view)] = (weakref.ref(view), tensor, None)
        return view

    def _given_back(self, raw) -> Tensor | None:
        """The tensor that was adopted as this array, which is the caller's alone from now on."""
        reference, kept, given = self.stolen.get(id(raw), (None, None, None))
        if reference is None or reference() is not raw:
            return None
        tensor = given and given()
        if tensor is None:
            tensor, kept = kept, kept.detach()
            kept._view = tensor._view
            self.stolen[id(raw)] = (reference, kept, weakref.ref(tensor))
        return tensor

    def to_arrays(self, tensors: list) -> list:
        """The gradients in tensors, or None, all of which are taken from the list.

        Unshared tensors are stolen.
        """
        known: dict = {}
        gradients = []
        tensors.reverse()
        while tensors:
            tensor = tensors.pop()
            key = id(tensor)
            if tensor is not None and key not in known:
                rest = sum(other is tensor for other in tensors)
                noted = self.given.get(id(tensor._raw)) is tensor  # a Function's, shown to a hook
                alone = is_unshared(tensor, rest + noted)
                if alone and noted:
                    del self.given[id(tensor._raw)]
                known[key] = self.steal(tensor) if alone else self.to_array(tensor)
            gradients.append(None if tensor is None else known[key])
        return gradients

    def in_memory(self, gradient):
        """A gradient in memory that several holders can share: a 0-dim array for a NumPy scalar."""
        if not isinstance(gradient, np.generic):
            return gradient
        known = self.given.get(id(gradient))
        array = np.array(gradient) if known is None else known._array()
        if known is not None:
            self._remember(array, known)
        return array

    def to_tensor(self, raw) -> Tensor:
        """A tensor over a gradient array: the given one, or an alias of its memory."""
        known = self.given.get(id(raw))
        if known is not None:
            return known
        if type(raw) is not np.ndarray or owns_memory(raw):
            reference = self.shown.get(id(raw))
            tensor = None if reference is None else reference()
            if tensor is None or tensor._raw is not raw:
                tensor = over(raw)
                self.shown[id(raw)] = weakref.ref(tensor)
            return tensor
        return self._alias(raw)

    def result(self, raw) -> Tensor:
        """`to_tensor`, with the same tensor for the same array: torch does not copy results."""
        tensor = self.to_tensor(raw)
        self._remember(raw, tensor)
        return tensor

    def _alias(self, raw) -> Tensor:
        """A formula returned a view: of a given tensor's memory, or of its own."""
        known = source_of(raw)
        if known is not None:
            source, conjugates = known
            return with_bits(self._alias(source), conjugates, not conjugates)
        tensor = self._given_back(raw)
        if tensor is not None:
            return tensor
        owner = owner_of(raw)
        for tensor in self.given.values():
            flat = tensor._storage.flat
            if flat is owner or owner_of(flat) is owner:
                return _view(raw, tensor, flat)
        if not isinstance(owner, np.ndarray):
            return new(raw, strides_of(raw))
        base = self.bases.get(id(owner))
        if base is None:
            base = self.bases[id(owner)] = new(owner, strides_of(owner))
        return _view(raw, base, owner)

    def add(self, a, b):
        """The sum of two gradients, in new memory, laid out as ATen's sums are."""
        if type(a) is SparseArray:
            return b + a
        if type(b) is SparseArray:
            return a + b
        if a.ndim < 2 or (a.flags.c_contiguous and b.flags.c_contiguous):
            return a + b
        terms = [x for x in (a, b) if not is_zeros(x)]  # to which ATen adds nothing
        strides = elementwise_strides(a.shape, [(x.shape, element_strides(x)) for x in terms])
        if strides is None:
            return np.ascontiguousarray(a + b)
        return np.add(a, b, out=empty_strided(a.shape, strides, a.dtype))

    def shape_dtype(self, value):
        """A gradient's shape and NumPy dtype."""
        return value.shape, value.dtype

    def sum_to(self, value, shape):
        """A gradient summed over the dimensions along which `shape` was broadcast. Raises
        NotImplementedError for a sparse one, unless the sum is a single element."""
        if type(value) is not SparseArray:
            return sum_to(value, shape)
        if math.prod(shape) != 1:
            raise NotImplementedError(messages.NO_KERNEL.format("view", "SparseCPU"))
        return value.values.sum(dtype=value.dtype).reshape(shape)

    def device(self, value):
        """The device of a gradient."""
        return META if is_meta(value) else CPU

    def moved(self, value, device):
        """A gradient on another device. Raises NotImplementedError for one on the meta device."""
        if device != META:
            raise NotImplementedError(messages.NO_DATA)
        return to_meta(value)

    def cast(self, value, dtype):
        """A gradient in another NumPy dtype."""
        if type(value) is SparseArray:
            return value.with_values(converted(value.values, dtype))
        if value.ndim > 1 and not value.flags.c_contiguous:
            value = preserved(value)
        return value.astype(dtype)


def _is_alone(tensor: Tensor, raw: np.ndarray) -> bool:
    """Whether only `tensor` and the caller hold its array and its storage."""
    memory = tensor._memory
    if memory is None:
        return True
    # The tensor holds its storage and the array, the storage holds the array.
    return is_unshared(memory, holders=1) and is_unshared(raw, holders=2, frames=1)


def _view(raw, tensor: Tensor, memory) -> Tensor:
    """The view of `tensor` that a gradient array over its memory is; one of an inference tensor is
    another, without a base."""
    result = new(raw, strides_of(raw))
    result._storage = tensor._storage
    result._offset = (address(raw) - address(memory)) // raw.itemsize
    if tensor._inference:
        inference_mode.mark(result)
        return result
    result._inference = result._uncounted = False
    base = tensor if tensor._view is None else tensor._view.base
    creation = INFERENCE if STATE.inference else NO_GRAD
    result._view = ViewMeta(base, creation, tensor._storage.version)
    return result


class RecordingGradients:
    """Gradients are tensors; formulas run on operators, which record.

    The methods are those of `ArrayGradients`; a tensor needs no lowering and no lifting.
    """

    F: Any = tensor_ops
    records = True

    unpack = staticmethod(unpack_tensor)

    def evaluate(self, node, grads: list, wanted):
        if not STATE.dispatch_modes or node._is_custom_function:
            return node._evaluate(grads, self, wanted)
        before, STATE.within_formula = STATE.within_formula, True
        try:
            return node._evaluate(grads, self, wanted)
        finally:
            STATE.within_formula = before

    def to_array(self, tensor: Tensor) -> Tensor:
        return tensor

    steal = to_array

    def to_arrays(self, tensors: list) -> list:
        return tensors

    def in_memory(self, gradient: Tensor) -> Tensor:
        return gradient

    def to_tensor(self, value: Tensor) -> Tensor:
        return value

    def result(self, value: Tensor) -> Tensor:
        return value

    def add(self, a, b):
        return b + a if a.is_sparse else a + b

    def shape_dtype(self, value):
        return value._raw.shape, value._raw.dtype

    def sum_to(self, value, shape):
        return tensor_ops.sum_to(value, shape)

    def device(self, value):
        return value.device

    def moved(self, value, device):
        return value.to(device)

    def cast(self, value, dtype):
        return value.to(BY_NUMPY[dtype])


class TensorGradients(RecordingGradients):
    """Gradients are tensors that need not be recorded: because they or saved tensors may have
    tangents or classes that operators ask, because autocast is on, because they are empty and NumPy
    keeps no strides of empty arrays, or because they are on the meta device, whose arrays only
    operators know.
    """

    def __init__(self, records: bool) -> None:
        """`records`: whether the pass does, which decides the formulas that branch on it."""
        self.F = tensor_ops if records else tensor_ops_no_grad
        self.given: list[Tensor] = []  # the caller's tensors

    def unpack(self, value, node):
        tensor = unpack_tensor(value, node)
        if isinstance(tensor, Tensor) and is_output(value, tensor, node):
            forward_grad.restore_from_node(tensor, node)
        return tensor

    def to_array(self, tensor: Tensor) -> Tensor:
        self.given.append(tensor)
        return tensor

    def add(self, a, b):
        unshared = is_unshared(a, holders=1) and a._view is None  # the input buffer
        if a.is_sparse:
            return b + a
        kept = a._zero or is_zeros(a._raw) or any(a is tensor for tensor in self.given)
        # On the meta device, in a mode, and of classes that operators ask, sums are in new memory,
        # as those of the wrappers and batches of transforms are (can_accumulate_inplace).
        others = a.is_meta or is_asked(a)
        wrapped = STATE.passes or isinstance(a, BatchedTensor) or isinstance(b, BatchedTensor)
        if STATE.enabled or not unshared or kept or others or wrapped:
            return a + b
        version = a._storage.version
        a.add_(b)
        if STATE.before_write is not None:  # a dispatch mode counts no write
            a._storage.version = version
        return a


RECORDING = RecordingGradients()


def gradient_form(records: bool, on_tensors: bool = False):
    """How a pass takes gradients and formulas, which `records` or not; if that is asked, on tensors
    in any case."""
    if forward_grad.is_used():
        return TensorGradients(records)
    if records:
        return RECORDING
    on_tensors = on_tensors or STATE.autocast is not None
    return TensorGradients(False) if on_tensors else ArrayGradients()
