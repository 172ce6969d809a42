"""`once_differentiable`: a decorator for a backward that is not differentiable itself."""

from __future__ import annotations

import functools

from impl.core import messages
from impl.core.grad_mode import no_grad
from impl.core.state import STATE
from impl.graph.accumulate_grad import grad_accumulator
from impl.graph.node import Node
from impl.tape import custom_function_outputs
from impl.tensor.tensor import Tensor, requires_grad


class Error(Node):
    """A node whose backward raises (csrc/autograd/functions/basic_ops.h)."""

    __module__ = "builtins"  # as of a C++ class

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def _evaluate(self, grads, form, wanted):
        raise RuntimeError(self.text)


def once_differentiable(function):
    """Decorator for a backward: it runs in no_grad, and differentiating its results raises.

    The RuntimeError is raised by the backward pass that reaches the results. They require grad only
    if the function was called in grad mode with a gradient that requires grad.
    """

    @functools.wraps(function)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            outputs = function(ctx, *args, **kwargs)
        required = any(isinstance(a, Tensor) and requires_grad(a) for a in args)
        if not (STATE.enabled and required):
            return outputs
        gradients = outputs if isinstance(outputs, tuple) else (outputs,)
        results = _undifferentiable(gradients, messages.ONCE_DIFFERENTIABLE)
        return tuple(results) if len(results) > 1 else results[0]

    return wrapper


def _undifferentiable(gradients, text: str) -> list[Tensor | None]:
    """Aliases that require grad but raise RuntimeError when they are differentiated."""
    node = Error(text)
    leaves = [None if g is None else g.detach() for g in gradients]
    for leaf in leaves:
        if leaf is not None:
            leaf.requires_grad = True
    node._set_next_edges([None if leaf is None else (grad_accumulator(leaf), 0) for leaf in leaves])
    custom_function_outputs.describe(node, leaves)
    results: list[Tensor | None] = []
    for number, leaf in enumerate(leaves):
        result = None if leaf is None else leaf.data  # with a separate version counter
        if result is not None:
            result._node, result._nr = node, number
        results.append(result)
    return results
