"""`torch.autograd.Function`: an operation whose forward and backward its author writes.

The context that the author's code receives is the node of the graph. `Function.apply` makes it,
runs the forward unrecorded, and leaves to `impl.function_outputs` what becomes of the results;
`BackwardCFunction._evaluate` runs the author's backward, and believes it once the number and the
kinds of what it returns are right.
"""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from impl import function_outputs, messages
from impl.graph import Node, gradient_edge
from impl.modes import STATE
from impl.operator import new
from impl.saved import exposed, tensor_of
from impl.tensor import Tensor, requires_grad


class FunctionCtx:
    """What the author of a Function declares; looked at after the forward. The last call counts."""

    to_save: Any = None
    saved_for_forward: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None

    def save_for_backward(self, *tensors) -> None:
        """Keep tensors (or None), of any shapes and dtypes, for `saved_tensors` in backward."""
        self.to_save = tensors

    def save_for_forward(self, *tensors) -> None:
        """Keep tensors (or None) for `saved_tensors` in jvp. Raises AssertionError for others."""
        for tensor in tensors:
            if not (isinstance(tensor, Tensor) or tensor is None):
                raise AssertionError(messages.SAVE_FOR_FORWARD)
        self.saved_for_forward = tensors

    def mark_dirty(self, *args) -> None:
        """Declare arguments that the forward changes in place; they must be returned too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args) -> None:
        """Declare outputs that do not require grad."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs) -> None:
        """Does nothing but warn: shared storages are known."""
        warnings.warn(messages.SHARED_STORAGE, FutureWarning, stacklevel=2)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients and tangents that are not there are passed as zeros, not as None."""
        self.materialize_grads = value


if TYPE_CHECKING:  # type checkers know only the built-in one
    _attribute = property
else:

    class _attribute(property):
        """A property of a node that, where it is read-only, says so in torch's words."""

        def __set__(self, instance, value) -> None:
            if self.fset is None:
                text = messages.FUNCTION_ATTRIBUTE.format(self.fget.__name__, "writable")
                raise AttributeError(text)
            super().__set__(instance, value)


class BackwardCFunction(Node, FunctionCtx):
    """A Function's node, and the context its author's code receives; one class per Function."""

    _forward_cls: Any
    _authored = True
    _width: Any = 1  # the number of outputs
    needs_input_grad: tuple[bool, ...] = ()
    _are_tensors: tuple[bool, ...] = ()  # for each argument, whether it is a tensor
    _outputs: Any = ()  # for each output its (shape, NumPy dtype), None for what is no tensor
    _materializes = True
    _kept = ()  # what is asked by one of `_raw_saved_tensors`, which may outlive the rest
    _saved: Any = ()
    _is_freed = False
    _is_cleared = False

    # -- what the author sees -----------------------------------------------------------------

    @_attribute
    def saved_tensors(self) -> tuple:
        """What `save_for_backward` kept, or while a jvp runs, `save_for_forward`.

        Raises RuntimeError when it was freed, or changed in place since.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._is_cleared:
            raise RuntimeError(messages.CLEARED)
        if self._is_freed:
            raise RuntimeError(messages.FREED)
        tensors = tuple(None if saved is None else tensor_of(saved, self) for saved in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._is_cleared = (), True
        return tensors

    @_attribute
    def saved_variables(self) -> tuple:
        """The former name of `saved_tensors`."""
        warnings.warn(messages.SAVED_VARIABLES, DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @_attribute
    def _raw_saved_tensors(self) -> tuple:
        if self._is_freed:
            raise RuntimeError(messages.FREED)
        return tuple([exposed(saved, self) for saved in self._saved])

    @_attribute
    def next_functions(self) -> tuple:
        """One (node, input number) pair per tensor argument; (None, 0) where no gradient goes."""
        return super().next_functions

    @_attribute
    def requires_grad(self) -> bool:
        """True, whatever was recorded."""
        return True

    @_attribute
    def materialize_grads(self):
        """Can only be set."""
        text = messages.FUNCTION_ATTRIBUTE.format("materialize_grads", "readable")
        raise AttributeError(text)

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(messages.MATERIALIZE_GRADS)
        self._materializes = value

    def maybe_clear_saved_tensors(self) -> None:
        """Free what was saved, if a backward pass runs that does not retain the graph."""
        if STATE.task is not None and not STATE.task.keep_graph:
            self._release()

    def __call__(self, *args):
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>"

    # -- the author's methods -----------------------------------------------------------------

    def _get_user_fn(self):
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(messages.BACKWARD_AND_VJP)
        return backward if vjp is Function.vjp else vjp

    def apply(self, *args):
        """The author's backward of one gradient for each output."""
        if self._forward_cls.boxed_grads_call:
            args = (list(args),)
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args):
        """The author's backward of the arguments as they are."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args):
        """The author's jvp of one tangent for each argument."""
        return self._forward_cls.jvp(self, *args)

    # -- the node -------------------------------------------------------------------------------

    def _begin(self, args: tuple, tensors: list[Tensor]) -> bool:
        """Note what the arguments are, and connect the node; returns whether to record."""
        self._are_tensors = kinds = tuple([isinstance(a, Tensor) for a in args])
        needs = tuple([k and requires_grad(a) for k, a in zip(kinds, args, strict=True)])
        self.needs_input_grad = needs
        if not (True in needs and STATE.enabled):
            return False
        self._connect([gradient_edge(tensor) for tensor in tensors])
        return True

    def _evaluate(self, grads, interpretation, wanted):
        """The gradients that the author's backward returns for the tensor arguments.

        `grads` may be tensors already; they are taken from the list, so that nobody else holds
        them. Raises RuntimeError for a wrong number of results, for one that is neither a tensor
        nor None, and for one that belongs to no tensor. The engine makes shapes and dtypes fit.
        """
        mode = STATE.grad_mode
        try:
            arguments = self._arguments(grads, interpretation)
            grads.clear()  # so that nobody holds them but the author
            results = type(self).apply(self, *arguments)
        finally:
            STATE.grad_mode = mode
        del arguments
        values = list(results) if isinstance(results, tuple) else [results]
        del results
        values = self._of_tensors(values)  # no other list may hold them
        self._versions = {i: _writes(value) for i, value in enumerate(values)}
        return interpretation.lower_all(values)

    def _arguments(self, grads, interpretation) -> list[Tensor | None]:
        arguments: list[Tensor | None] = []
        for gradient, output in zip(grads, self._outputs, strict=True):
            if isinstance(gradient, Tensor):
                arguments.append(gradient)
            elif gradient is not None:
                arguments.append(interpretation.lift(gradient))
            elif output is None:
                arguments.append(None)
            else:
                zeros = self._zeros(*output)
                if zeros is not None:
                    zeros._storage.version = 1  # torch writes them
                arguments.append(zeros)
        return arguments

    def _zeros(self, shape, dtype: np.dtype) -> Tensor | None:
        """What the author gets for a gradient or a tangent that is not there."""
        return new(np.zeros(shape, dtype)) if self._materializes else None

    def _of_tensors(self, values: list) -> list[Tensor | None]:
        """Of the values returned for the arguments, those for tensors."""
        count = len(self._are_tensors)
        if all(value is None for value in values[count:]):
            del values[count:]
        if len(values) != count:
            raise RuntimeError(
                f"function {Node.name(self)} returned an incorrect number of gradients "
                f"(expected {count}, got {len(values)})"
            )
        for i, (value, is_tensor) in enumerate(zip(values, self._are_tensors, strict=True)):
            if value is None:
                continue
            if not is_tensor:
                raise RuntimeError(
                    f"function {Node.name(self)} returned a gradient different than None at "
                    f"position {i + 1}, but the corresponding forward input was not a Variable"
                )
            if not isinstance(value, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(value).__name__})")
        return [v for v, is_tensor in zip(values, self._are_tensors, strict=True) if is_tensor]

    def _release(self) -> None:
        self._saved, self._is_freed = (), True


