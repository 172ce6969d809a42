"""The Function that records a custom operator (torch/_library/autograd.py)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from impl.tape.custom_function import Function
from impl.tensor.tensor import Tensor
from impl.utils._pytree import TreeSpec, tree_flatten


class Call:
    """The last argument of the Function: the operator, its arguments by name, and the `skeleton` of
    those by position and of the results. It holds no tensor by position, which the node would keep
    alive."""

    def __init__(self, op, args: tuple, named: dict) -> None:
        self.op, self.args, self.named = op, skeleton(args), named
        self.results: tuple = ()
        self.single = True  # whether the operator returns one value, not a tuple


def function_of(op) -> type[Function]:
    """A Function that runs an operator in forward, and its registered formula in backward."""
    name = "GeneratedBackwardFor_" + op.qualname.replace("::", "_") + "_default"
    return type(name, (_Generated,), {})


def recorded(op, args: tuple, named: dict) -> Any:
    """The result of an operator, recorded as one node."""
    return op.function.apply(*flattened(args), Call(op, args, named))


class _Generated(Function):
    @staticmethod
    def forward(ctx, *args):
        call = args[-1]
        op = call.op
        arguments = rebuilt(args[:-1], call.args)
        result = op.below_autograd(arguments, call.named)
        ctx._call = call
        if op.setup_context is not None:
            given = {"inputs": op.schema.filled(arguments), "output": result}
            if len(op.schema.positional) < len(op.schema.arguments):
                given["keyword_only_inputs"] = call.named
            op.setup_context(ctx, **given)
        call.single = not isinstance(result, tuple)
        results = (result,) if call.single else result
        call.results = skeleton(results)
        return tuple(flattened(results))

    @staticmethod
    def backward(ctx, *grads):
        call = ctx._call
        op = call.op
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op.overload} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = rebuilt(needs[:-1], call.args)
        try:
            found = op.backward(ctx, *rebuilt(grads, call.results))
        finally:
            ctx.needs_input_grad = needs
        return (*_checked(op, found, call.args), None)

    @classmethod
    def apply(cls, *args, **kwargs):
        """The result of the operator, in the structure that it returned."""
        call = args[-1]
        values = rebuilt(super().apply(*args, **kwargs), call.results)
        return values[0] if call.single else values


def _checked(op, found: Any, args: tuple) -> list:
    """The gradients of the arguments of a skeleton, one for each tensor of a list."""
    actual = len(found) if isinstance(found, tuple) else 1
    counts = dict.fromkeys((len(args), len(op.schema.positional)))
    if actual not in counts:
        raise RuntimeError(
            f"The backward formula for {op.overload} returned an incorrect number of gradients "
            f"(expected {' or '.join(map(str, counts))}, got {actual}). Expected one gradient for "
            "each forward input, or for each positional input to the operator. Use None for inputs "
            "that do not require a gradient."
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


def skeleton(values: tuple) -> tuple:
    """None for each value, and for a list of tensors a list or tuple of as many."""
    return tuple(type(v)([None] * len(v)) if _is_list(v) else None for v in values)


def rebuilt(flat, like: tuple) -> tuple:
    """The values of a flat sequence in the structure of a skeleton, lists as lists."""
    rest: Iterator[Any] = iter(flat)
    return tuple(next(rest) if v is None else [*islice(rest, len(v))] for v in like)
