"""The straight way: functions generated from an operator's definition for the common case.

A call on plain float tensors, and the backward of the node it records, need few decisions: which
operands require grad, and whether what was saved is as it was. For these an operator gets functions
without loops and tables, made from the same kernel, the same formulas and the same plan of what is
saved as the general way (`Operator.__call__`, `OperatorNode._evaluate`). Whatever is not common
(other dtypes, strides, lists, several outputs, an active mode) goes the general way.
"""

from __future__ import annotations

from impl.straight.backward import backward
from impl.straight.calls import SCOPE, Call
from impl.straight.views import ViewCall
from impl.straight.writes import Write

__all__ = ["backward", "function"]


def function(
    op, name: str, header: str, general: str, scope, constants=None, expression=None, inplace=False
):
    """A function with the given header (its `def` line, and what comes before) that calls `op`.

    `general` is the expression that does whatever is not common; `scope` holds the kernel and what
    the header names. Parameters in `constants` have the values given there, and then nothing is
    left to validate, and what the kernel does may be an `expression` in `r0` and `r1`. The function
    is written when it is first called, because an operator's formulas and properties are stated
    after its spellings are made.
    """
    scope.update(SCOPE, op=op, NODE=op.node_class)

    def settle(arguments):
        kind = _kind(op, inplace)
        if kind is not None:
            source = kind(op, scope, constants, expression).source(header, general)
        else:
            source = f"{header}    return {general}"
        exec(source, scope)
        made.__code__ = scope[name].__code__
        return made(**arguments)

    scope["settle"] = settle
    exec(f"{header}    return settle(locals())", scope)
    made = scope[name]
    return made


def _kind(op, inplace: bool) -> type[Call] | None:
    """What writes functions that call the operator; None if no call can go the straight way."""
    from impl.primitive import Operator
    from impl.views import ViewOperator

    if op.node_name == "NotImplemented" or len(op.differentiable_outputs) != 1:
        return None
    if type(op) is ViewOperator:
        return None if inplace or op.multiple or op.bounded else ViewCall
    if type(op) is not Operator or op.list_position is not None or not op.tensor_positions:
        return None
    if len(op.outputs) > 1 and (inplace or op.elementwise):
        return None
    if op.refusal_of_complex is not None and op.promote is None and not op.bits:
        return None  # there nothing would look at the dtype
    return Write if inplace else Call
