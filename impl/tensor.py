"""The Tensor: a strided view of a storage, with the flags and links that autograd keeps on it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from impl import inference, messages
from impl.attributes import read_only
from impl.dtypes import FLOATING, WIDE, dtype, get_default_dtype
from impl.graph import meta_of
from impl.modes import STATE
from impl.storage import Replaced
from impl.tensor_base import FIELDS, TensorBase


def requires_grad(tensor: Tensor) -> bool:
    """Whether operators on `tensor` are recorded: its own flag, a history, or its base's."""
    return (
        tensor._node is not None
        or tensor._requires_grad
        or (tensor._view is not None and requires_grad(tensor._view.base))
    )


# The classes whose operators may take the short way: those without any care of their own.
PLAIN: set[type] = set()


class _TensorType(type):
    """`Tensor(...)` builds float32 data as torch's legacy constructor does."""

    def __call__(cls, *args, **kwargs):
        if "__init__" in cls.__dict__ or cls is not Tensor:
            return super().__call__(*args, **kwargs)
        from impl import creation

        return creation.legacy_constructor(get_default_dtype(), *args)

    if TYPE_CHECKING:  # operators are attached, and asked for, by name

        def __getattr__(cls, name: str) -> Any: ...
        def __setattr__(cls, name: str, value: Any) -> None: ...


