"""The Function that records a custom operator (torch/_library/autograd.py)."""

from __future__ import annotations

from typing import Any

from impl.tape.custom_function import Function
from impl.tensor.tensor import Tensor
from impl.utils._pytree import TreeSpec, tree_flatten


class Call:
    """The last argument of the Function: the arguments by name, and how lists were taken apart."""

    def __init__(self, op, args: tuple, named: dict) -> None:
        self.op, self.args, self.named = op, args, named
        self.spec: Any = None  # the structure of the results
        self.result: Any = None


def function_of(op) -> type[Function]:
    """A Function that runs an operator in forward, and its registered formula in backward."""
    name = "GeneratedBackwardFor_" + op.qualname.replace("::", "_") + "_default"
    return type(name, (_Generated,), {})


def recorded(op, args: tuple, named: dict) -> Any:
    """The result of an operator, recorded as one node."""
    call = Call(op, args, named)
    op.function.apply(*flattened(args), call)
    return call.result


class _Generated(Function):
    @staticmethod
    def forward(ctx, *args):
        call = args[-1]
        op = call.op
        arguments = rebuilt(list(args[:-1]), call.args)
        result = op.below_autograd(arguments, call.named)
        ctx._call = call
        if op.setup_context is not None:
            given = {"inputs": op.schema.filled(arguments), "output": result}
            if len(op.schema.positional) < len(op.schema.arguments):
                given["keyword_only_inputs"] = call.named
            op.setup_context(ctx, **given)
        call.spec = result
        return tuple(flattened(result if isinstance(result, tuple) else (result,)))

    @staticmethod
    def backward(ctx, *grads):
        call = ctx._call
        op = call.op
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op.overload} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        results = call.spec if isinstance(call.spec, tuple) else (call.spec,)
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = rebuilt(list(needs[:-1]), call.args)
        try:
            found = op.backward(ctx, *rebuilt(list(grads), results))
        finally:
            ctx.needs_input_grad = needs
        return (*_checked(op, found, call.args), None)

    @classmethod
    def apply(cls, *args, **kwargs):
        """Record the call that is the last argument, whose result gets the results' histories."""
        call = args[-1]
        outputs = super().apply(*args, **kwargs)
        values = rebuilt(list(outputs), call.spec if isinstance(call.spec, tuple) else (call.spec,))
        call.result = values if isinstance(call.spec, tuple) else values[0]
        return outputs


def _checked(op, found: Any, args: tuple) -> list:
    """The gradients of the arguments that were given, one for each tensor of a list."""
    actual = len(found) if isinstance(found, tuple) else 1
    counts = {len(args), len(op.schema.positional)}
    if actual not in counts:
        expected = " or ".join(map(str, dict.fromkeys((len(args), len(op.schema.positional)))))
        raise RuntimeError(
            f"The backward formula for {op.overload} returned an incorrect number of gradients "
            f"(expected {expected}, got {actual}). Expected one gradient for each forward input, "
            "or for each positional input to the operator. Use None for inputs that do not require "
            "a gradient."
        )
    found = found if isinstance(found, tuple) else (found,)
    if any(gradient is not None for gradient in found[len(args) :]):
        raise RuntimeError(
            f"The backward formula for {op.overload} returned a non-None gradient for an input "
            "that was not passed to the operator. Defaulted inputs that were not passed through "
            "autograd must return None."
        )
    gradients: list = []
    for gradient, argument in zip(found, args, strict=False):
        if not _is_list(argument):
            gradients.append(gradient)
        elif isinstance(gradient, list) and len(gradient) == len(argument):
            gradients += gradient
        else:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{_structure(found)} (return from backward), {_structure(args)} (inputs)"
            )
    return gradients


def _structure(values: tuple) -> TreeSpec:
    """The structure of the arguments or gradients of the node, whose last one is the call."""
    values = (*values, None)
    return tree_flatten(values, is_leaf=lambda v: v is not values and not _is_list(v))[1]


def _is_list(value: Any) -> bool:
    """Whether a value is a list of tensors, each of which is an argument of the node."""
    return isinstance(value, (list, tuple)) and all(isinstance(v, Tensor) for v in value)


def flattened(values: tuple) -> list:
    """The values, and in the place of lists of tensors their elements."""
    flat: list = []
    for value in values:
        if _is_list(value):
            flat += value
        else:
            flat.append(value)
    return flat


def rebuilt(flat: list, like: tuple) -> tuple:
    """The values of a flat list in the structure that `flattened` took apart."""
    values: list = []
    for value in like:
        if _is_list(value):
            values.append([flat.pop(0) for _ in value])
        else:
            values.append(flat.pop(0))
    return tuple(values)
