"""`torch.autograd.Function`: custom operations with user-defined forward and backward.

The context `ctx` is the node of the graph, a BackwardCFunction. `Function.apply` creates it, runs
the forward with grad mode off, and passes the results to `impl.tape.custom_function_outputs`.
`BackwardCFunction._evaluate` runs the user-defined backward and checks the number and the types of
its results; the engine validates shapes and dtypes.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from impl.core import messages
from impl.core.c_methods import without_arguments
from impl.core.state import STATE
from impl.core.warning import warn
from impl.graph.edge import gradient_edge
from impl.graph.node import Node
from impl.graph.node_creation_hooks import created
from impl.tape import custom_function_outputs, custom_function_vmap
from impl.tape.saved_variable import as_saved_variable, is_output, read_tensor
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor, new, requires_grad


class FunctionCtx:
    """The declarations of a forward on `ctx`, read after it; the last call of a method counts."""

    to_save: Any = None
    saved_for_forward: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None

    def save_for_backward(self, *tensors) -> None:
        """Save tensors (or None) for `saved_tensors` in backward."""
        self.to_save = tensors

    def save_for_forward(self, *tensors) -> None:
        """Save tensors (or None) for `saved_tensors` in jvp. Raises AssertionError for others."""
        for tensor in tensors:
            if not (isinstance(tensor, Tensor) or tensor is None):
                raise AssertionError(messages.SAVE_FOR_FORWARD)
        self.saved_for_forward = tensors

    def mark_dirty(self, *args) -> None:
        """Declare arguments that the forward writes in place; they must be among the outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args) -> None:
        """Declare outputs that do not require grad."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs) -> None:
        """Deprecated: only warns, as shared storages are detected."""
        warn(messages.SHARED_STORAGE, FutureWarning)

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether absent gradients and tangents are passed as zeros, not as None."""
        self.materialize_grads = value


if TYPE_CHECKING:  # type checkers understand only the built-in property
    _attribute = property
else:

    class _attribute(property):
        """A property of a node; without a setter, its assignment raises torch's error."""

        def __set__(self, instance, value) -> None:
            if self.fset is None:
                text = messages.FUNCTION_ATTRIBUTE.format(self.fget.__name__, "writable")
                raise AttributeError(text)
            super().__set__(instance, value)


class BackwardCFunction(Node, FunctionCtx):
    """The node of a Function, which is also its context `ctx`; one subclass per Function."""

    _c_class = "_FunctionBase"
    _forward_cls: Any
    _is_custom_function = True
    _num_inputs: Any = 1  # the number of outputs
    needs_input_grad: tuple[bool, ...] = ()
    _are_tensors: tuple[bool, ...] = ()  # for each argument, whether it is a tensor
    _outputs: Any = ()  # (shape, NumPy dtype) per output; None for a non-tensor
    _materializes = True
    _materialize_non_diff_grads = True  # also of outputs that are not differentiable; private
    _saved: Any = ()
    _is_freed = False
    _is_cleared = False

    # -- public attributes --------------------------------------------------------------------

    @_attribute
    def saved_tensors(self) -> tuple:
        """The tensors of `save_for_backward`, or in a jvp those of `save_for_forward`.

        Raises RuntimeError if they were freed, or modified since they were saved.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._is_cleared:
            raise RuntimeError(messages.CLEARED)
        if self._is_freed:
            raise RuntimeError(messages.FREED)
        tensors = tuple(None if saved is None else self._unpacked(saved) for saved in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._is_cleared = (), True
        return tensors

    def _unpacked(self, saved) -> Any:
        """A saved tensor, an output with the tangents that it has had since the jvp was called."""
        tensor = read_tensor(saved, self)
        if isinstance(tensor, Tensor) and is_output(saved, tensor, self):
            forward_grad.restore_from_node(tensor, self)
        return tensor

    @_attribute
    def saved_variables(self) -> tuple:
        """The deprecated name of `saved_tensors`."""
        warn(messages.SAVED_VARIABLES, DeprecationWarning)
        return self.saved_tensors

    @_attribute
    def _raw_saved_tensors(self) -> tuple:
        if self._is_freed:
            raise RuntimeError(messages.FREED)
        return tuple([as_saved_variable(saved, self) for saved in self._saved])

    @_attribute
    def input_grad_buffers(self) -> tuple:
        """The engine's buffers of the gradients of the inputs, during backward: not supported.

        Raises RuntimeError outside of backward, NotImplementedError within.
        """
        if STATE.graph_task is None:
            raise RuntimeError(messages.INPUT_GRAD_BUFFERS)
        raise NotImplementedError("FunctionCtx.input_grad_buffers")

    @_attribute
    def next_functions(self) -> tuple:
        """One (node, input number) pair per tensor argument; (None, 0) without requires_grad."""
        return super().next_functions

    @_attribute
    def requires_grad(self) -> bool:
        """True, even if nothing was recorded."""
        return True

    @_attribute
    def materialize_grads(self):
        """Write-only, as in torch."""
        text = messages.FUNCTION_ATTRIBUTE.format("materialize_grads", "readable")
        raise AttributeError(text)

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(messages.MATERIALIZE_GRADS)
        self._materializes = value

    @without_arguments
    def maybe_clear_saved_tensors(self) -> None:
        """Free the saved tensors if the running backward pass does not retain the graph."""
        if STATE.graph_task is not None and not STATE.graph_task.keep_graph:
            self._release()

    def __call__(self, *args):
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>"

    # -- user-defined methods -----------------------------------------------------------------

    def _get_user_fn(self):
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(messages.BACKWARD_AND_VJP)
        return backward if vjp is Function.vjp else vjp

    def apply(self, *args):
        """Call the user-defined backward with one gradient per output."""
        if self._forward_cls.boxed_grads_call:
            args = (list(args),)
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args):
        """Call the user-defined backward with the arguments unchanged."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args):
        """Call the user-defined jvp with one tangent per argument."""
        return self._forward_cls.jvp(self, *args)

    # -- the node -------------------------------------------------------------------------------

    def _begin(self, args: tuple, tensors: list[Tensor]) -> bool:
        """Set `needs_input_grad` and the next edges; returns whether the node is recorded."""
        self._are_tensors = kinds = tuple([isinstance(a, Tensor) for a in args])
        needs = tuple([k and requires_grad(a) for k, a in zip(kinds, args, strict=True)])
        self.needs_input_grad = needs
        if not (True in needs and STATE.enabled):
            return False
        self._set_next_edges([gradient_edge(tensor) for tensor in tensors])
        return True

    def _evaluate(self, grads, form, wanted):
        """The gradients that the user-defined backward returns for the tensor arguments.

        `grads` may be tensors already; the list is cleared, to drop its references. Raises
        RuntimeError for a wrong number of results, a result that is neither a tensor nor None, and
        a gradient for an argument that is no tensor. The engine validates shapes and dtypes.
        """
        mode = STATE.grad_mode
        try:
            arguments = self._arguments(grads, form)
            grads.clear()  # drop our references: only the user's code may hold the gradients
            results = type(self).apply(self, *arguments)
        finally:
            STATE.grad_mode = mode
        del arguments
        values = list(results) if isinstance(results, tuple) else [results]
        del results
        values = self._of_tensors(values)  # replaces the list: no other references remain
        self._versions = {i: _writes(value) for i, value in enumerate(values)}
        return form.to_arrays(values)

    def _arguments(self, grads, form) -> list[Tensor | None]:
        arguments: list[Tensor | None] = []
        for gradient, output in zip(grads, self._outputs, strict=True):
            if isinstance(gradient, Tensor):
                arguments.append(gradient)
            elif gradient is not None:
                arguments.append(form.to_tensor(gradient))
            elif output is None:
                arguments.append(None)
            else:
                zeros = self._zeros(*output)
                if zeros is not None:
                    zeros._storage.version = 1  # torch's kernel fills them in place
                arguments.append(zeros)
        return arguments

    def _zeros(self, shape, dtype: np.dtype) -> Tensor | None:
        """The value of an absent gradient or tangent: zeros, or None without materialize_grads."""
        return new(np.zeros(shape, dtype)) if self._materializes else None

    def _of_tensors(self, values: list) -> list[Tensor | None]:
        """The returned gradients of the tensor arguments, validated; others must be None."""
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
    """The version of a gradient, the number of writes to it."""
    memory = None if tensor is None else tensor._memory
    return 0 if memory is None else memory.version