class Tensor(TensorBase, metaclass=_TensorType):
    """An n-dimensional array of one dtype that autograd can follow.

    Operators are attached by the modules of `impl.operators`; this class holds what is not one:
    flags, the gradient, the links to the graph, and what Python makes of a tensor.
    """

    __slots__ = ()

    _grad: Any = None
    _grad_dtype: Any = ...  # Ellipsis: the gradient has the tensor's own dtype; None: it has any
    _accumulator: Any = None
    _hooks: Any = None
    _post_accumulate: Any = None
    _retains_grad = False
    _tangent: Any = None
    _zero = False  # whether zeros in the place of a tangent that is not there
    _detached = False  # whether detach_() was called: what saved it before must notice
    _inference = False  # whether an inference tensor

    if TYPE_CHECKING:  # the operators' methods, which their modules attach

        def __getattr__(self, name: str) -> Any: ...

    # -- autograd ---------------------------------------------------------------------------

    def is_inference(self) -> bool:
        """Whether made in inference mode, or an alias of such a tensor."""
        return self._inference

    @property
    def requires_grad(self) -> bool:
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self.grad_fn is not None:
            hint = "" if value else messages.DETACH_INSTEAD
            raise RuntimeError(messages.NON_LEAF_FLAG + hint)
        self._set_requires_grad(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set the flag of a leaf. Raises RuntimeError on integers, and to clear a non-leaf's."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if requires_grad and self.dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(messages.NON_LEAF_FLAG + messages.DETACH_INSTEAD)
            return self
        self._set_requires_grad(requires_grad)
        return self

    def _set_requires_grad(self, value: bool) -> None:
        if value and self.dtype.category < FLOATING:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if value:
            inference.check_flag(self)
        self._requires_grad = value

    @read_only
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @read_only
    def grad_fn(self):
        """The node that made this value; a view's is renewed when its base was written since."""
        record = self._view
        if (
            record is not None
            and record.version != self._storage.version
            and (self._node is not None or requires_grad(record.base))
        ):
            from impl import views

            views.refresh(self, record)
        return self._node

    @read_only
    def output_nr(self) -> int:
        return self._nr

    @read_only
    def retains_grad(self) -> bool:
        return self._retains_grad

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient. On a non-leaf that does not retain it, a warning and None."""
        if self._grad is None and not self._retains_grad and self._node is not None:
            warnings.warn(messages.NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        wanted = self.dtype if self._grad_dtype is ... else self._grad_dtype
        if wanted is not None and value.dtype is not wanted:
            raise RuntimeError(messages.GRAD_DTYPE.format(value.dtype.c_name, wanted.legacy))
        if value._raw.shape != self._raw.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                f"size '{list(self.shape)}'. Please ensure that the gradient and the tensor are "
                "the same size"
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of the gradient, None for any. Raises RuntimeError on a non-leaf."""
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._grad_dtype is ... else self._grad_dtype

    @grad_dtype.setter
    def grad_dtype(self, value) -> None:
        if value is not None and not isinstance(value, dtype):
            raise RuntimeError(
                f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"
            )
        held = self.grad
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and held is not None and held.dtype is not value:
            raise RuntimeError(messages.HELD_GRAD_DTYPE.format(value.legacy, held.dtype.c_name))
        self._grad_dtype = value
        node = self._accumulator and self._accumulator()
        if node is not None:
            node._expect(self)

    def register_hook(self, hook):
        """See `impl.hooks.register_tensor_hook`."""
        from impl import hooks

        return hooks.register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """See `impl.hooks.register_post_accumulate`."""
        from impl import hooks

        return hooks.register_post_accumulate(self, hook)

    def retain_grad(self) -> None:
        """See `impl.hooks.retain_grad`."""
        from impl import hooks

        hooks.retain_grad(self)

    # -- aliases ----------------------------------------------------------------------------

    def detach(self) -> Tensor:
        """The same storage and version counter, without history."""
        from impl.geometries import alias, geometry

        result = alias(self, geometry(self))
        return inference.detached(result) if self._inference else result

    def detach_(self) -> Tensor:
        """Drop the history in place. Raises RuntimeError on a view."""
        if self._view is not None:
            raise RuntimeError(messages.DETACH_VIEW)
        if self._node is not None:
            self._detached = self._storage is not None
        self._node = None
        self._nr = 0
        self._requires_grad = False
        self._tangent = None
        return self

    @property
    def data(self) -> Tensor:
        """The same storage with a version counter of its own: writes here are not noticed."""
        result = self.detach()
        result._storage = self._storage.sharing()
        return result

    @data.setter
    def data(self, value) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if requires_grad(self) and value.dtype.category < FLOATING:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if value._raw.dtype != self._raw.dtype:
            self._accumulator = None
        self._raw = value._array()
        self._storage = Replaced(value._storage, self._storage)
        self._strides, self._offset = value._strides, value._offset
        self._common = None
        from impl import pending

        if pending.bits(self) != pending.bits(value):
            pending.marked(self, *pending.bits(value))

    # -- to Python --------------------------------------------------------------------------

    def item(self):
        """The only element as a Python number. Raises RuntimeError for more than one."""
        if self._raw.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._raw.size} elements cannot be converted to Scalar"
            )
        return _python(self._raw.reshape(()))

    def tolist(self):
        """The elements as nested lists of Python numbers (a number if 0-dim).

        Raises RuntimeError for zeros without memory.
        """
        if self._is_zerotensor():
            raise RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage")
        return _python(self._raw)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The memory itself as an array; writes on either side are seen on the other."""
        if self._raw.dtype.kind == "V":
            raise TypeError("Got unsupported ScalarType BFloat16")
        if force:
            return self.detach()._array()
        if STATE.enabled and requires_grad(self):
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        if self._is_zerotensor():
            raise RuntimeError(
                " Cannot convert a ZeroTensor to numpy. Set force=True if you need the zero array."
            )
        return self._array()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __array_wrap__(self, array, context=None, return_scalar=False) -> Tensor:
        """What a NumPy function made of the tensor as a tensor; of bools as uint8."""
        from impl.creation import from_numpy

        return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)

    def __bool__(self) -> bool:
        if self._raw.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._raw.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._raw.reshape(()))

    def __float__(self) -> float:
        self._warn_conversion()
        return float(self._real_item("double"))

    def __int__(self) -> int:
        return int(self._real_item("int64_t"))

    def _real_item(self, c_name: str):
        value = self._only_item()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")
            return value.real
        return value

    def __complex__(self) -> complex:
        self._warn_conversion()
        return complex(self._only_item())

    def _only_item(self):
        if self._raw.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        if self._raw.size != 1 or self.dtype.category >= FLOATING:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def _warn_conversion(self) -> None:
        if STATE.enabled and requires_grad(self):
            warnings.warn(messages.SCALAR_CONVERSION, UserWarning, stacklevel=3)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from impl import printing

        return printing.text(self)

    def __format__(self, spec: str) -> str:
        if self._raw.ndim == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)


PLAIN.add(Tensor)


def blank(cls: type = Tensor):
    """A tensor of the given class without a value yet, unrelated to anything."""
    tensor: Any = object.__new__(cls)
    tensor._common = tensor._strides = tensor._memory = tensor._node = tensor._view = None
    tensor._requires_grad = False
    tensor._nr = 0
    return tensor


def common(tensor: Tensor):
    """The `meta_of` of a tensor that needs no care: float32 or 64, row-major, of a plain class.

    None for any other. It is found once and kept; whoever gives a tensor another shape, dtype or
    strides sets `_common` to None. The same shape and dtype mean the same object.
    """
    if tensor._strides is not None or type(tensor) not in PLAIN:
        return None
    raw = tensor._raw
    if raw.dtype not in WIDE:
        return None
    tensor._common = found = meta_of(raw)
    return found


def floating(tensor: Tensor):
    """The `meta_of` of a float32 or float64 tensor of any strides that needs no other care."""
    if tensor._strides is None:
        return common(tensor)
    raw = tensor._raw
    plain = type(tensor) in PLAIN and not tensor._inference
    return meta_of(raw) if plain and raw.dtype in WIDE else None


def assume(tensor: Tensor, source: Tensor) -> None:
    """Make a tensor all that `source` is."""
    for name in FIELDS:
        setattr(tensor, name, getattr(source, name))
    vars(tensor).update(vars(source))


def _python(raw):
    if raw.dtype.kind == "V":  # bfloat16, which NumPy knows no conversion for
        raw = raw.astype(np.float32)
    return raw.tolist()
