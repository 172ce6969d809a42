"""`once_differentiable`: a Function's backward whose results cannot be differentiated again."""

from __future__ import annotations

import functools

from impl import function_outputs, messages
from impl.graph import Node, accumulator
from impl.modes import STATE, no_grad
from impl.tensor import Tensor


class Error(Node):
    """What gradients that must not be differentiated again hang on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def _evaluate(self, grads, interpretation, wanted):
        raise RuntimeError(self.text)


def once_differentiable(function):
    """Decorate a backward: it runs unrecorded, and differentiating its results again raises.

    That is a RuntimeError, from the backward that reaches the results; they require grad only if
    the function is called in grad mode with a gradient that does.
    """

    @functools.wraps(function)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            outputs = function(ctx, *args, **kwargs)
        required = any(isinstance(a, Tensor) and a.requires_grad for a in args)
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
    node._connect([None if leaf is None else (accumulator(leaf), 0) for leaf in leaves])
    function_outputs.describe(node, leaves)
    results: list[Tensor | None] = []
    for number, leaf in enumerate(leaves):
        result = None if leaf is None else leaf.data  # which counts its writes apart
        if result is not None:
            result._node, result._nr = node, number
        results.append(result)
    return results
