"""Tensor: a TensorBase with its autograd metadata (csrc/autograd/variable.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from impl.core import inference_mode, messages
from impl.core.dtypes import FLOATING, WIDE, dtype
from impl.core.meta_arrays import MetaArray
from impl.core.named_types import type_name
from impl.core.read_only import read_only
from impl.core.state import STATE
from impl.core.tensor_impl import FIELDS, TensorBase
from impl.core.warning import warn
from impl.graph import hooks
from impl.graph.input_metadata import tensor_meta
from impl.tensor.wrappers import hides_history, is_wrapped, refuse_captured


def new(raw, strides=None) -> Tensor:
    """A tensor over a new raw value; `strides` None stands for row-major."""
    tensor = object.__new__(Tensor)
    tensor._raw = raw
    tensor._strides = strides
    tensor._dense_meta = tensor._memory = tensor._node = tensor._view = None
    tensor._requires_grad = False
    tensor._nr = 0
    if strides is None and type(raw) is MetaArray:
        tensor._strides = raw.strides_in_elements
    if STATE.fast_path is None:
        if STATE.inference:
            inference_mode.mark(tensor)
        if STATE.transforms:
            tensor._born = STATE.transforms[-1].serial
    return tensor


def requires_grad(tensor: Tensor) -> bool:
    """Whether a tensor requires grad: by its own flag, a grad_fn, or its base."""
    return (
        tensor._node is not None
        or tensor._requires_grad
        or (tensor._view is not None and requires_grad(tensor._view.base))
    )


# The classes whose operators may take the fast path: those without special handling.
PLAIN: set[type] = set()
# The classes with `__torch_dispatch__` of which there have been tensors.
DISPATCHING: set[type] = set()


class _TensorMeta(type):
    """The metaclass of Tensor (torch._C._TensorMeta)."""

    # The methods of the classes that take functions of torch over, by `__torch_function__`.
    _overridable: type | None = None  # set by `impl.tensor.overridable`
    # The `__torch_function__` that takes nothing over.
    _disabled: Any = None  # set by `impl.tensor.torch_function`

    def __init__(cls, name: str, bases: tuple, namespace: dict[str, Any], **named: Any) -> None:
        """Disable Tensor's `__torch_function__` for a class with `__torch_dispatch__`."""
        super().__init__(name, bases, namespace)
        if "__torch_dispatch__" in namespace and cls._own_handler(cls.__mro__) is None:
            cls.__torch_function__ = cls._disabled

    def mro(cls) -> list[type]:
        order = super().mro()
        if cls._overridable is not None and not cls._is_plain(order):
            order.insert(order.index(Tensor), cls._overridable)
        return order

    def _is_plain(cls, order: Sequence[type]) -> bool:
        """Whether no class takes functions over, since the one that defines `__torch_function__`
        disables it, or in its place there is only `__torch_dispatch__`."""
        handler = cls._own_handler(order)
        if handler is None:
            return any("__torch_dispatch__" in vars(kind) for kind in order if kind is not Tensor)
        return getattr(getattr(handler, "__func__", handler), "takes_nothing", False)

    def _own_handler(cls, order: Sequence[type]) -> Any:
        """The `__torch_function__` of the first class that has one; None where that is Tensor."""
        own = (vars(kind) for kind in order if kind is not Tensor)
        return next((v["__torch_function__"] for v in own if "__torch_function__" in v), None)

    if TYPE_CHECKING:  # operators are attached by name

        def __getattr__(cls, name: str) -> Any: ...
        def __setattr__(cls, name: str, value: Any) -> None: ...


