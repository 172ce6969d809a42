"""Copies of tensors by Python's protocols: `copy.copy`, `copy.deepcopy` and `pickle`."""

from __future__ import annotations

import copy
from collections import OrderedDict

from impl.core.grad_mode import no_grad
from impl.core.memory_formats import layout, sparse_coo
from impl.core.memory_formats import strided as strided_layout
from impl.core.meta_arrays import MetaArray
from impl.core.sparse_array import SparseArray
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, extent, strided
from impl.core.tensor_impl import TensorBase
from impl.core.warning import warn
from impl.factories.storages import TypedStorage
from impl.tensor.geometry import elements, geometry
from impl.tensor.lazy_conj import LazyConjTensor, conj_neg_bits, with_bits
from impl.tensor.sparse_tensor import SparseTensor, sparse_tensor
from impl.tensor.tensor import DISPATCHING, Tensor, copy_fields, new, requires_grad
from impl.tensor.torch_function import as_subclass, overrides
from impl.tensor.write import announce

_UNCOPIABLE = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)
_CLONE = (
    "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass "
    "types that implement clone() and for which that function returns another instance of the same "
    "subclass. You should either properly implement clone() for your subclass or override "
    "__deepcopy__() if it is intended behavior for clone() to return an instance of a different "
    "type."
)
_NEW_EMPTY = (
    "The default implementation of __deepcopy__() for non-wrapper subclasses only works for "
    "subclass types that implement new_empty() and for which that function returns another "
    "instance of the same subclass. You should either properly implement new_empty() for your "
    "subclass or override __deepcopy__() if it is intended behavior for new_empty() to return an "
    "instance of a different type."
)
_STORAGES = "impl.storages"  # the key of the copied storages in deepcopy's memo


def own_attributes(tensor: Tensor) -> dict:
    """The attributes that the program has set on a tensor, also under the name of a method."""
    fields = {*vars(TensorBase), *vars(Tensor), *vars(LazyConjTensor)}
    return {k: v for k, v in vars(tensor).items() if k[:1] != "_" or k not in fields}


def _over(storage: Storage, kind, shape, strides, offset: int) -> Tensor:
    """A tensor over a storage, whose version is one, as torch's is after Tensor.set_."""
    tensor = new(strided(elements(storage, kind), shape, strides, offset))
    tensor._storage = storage
    tensor._strides = None if strides == contiguous_strides(shape) else strides
    tensor._offset = offset
    storage.version = 1
    return tensor


def _put_into(made: Tensor, source: Tensor) -> Tensor:
    """The tensor with the fields of another, as after Tensor.set_: a view stays one."""
    view = made._view
    copy_fields(made, source)
    made._view = view
    return made


def deep(self: Tensor, memo: dict) -> Tensor:
    """A leaf's copy with its own storage, flag and gradient (torch.Tensor.__deepcopy__).

    Tensors that share a storage have copies that share one. Raises RuntimeError for a non-leaf.
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf or self._node is not None:
        raise RuntimeError(_UNCOPIABLE)
    if type(self) in DISPATCHING and not self.data_ptr():
        result = _cloned(self)
    else:
        result = _with_copied_memory(self, memo)
    memo[id(self)] = result
    result._own_grad = copy.deepcopy(self._own_grad, memo)
    for name, value in own_attributes(self).items():
        setattr(result, name, copy.deepcopy(value, memo))
    return result


def _cloned(self: Tensor) -> Tensor:
    """The copy of a wrapper subclass, which its class makes."""
    with no_grad():
        result = self.clone()
    if type(result) is not type(self):
        raise RuntimeError(_CLONE)
    result._requires_grad = self._requires_grad
    return result


def _with_copied_memory(self: Tensor, memo: dict) -> Tensor:
    """The copy of a tensor that has memory, of its class."""
    if not self.is_sparse:
        self.untyped_storage()  # which a tensor that a transform wraps does not have
    made = self.new_empty([]) if overrides(self) else None
    if made is not None and type(made) is not type(self):
        raise RuntimeError(_NEW_EMPTY)
    cloned = self.is_sparse or self.is_meta
    result = self.detach().clone() if cloned else _on_copied_memory(self, memo)
    result._requires_grad = self._requires_grad
    return result if made is None else _put_into(made, result)


def _on_copied_memory(tensor: Tensor, memo: dict) -> Tensor:
    """The tensor over a copy of its storage, the same copy for all tensors that share it."""
    memory = tensor.untyped_storage()
    copied = memo.setdefault(_STORAGES, {})
    if memory._cdata not in copied:
        copied[memory._cdata] = Storage(memory.flat.copy()), memory
    made = _over(copied[memory._cdata][0].sharing(), tensor._raw.dtype, *geometry(tensor))
    announce(made)  # torch gives a new tensor the copied storage in place, by `set_`
    return made


# -- pickling -----------------------------------------------------------------------------------
#
# A tensor is pickled as a call of a function of `torch._utils`, so that torch reads files of impl
# and impl those of torch (`impl.serialization`).


def reduced(self: Tensor, protocol) -> tuple:
    """The call that rebuilds the tensor: a leaf with the same values and flag, but no gradient.

    Warns of hooks, which are not pickled.
    """
    function, arguments = _parts(self)
    attributes = own_attributes(self)
    if not attributes and not overrides(self):
        return function, arguments
    kind = Tensor if type(self) in (LazyConjTensor, SparseTensor) else type(self)
    return _rebuild_from_type_v2, (function, kind, arguments, attributes)


def _parts(self: Tensor) -> tuple:
    """The function and the arguments that rebuild a tensor without the program's attributes."""
    warn_if_has_hooks(self)
    if type(self) in DISPATCHING and not self.data_ptr():
        kinds = (self.layout, self.device, requires_grad(self))
        sizes = (tuple(self.size()), self.stride(), self.storage_offset())
        return _rebuild_wrapper_subclass, (type(self), self.dtype, *sizes, *kinds)
    if self.is_sparse:
        stored = (self._indices(), self._values(), self.size(), self.is_coalesced())
        return _rebuild_sparse_tensor, (self.layout, stored)
    if self.is_meta:
        parts = (self.dtype, tuple(self._raw.shape), self.stride(), requires_grad(self))
        return _rebuild_meta_tensor_no_storage, parts
    memory = TypedStorage._of(self.untyped_storage().sharing(), self.dtype)
    shape, strides, offset = geometry(self)
    arguments: tuple = (memory, offset, tuple(shape), strides, requires_grad(self), OrderedDict())
    bits = dict(zip(("conj", "neg"), conj_neg_bits(self), strict=True))
    metadata = {name: True for name, is_set in bits.items() if is_set}
    return _rebuild_tensor_v2, (*arguments, metadata) if metadata else arguments


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook of a tensor that is going to be pickled, unless the hook is marked as
    `torch.utils.hooks.unserializable_hook`."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
            )


