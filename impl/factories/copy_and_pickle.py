"""Copies of tensors by Python's protocols: `copy.copy`, `copy.deepcopy` and `pickle`."""

from __future__ import annotations

import copy
import warnings

from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, strided
from impl.core.tensor_impl import TensorBase
from impl.tensor.geometry import elements, geometry
from impl.tensor.tensor import PLAIN, Tensor, copy_fields, new, requires_grad
from impl.tensor.torch_function import as_subclass, overrides

_UNCOPIABLE = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)
_NEW_EMPTY = (
    "The default implementation of __deepcopy__() for non-wrapper subclasses only works for "
    "subclass types that implement new_empty() and for which that function returns another "
    "instance of the same subclass. You should either properly implement new_empty() for your "
    "subclass or override __deepcopy__() if it is intended behavior for new_empty() to return an "
    "instance of a different type."
)
_STORAGES = "impl.storages"  # the key of the copied storages in deepcopy's memo


def _own_attributes(tensor: Tensor) -> dict:
    """The attributes that the program has set on a tensor."""
    fields = {*vars(TensorBase), *vars(Tensor)}
    return {k: v for k, v in vars(tensor).items() if k not in fields}


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
    made = self.new_empty([]) if overrides(self) else None
    if made is not None and type(made) is not type(self):
        raise RuntimeError(_NEW_EMPTY)
    memory = self.untyped_storage()
    copied = memo.setdefault(_STORAGES, {})
    if memory._cdata not in copied:
        copied[memory._cdata] = Storage(memory.flat.copy()), memory
    result = _over(copied[memory._cdata][0].sharing(), self._raw.dtype, *geometry(self))
    result._requires_grad = self._requires_grad
    if made is not None:
        result = _put_into(made, result)
    memo[id(self)] = result
    result._own_grad = copy.deepcopy(self._own_grad, memo)
    for name, value in _own_attributes(self).items():
        setattr(result, name, copy.deepcopy(value, memo))
    return result


def reduced(self: Tensor, protocol) -> tuple:
    """The arguments that rebuild the tensor: a leaf with the same values and flag, but no gradient.

    Warns of hooks, which are not pickled.
    """
    for hook in (self._hooks or {}).values():
        warnings.warn(
            f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you "
            "can decorate the function with @torch.utils.hooks.unserializable_hook to suppress "
            "this warning",
            UserWarning,
            stacklevel=2,
        )
    memory = self.untyped_storage().sharing()
    arguments = (memory, self.dtype, *geometry(self), requires_grad(self), _own_attributes(self))
    return _rebuilt, (type(self), *arguments)


def _rebuilt(cls, memory: Storage, d, shape, strides, offset, flag, attributes) -> Tensor:
    tensor = _over(memory, d.numpy, shape, strides, offset)
    if cls in PLAIN and cls is not Tensor:  # a Parameter
        tensor = cls(tensor, flag)
    else:
        tensor._requires_grad = flag
        tensor = tensor if cls is Tensor else as_subclass(tensor, cls)
    for name, value in attributes.items():
        setattr(tensor, name, value)
    return tensor


def _packed(self: Storage) -> tuple:
    return _unpacked, (self.flat,)


def _unpacked(flat) -> Storage:
    return Storage(flat)


for _class, _name, _method in (
    (Tensor, "__deepcopy__", deep),
    (Tensor, "__reduce_ex__", reduced),
    (Storage, "__reduce__", _packed),
):
    setattr(_class, _name, _method)