class Tensor(TensorBase, metaclass=_TensorMeta):
    """An n-dimensional array of one dtype with autograd metadata (torch.Tensor).

    The modules of `impl.operators` attach the operators, `impl.tensor.conversions` those to Python
    and NumPy. This class has everything else: flags, the gradient, the links to the graph, and
    hooks.
    """

    __module__ = "impl"
    __slots__ = ()

    _own_grad: Any = None
    _grad_dtype: Any = ...  # Ellipsis: the dtype of the tensor; None: any dtype
    _grad_accumulator: Any = None
    _hooks: Any = None
    _post_accumulate: Any = None
    _retains_grad = False
    _tangents: Any = None  # {dual level: tangent}; see `impl.tensor.forward_grad`
    _zero = False  # whether a ZeroTensor, in the place of an absent tangent
    _detached = False  # whether detach_() was called, an error when unpacked as saved
    _inference = False  # whether an inference tensor
    _born = 0  # the serial number of the transform in which it was made, 0 outside
    _detached_in = 0  # that of the transform in which it was detached from a captured tensor

    if TYPE_CHECKING:  # the methods that other modules attach
        data: Any
        grad_fn: Any
        _grad_fn: Any

        def __getattr__(self, name: str) -> Any: ...
        def item(self) -> Any: ...
        def numpy(self, *, force: bool = False) -> Any: ...
        def __bool__(self) -> bool: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...

    # -- autograd ---------------------------------------------------------------------------

    def is_inference(self) -> bool:
        """Whether created in inference mode, or an alias of such a tensor."""
        return self._inference

    @property
    def requires_grad(self) -> bool:
        return requires_grad(self) and not (STATE.transforms and hides_history(self))

    @requires_grad.setter
    def requires_grad(self, value) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self._node is not None:
            hint = "" if value else messages.DETACH_INSTEAD
            raise RuntimeError(messages.NON_LEAF_FLAG + hint)
        self._set_requires_grad(value)
        if STATE.transforms:
            self._level = next((t for t in reversed(STATE.transforms) if t.holds(self)), None)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set requires_grad. Raises RuntimeError for integers, for False on a non-leaf, and in a
        function that is being transformed."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type_name(requires_grad)}"
            )
        transforms = STATE.transforms
        if transforms and any(one.wraps or one.randomness is not None for one in transforms):
            raise RuntimeError(messages.TRANSFORMED.format("requires_grad_", messages.FUNCTIONAL))
        return self._requiring_grad(requires_grad)

    def _requiring_grad(self, requires_grad: bool = True) -> Tensor:
        """`requires_grad_` within functions that are being transformed, too."""
        if requires_grad and self.dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self._node is not None:
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
            inference_mode.check_flag(self)
        self._requires_grad = value

    @read_only
    def is_leaf(self) -> bool:
        node = self._grad_fn
        if node is None or node._wrapper_of is not None:
            return True
        return bool(STATE.transforms) and hides_history(self)

    @read_only
    def output_nr(self) -> int:
        return self._nr

    @read_only
    def retains_grad(self) -> bool:
        return self._retains_grad

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient. On a non-leaf that does not retain it, a warning and None."""
        if self._own_grad is None and not self._retains_grad and self._node is not None:
            warn(messages.NON_LEAF_GRAD)
        return self._own_grad

    @grad.setter
    def grad(self, value) -> None:
        if value is None:
            self._own_grad = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if self.is_sparse and not value.is_sparse:
            raise RuntimeError(
                "attempting to assign a gradient to a tensor that has data of a different type"
            )
        wanted = self.dtype if self._grad_dtype is ... else self._grad_dtype
        if wanted is not None and value.dtype is not wanted:
            raise RuntimeError(messages.GRAD_DTYPE.format(value.dtype.c_name, wanted.legacy))
        if value.is_meta != self.is_meta:
            raise RuntimeError(messages.GRAD_DEVICE.format(value.device, self.device))
        if value._raw.shape != self._raw.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                f"size '{list(self.shape)}'. Please ensure that the gradient and the tensor are "
                "the same size"
            )
        self._own_grad = value

    @grad.deleter
    def grad(self) -> None:
        self._own_grad = None

    _grad = grad

    @property
    def grad_dtype(self) -> Any:
        """The dtype of the gradient, None for any; of a non-leaf its own dtype."""
        return self.dtype if self._grad_dtype is ... else self._grad_dtype

    @grad_dtype.setter
    def grad_dtype(self, value) -> None:
        if value is not None and not isinstance(value, dtype):
            raise RuntimeError(
                f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"
            )
        held = self.grad
        if self._node is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and held is not None and held.dtype is not value:
            raise RuntimeError(messages.HELD_GRAD_DTYPE.format(value.legacy, held.dtype.c_name))
        self._grad_dtype = value
        node = self._grad_accumulator and self._grad_accumulator()
        if node is not None:
            node._expect(self)

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of `register_hook` by their ids; None if there never was one. Hooks of a
        non-leaf stay with its grad_fn when they are replaced."""
        return self._hooks

    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None:
        self._hooks = value

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    def register_hook(self, hook):
        """See `impl.graph.hooks.register_tensor_hook`."""
        return hooks.register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """See `impl.graph.hooks.register_post_accumulate`."""
        return hooks.register_post_accumulate(self, hook)

    def retain_grad(self) -> None:
        """See `impl.graph.hooks.retain_grad`."""
        hooks.retain_grad(self)

    def detach_(self) -> Tensor:
        """Drop the history in place. Raises RuntimeError on a view.

        Nothing happens without the dispatch key of autograd: in inference mode, and to inference
        tensors. The input of a transform (`impl.func.levels`) counts as none, and a history of
        outside a transform is not dropped in it.
        """
        if STATE.before_write is not None:
            STATE.before_write(self)
        transforms = STATE.transforms
        if transforms and not transforms[-1].has(self):  # those outside do not see it
            refuse_captured(self, "detach_")
        if self._inference or STATE.inference:
            return self
        given = transforms and any(self in transform.arguments for transform in transforms)
        if transforms and (given or self._view is None) and hides_history(self):
            if STATE.transforms[-1].forward:
                self._tangents = None
            return self
        if self._view is not None and getattr(self, "_level", None) is None:
            raise RuntimeError(messages.DETACH_VIEW)
        self._view = None
        if self._node is not None:
            self._detached = self._storage is not None
        self._node = None
        self._nr = 0
        self._requires_grad = False
        self._tangents = None
        return self

    def untyped_storage(self):
        """The storage. Raises NotImplementedError for the tensors of a function that is
        differentiated, which torch wraps."""
        if STATE.transforms and is_wrapped(self):
            raise NotImplementedError(messages.WRAPPER_STORAGE)
        return super().untyped_storage()

    def data_ptr(self) -> int:
        """The address of the first element. Raises RuntimeError for the tensors of a function that
        is differentiated, which torch wraps."""
        if STATE.transforms and is_wrapped(self):
            raise RuntimeError(messages.NO_POINTER)
        return super().data_ptr()

    def __hash__(self) -> int:
        return id(self)