def _rebuild_tensor_v2(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
) -> Tensor:
    """A tensor over a storage (torch._utils._rebuild_tensor_v2)."""
    memory = storage.untyped().sharing()
    tensor = _over(memory, storage.dtype.numpy, tuple(size), tuple(stride), storage_offset)
    bits = metadata or {}
    if bits.get("conj") or bits.get("neg"):
        tensor = with_bits(tensor, bool(bits.get("conj")), bool(bits.get("neg")))
    tensor._requires_grad = requires_grad
    tensor._hooks = backward_hooks
    return tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad) -> Tensor:
    """A tensor on the meta device (torch._utils._rebuild_meta_tensor_no_storage)."""
    memory = Storage(MetaArray((extent(size, stride),), dtype.numpy))
    tensor = _over(memory, dtype.numpy, tuple(size), tuple(stride), 0)
    memory.version = 0
    tensor._requires_grad = requires_grad
    return tensor


def _rebuild_wrapper_subclass(
    cls, dtype, size, stride, storage_offset, layout, device, requires_grad
) -> Tensor:
    """A tensor of a class that has no memory (torch._utils._rebuild_wrapper_subclass)."""
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return Tensor._make_wrapper_subclass(
        cls, size, strides=stride, storage_offset=storage_offset, **options
    )


def _rebuild_sparse_tensor(layout, data) -> Tensor:
    """A sparse tensor of its parts (torch._utils._rebuild_sparse_tensor)."""
    if layout is not sparse_coo:
        raise NotImplementedError(f"a tensor of the layout {layout}")
    indices, values, size, *is_coalesced = data
    raw = SparseArray(indices._raw, values._raw, size, *is_coalesced)
    return sparse_tensor(raw)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of another class, or with a program's attributes
    (torch._tensor._rebuild_from_type_v2)."""
    result = func(*args)
    if type(result) is not new_type and new_type is not Tensor:
        result = as_subclass(result, new_type)
    return with_state(result, state)


def with_state(tensor: Tensor, state) -> Tensor:
    """Set the attributes that a program had set on a tensor."""
    for part in state if isinstance(state, tuple) else (state,):  # those of slots come second
        for name, value in (part or {}).items():
            setattr(tensor, name, value)
    return tensor


def _get_layout(name: str) -> layout:
    """The layout of that name (torch.serialization._get_layout)."""
    return {str(one): one for one in (strided_layout, sparse_coo)}[name]


def _packed(self: Storage) -> tuple:
    return _unpacked, (self.flat,)


def _unpacked(flat) -> Storage:
    return Storage(flat)


# The names by which they are pickled.
for _function in (
    *(_rebuild_meta_tensor_no_storage, _rebuild_sparse_tensor, _rebuild_tensor_v2),
    _rebuild_wrapper_subclass,
):
    _function.__module__ = "impl._utils"
_rebuild_from_type_v2.__module__ = "impl._tensor"
_get_layout.__module__ = "impl.serialization"

for _class, _name, _method in (
    (Tensor, "__deepcopy__", deep),
    (Tensor, "__reduce_ex__", reduced),
    (Storage, "__reduce__", _packed),
    (layout, "__reduce__", lambda self: (_get_layout, (str(self),))),
):
    setattr(_class, _name, _method)
