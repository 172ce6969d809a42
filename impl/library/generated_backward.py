"""The formula that a program registers for an operator (torch/_library/autograd.py).

It is the operator's kernel for autograd, which records the call as a Function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.below_autograd import BelowAutograd
from impl.core.state import STATE
from impl.library import batching
from impl.library.arguments import flattened, rebuilt, skeleton
from impl.library.schema import FunctionSchema
from impl.tape.custom_function import Function
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import requires_grad
from impl.utils._pytree import TreeSpec, tree_flatten


class Formula:
    """The kernel for autograd of an operator: `backward(ctx, *grads)` is its formula, None for one
    that raises; `setup_context(ctx, inputs, output)` keeps on `ctx` the values that it needs."""

    def __init__(
        self, entry, backward: Callable | None = None, setup_context: Callable | None = None
    ) -> None:
        self.entry = entry
        self.backward, self.setup_context = backward, setup_context
        overload = str(entry.overload).replace(".", "_")
        self.function: type[Function] = type(f"GeneratedBackwardFor_{overload}", (_Generated,), {})

    def __call__(self, *args: Any, **named: Any) -> Any:
        if batching.has_tangents():
            return batching.without_tangents(self.entry, args, named)
        tensors = list(tensors_of(args))  # an operator with a formula takes none by name
        if STATE.enabled and any(map(requires_grad, tensors)):
            return self.function.apply(*flattened(args), Call(self, args, named))
        with BelowAutograd():
            return self.entry.below_autograd(args, named, tensors)


def check_differentiable(op: Any, schema: FunctionSchema) -> None:
    """Raise RuntimeError for an operator that cannot have a formula."""
    if not schema.is_functional:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema "
            f"{schema}. Please create a functional operator and register an autograd formula for "
            "that."
        )


class Call:
    """The last argument of the Function: the formula, its arguments by name, and the `skeleton` of
    those by position and of the results. It holds no tensor by position, which the node would keep
    alive."""

    def __init__(self, formula: Formula, args: tuple, named: dict) -> None:
        self.formula, self.args, self.named = formula, skeleton(args), named
        self.results: tuple = ()
        self.single = True  # whether the operator returns one value, not a tuple


class _Generated(Function):
    @staticmethod
    def forward(ctx, *args):
        call = args[-1]
        formula, entry = call.formula, call.formula.entry
        arguments = rebuilt(args[:-1], call.args)
        ctx._call = call
        with BelowAutograd():
            tensors = list(tensors_of(arguments))
            result = entry.below_autograd(arguments, call.named, tensors)
            if formula.setup_context is not None:
                schema = entry.schema
                given = {"inputs": schema.filled(arguments), "output": result}
                if len(schema.positional) < len(schema.arguments):
                    given["keyword_only_inputs"] = schema.filled_by_name(call.named)
                formula.setup_context(ctx, **given)
        call.single = not isinstance(result, tuple)
        results = (result,) if call.single else result
        call.results = skeleton(results)
        return tuple(flattened(results))

    @staticmethod
    def backward(ctx, *grads):
        call = ctx._call
        formula, entry = call.formula, call.formula.entry
        if formula.backward is None:
            raise RuntimeError(
                f"Trying to backward through {entry.overload} but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = rebuilt(needs[:-1], call.args)
        try:
            found = formula.backward(ctx, *rebuilt(grads, call.results))
        finally:
            ctx.needs_input_grad = needs
        return (*_checked(entry, found, call.args), None)

    @classmethod
    def apply(cls, *args, **kwargs):
        """The result of the operator, in the structure that it returned."""
        call = args[-1]
        values = rebuilt(super().apply(*args, **kwargs), call.results)
        return values[0] if call.single else values


def _checked(entry, found: Any, args: tuple) -> list:
    """The gradients of the arguments of a skeleton, one for each tensor of a list."""
    actual = len(found) if isinstance(found, tuple) else 1
    counts = dict.fromkeys((len(args), len(entry.schema.positional)))
    if actual not in counts:
        raise RuntimeError(
            f"The backward formula for {entry.overload} returned an incorrect number of gradients "
            f"(expected {' or '.join(map(str, counts))}, got {actual}). Expected one gradient for "
            "each forward input, or for each positional input to the operator. Use None for inputs "
            "that do not require a gradient."
        )
    found = found if isinstance(found, tuple) else (found,)
    if any(gradient is not None for gradient in found[len(args) :]):
        raise RuntimeError(
            f"The backward formula for {entry.overload} returned a non-None gradient for an input "
            "that was not passed to the operator. Defaulted inputs that were not passed through "
            "autograd must return None."
        )
    gradients: list = []
    for gradient, argument in zip(found, args, strict=False):
        if argument is None:
            gradients.append(gradient)
        elif isinstance(gradient, list) and len(gradient) == len(argument):
            gradients += gradient
        else:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{_structure(skeleton(found))} (return from backward), {_structure(args)} (inputs)"
            )
    return gradients


def _structure(values: tuple) -> TreeSpec:
    """The structure of a skeleton, with one more leaf: the call, which the node is given last."""
    return tree_flatten((*values, None), is_leaf=lambda v: v is None)[1]