PLAIN.add(Tensor)


def blank(cls: type = Tensor):
    """A tensor of the given class with default fields; the caller sets `_raw`."""
    tensor: Any = object.__new__(cls)
    tensor._dense_meta = tensor._strides = tensor._memory = tensor._node = tensor._view = None
    tensor._requires_grad = False
    tensor._nr = 0
    if STATE.fast_path is None and STATE.transforms:
        tensor._born = STATE.transforms[-1].serial
    return tensor


def dispatches(value) -> bool:
    """Whether operators ask the class of a value, below autograd."""
    return type(value) in DISPATCHING and STATE.torch_dispatch


def is_asked(value) -> bool:
    """Whether a mode, or the class of a value, answers a call with it below autograd."""
    return bool(STATE.dispatch_modes) or dispatches(value)


def new_constant(raw) -> Tensor:
    """A tensor over a new raw value that is given as Python numbers: traced functions may read
    it."""
    made = new(raw)
    for transform in STATE.transforms:
        transform.note_constant(made)
    return made


def dense_meta(tensor: Tensor):
    """The `tensor_meta` of a row-major float32 or float64 tensor of a plain class, else None; of an
    empty one None too, because the results of its operators need not be row-major.

    It is the condition of most fast paths and is cached in `_dense_meta`, which must be reset to
    None when shape, dtype or strides change. Equal shape and dtype give the same object.
    """
    if tensor._strides is not None or type(tensor) not in PLAIN:
        return None
    raw = tensor._raw
    if raw.dtype not in WIDE or not raw.size:
        return None
    tensor._dense_meta = found = tensor_meta(raw)
    return found


def float_meta(tensor: Tensor):
    """The `tensor_meta` of a float32 or float64 tensor of a plain class, else None."""
    if tensor._strides is None:
        return dense_meta(tensor)
    raw = tensor._raw
    plain = type(tensor) in PLAIN and not tensor._inference and type(raw) is not MetaArray
    return tensor_meta(raw) if plain and raw.dtype in WIDE else None


def elementwise_meta(tensor: Tensor):
    """`dense_meta`, and the `tensor_meta` of a value expanded in all dimensions as well: the result
    of an element-wise operator is then laid out as its other operands are, or row-major."""
    if tensor._strides is None or any(tensor._strides):
        return dense_meta(tensor)
    return float_meta(tensor)


def addend_meta(tensor: Tensor, first: Tensor):
    """The `tensor_meta` of a float tensor that is added to a row-major one of its shape and dtype,
    in whatever order its dimensions lie in memory, else None: the sum is row-major as `first` is.

    Not of dimensions of size one, of which torch orders the strides in another way.
    """
    meta = first._dense_meta
    if type(meta) is not tuple or 1 in meta[0] or tensor._raw.shape != meta[0]:
        return None
    return float_meta(tensor)


def copy_fields(tensor: Tensor, source: Tensor) -> None:
    """Copy all fields of `source` to `tensor`, which may have another class."""
    for name in FIELDS:
        setattr(tensor, name, getattr(source, name))
    vars(tensor).update(vars(source))
