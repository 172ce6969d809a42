"""Tangents that are recorded, of a function that torch.func.linearize traces.

They are differentiated after the function has ended. By then it may have written to operands that
the operators of tangents have read, and the operators of torch's trace may have no derivative;
neither is in the way of a trace that runs again.
"""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.tensor.nested import each
from impl.tensor.tensor import Tensor
from impl.tensor.views import DEFAULT


def kept(value: Any) -> Any:
    """The value of an operand that stays as it is: a copy of a tensor, of a list those of its
    entries."""
    return each(lambda one: one.clone() if isinstance(one, Tensor) else one, value)


def slope(rule, call) -> tuple:
    """The product of the tangent with the derivative, which a `rule` without a derivative of its
    own gives for ones."""
    ((position, tangent),) = call.tangents.items()
    with no_grad():
        call.tangents = {position: tensor_ops.ones_like(tangent)}
        (derivative,) = rule(call)
    return (tangent * derivative,)


def single(tangent: Tensor) -> Tensor:
    """A view as one that may be written, where an operator has made several at once."""
    view = tangent._view
    if view is None or view.creation == DEFAULT:
        return tangent
    geometry = [*tangent._raw.shape], [*tangent.stride()], tangent._offset
    return FUNCTIONS["as_strided"](view.base, *geometry)
