"""The fast path: functions generated from an operator's definition for the common case.

A call on plain float tensors, and the backward of the node it records, need few decisions: which
operands require grad, and whether saved tensors are unchanged. For these an operator gets functions
without loops and tables, made from the same kernel, the same formulas and the same GradientPlan as
the slow path (`Operator.__call__`, `OperatorNode._evaluate`). Whatever is not common (other dtypes,
strides, lists, several outputs, an active mode) takes the slow path.
"""

from __future__ import annotations

from impl.dispatch.fast_path.backward import backward
from impl.dispatch.fast_path.call import SCOPE, FastCall
from impl.dispatch.fast_path.inplace_call import InplaceCall
from impl.dispatch.fast_path.view_call import FastViewCall

__all__ = ["backward", "function"]


def function(
    op, name: str, header: str, general: str, scope, constants=None, expression=None, inplace=False
):
    """A function with the given header (its `def` line, and what comes before) that calls `op`.

    `general` is the expression of the slow path; `scope` holds the kernel and the names in the
    header. Parameters in `constants` have the values given there, and then nothing is left to
    validate, and an `expression` in `r0` and `r1` may replace the kernel. The function is written
    when it is first called, because an operator's formulas and properties are stated after its
    spellings are made.
    """
    scope.update(SCOPE, op=op, NODE=op.node_class, __name__=__name__)

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


def _kind(op, inplace: bool) -> type[FastCall] | None:
    """The writer of functions that call the operator; None if it has no fast path."""
    if op.node_name == "NotImplemented" or len(op.differentiable_outputs) != 1:
        return None
    if op.fast_path == "view":
        return None if inplace or op.multiple or op.bounded else FastViewCall
    if op.fast_path is None or op.list_position is not None or not op.tensor_positions:
        return None
    if len(op.outputs) > 1 and (inplace or op.elementwise):
        return None
    if op.fresh and op._layouts is not None:  # whatever layout the kernel's result has
        return None
    refuses_complex = op.complex is not None and op.complex.refuses
    if refuses_complex and op.promote is None and not op.grad_inputs:
        return None  # there nothing would look at the dtype
    return InplaceCall if inplace else FastCall