class FunctionMeta(type):
    """The metaclass of Function: creates the class of its nodes, `_backward_cls`."""

    def __init__(cls, name: str, bases: tuple, attributes: dict) -> None:
        fields = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls: Any = type(name + "Backward", (BackwardCFunction,), fields)
        super().__init__(name, bases, attributes)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom operations (torch.autograd.Function).

    A subclass overrides the static methods `forward(ctx, *args)` and `backward(ctx, *grads)`. The
    first can be split into `forward(*args)` and `setup_context(ctx, inputs, output)`.
    """

    clear_saved_tensors_on_access = False
    boxed_grads_call = False
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs) -> None:
        text = messages.FUNCTION_INSTANCE.format(type(self))
        warn(text, DeprecationWarning)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(messages.LEGACY_FUNCTION)

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs, from arguments of any type; runs with grad mode off."""
        raise NotImplementedError(messages.NO_FORWARD)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save tensors and make declarations on `ctx`, if `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Compute a gradient or None per argument of `forward`, from one per output."""
        raise NotImplementedError(messages.NO_BACKWARD)

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Compute a tangent or None per output, from one per argument of `forward`."""
        raise NotImplementedError(messages.NO_JVP)

    @staticmethod
    def vmap(info, in_dims, *args):
        """The batching rule: from a `VmapInfo`, the mapped dimensions and the arguments it makes
        the outputs and their mapped dimensions."""
        raise NotImplementedError(messages.NO_VMAP)

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run the forward, and record a node if grad mode is on and a tensor requires grad.

        Keyword arguments are passed in the order of the forward's parameters. Returns the results
        of the forward (a tuple for any tuple), whose tensors have the node as their grad_fn. Raises
        TypeError for arguments that do not match the forward and for saved values that are no
        tensors; RuntimeError as `impl.tape.custom_function_outputs`.
        """
        split = cls.setup_context is not Function.setup_context
        if STATE.transforms and not split:
            raise RuntimeError(messages.NO_SETUP_CONTEXT)
        if any(transform.functional for transform in STATE.transforms):
            raise RuntimeError("NYI: Functionalize rule for custom_function_call")
        if split:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = _in_order(cls.forward, args, kwargs, 0 if split else 1)
        level = custom_function_vmap.level_of(args)
        if level is not None:
            return custom_function_vmap.applied(cls, Function, args, level)
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
        outputs = custom_function_outputs.outputs(node, tensors, results, recorded, split)
        if recorded and STATE.node_creation_hooks:
            created(node)
        return tuple(outputs) if isinstance(returned, tuple) else outputs[0]


def _in_order(function, args: tuple, kwargs: dict, skipped: int) -> tuple:
    """All arguments in positional order; the first `skipped` parameters (ctx) are excluded."""
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