def _writes(tensor: Tensor | None) -> int:
    """How often a gradient was written."""
    memory = None if tensor is None else tensor._memory
    return 0 if memory is None else memory.version


class FunctionMeta(type):
    """Gives every Function the class of its nodes, `_backward_cls`."""

    def __init__(cls, name: str, bases: tuple, attributes: dict) -> None:
        fields = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls: Any = type(name + "Backward", (BackwardCFunction,), fields)
        super().__init__(name, bases, attributes)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom operations (torch.autograd.Function).

    An author overrides the static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; or
    instead of the first, `forward(*args)` and `setup_context(ctx, inputs, output)`.
    """

    clear_saved_tensors_on_access = False
    boxed_grads_call = False
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs) -> None:
        text = messages.FUNCTION_INSTANCE.format(type(self))
        warnings.warn(text, DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(messages.LEGACY_FUNCTION)

    @staticmethod
    def forward(*args, **kwargs):
        """What the operation computes, from arguments of any kind; run with grad mode off."""
        raise NotImplementedError(messages.NO_FORWARD)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Declare what backward needs, where `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """One gradient, or None, for each argument of `forward`, from one for each output."""
        raise NotImplementedError(messages.NO_BACKWARD)

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """One tangent, or None, for each output, from one for each argument of `forward`."""
        raise NotImplementedError(messages.NO_JVP)

    @staticmethod
    def vmap(info, in_dims, *args):
        """How to run over a batch: accepted and never called, as there is no vmap here."""
        raise NotImplementedError(messages.NO_VMAP)

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run the forward, and record the Function if grad mode is on and a tensor requires grad.

        Keyword arguments are put in the order of the forward's parameters. Returns what the forward
        returned (a tuple for any tuple), with tensors that have the node as their history. Raises
        TypeError for arguments that do not fit and for saving what is no tensor, RuntimeError for
        what `impl.function_outputs` refuses.
        """
        split = cls.setup_context is not Function.setup_context
        if split:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = _in_order(cls.forward, args, kwargs, 0 if split else 1)
        tensors = [a for a in args if isinstance(a, Tensor)]
        node = cls._backward_cls()
        recorded = node._begin(args, tensors)
        modes = STATE.grad_mode, STATE.forward
        STATE.grad_mode = STATE.forward = False
        try:
            if split:
                returned = cls.forward(*args)
                cls.setup_context(node, args, returned)
            else:
                returned = cls.forward(node, *args)
        finally:
            STATE.grad_mode, STATE.forward = modes
        results = returned if isinstance(returned, tuple) else (returned,)
        outputs = function_outputs.outputs(node, tensors, results, recorded, split)
        return tuple(outputs) if isinstance(returned, tuple) else outputs[0]


def _in_order(function, args: tuple, kwargs: dict, skipped: int) -> tuple:
    """Arguments by position, up to the last that is given; `skipped` parameters are not theirs."""
    code = function.__code__
    names = code.co_varnames[skipped : code.co_argcount]
    given = dict(enumerate(args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        given[names.index(name)] = value
    for position in range(max(given)):
        if position not in given:
            raise TypeError(
                f"forward() missing required argument: '{names[position]}' (position {position})"
            )
    return tuple(given[position] for position in range(len(given)))
