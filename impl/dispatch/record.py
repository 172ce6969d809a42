"""Recording by hand, for operators that a definition does not describe: writes and custom nodes."""

from __future__ import annotations

import functools

from impl.core import messages
from impl.core.dtypes import DIFFERENTIABLE
from impl.core.grad_mode import no_grad
from impl.core.state import STATE
from impl.dispatch.out import all_inference, store, store_exactly
from impl.graph.edge import gradient_edge
from impl.graph.node import RUNS_FIRST
from impl.tape.custom_function import Function
from impl.tape.inplace import check, rebase_history
from impl.tape.once_differentiable import Error
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import innermost
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.wrappers import is_captured, is_wrapped

__all__ = [
    "Function",
    "check_write",
    "edges_of",
    "gradient_edges",
    "record_undifferentiable",
    "refuse_write",
    "store_underived",
    "underived_out",
    "underived_write",
]

# The node of an operation that torch records and has no derivative for.
_NotImplemented: type[Error] = type("NotImplemented", (Error,), {"__module__": "builtins"})


def check_write(target: Tensor, differentiable: bool = False) -> None:
    """Raise RuntimeError where a write to `target` cannot be recorded: on leaves that require grad,
    on their views, and on views that must not be written.

    `differentiable` says that the written values require grad.
    """
    check(target, differentiable or requires_grad(target))


def refuse_write(values) -> None:
    """Raise RuntimeError as `check_write` does for the first of the values, which a function that
    failed was to write: torch looks at this before it looks at the operands, unless all are
    inference tensors, which autograd does not see, or a transform refuses the target first."""
    target, *operands = values
    if isinstance(target, Tensor) and not (_is_captured(target, values) or all_inference(values)):
        check_write(target, any(isinstance(o, Tensor) and requires_grad(o) for o in operands))


def _is_captured(target: Tensor, values) -> bool:
    """Whether the innermost transform refuses a write, to a tensor that it does not wrap."""
    if STATE.batched and innermost(values) is not None:
        return innermost((target,)) is None
    return is_captured(target)


def edges_of(*tensors: Tensor) -> list:
    """The edges of tensors; None for those that do not require grad."""
    return [*map(gradient_edge, tensors)]


def gradient_edges(*tensors: Tensor) -> list:
    """The edges of the tensors that require grad."""
    return [edge for edge in edges_of(*tensors) if edge is not None]


def record_undifferentiable(name: str, edges: list, outs, made: bool = False) -> None:
    """Make the history of tensors that have been written a node that raises when it runs. All are
    its first output, unless they have been `made`.

    The error (RuntimeError) names the operator.
    """
    node = _NotImplemented(messages.UNDIFFERENTIABLE.format(name))
    node._sequence = RUNS_FIRST
    node._set_next_edges(edges)
    node._set_input_metadata(tuple(outs))
    for number, out in enumerate(outs):
        rebase_history(out, node, number if made else 0)


def underived_out(name: str, storing=store_exactly, before=None):
    """Have a composite take `out=` as the operators of which torch has no derivative then.

    `before` is called with `out` and the arguments, which it returns as the composite gets them.
    """

    def decorate(composite):
        @functools.wraps(composite)
        def call(*args, out=None, **named):
            if out is None:
                return composite(*args, **named)
            inputs = [v for v in (*args, *named.values()) if isinstance(v, Tensor)]

            def compute():
                if before is not None:
                    return composite(*before(out, *args, **named))
                return composite(*args, **named)

            return store_underived(name, inputs, out, compute, storing)

        call.__dict__.pop("out_name", None)  # gradients are not refused
        return call

    return decorate


def store_underived(name: str, inputs, out, compute, storing=store):
    """Store the result of an operator, a tensor or a tuple of them, in `out=`, with a node whose
    backward raises; returns `out`.

    Raises RuntimeError where a write to `out` could not be recorded, NotImplementedError for
    tangents, both before the operator is called (`compute`, which returns the result).
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    known = all(isinstance(one, Tensor) for one in outs)
    record = underived_write(name, inputs, outs) if known else None
    with no_grad():
        stored = storing(name, out, compute())  # raises TypeError for other types
    if record is not None:
        record()
    return stored


def _is_outside(out, inputs) -> bool:
    """Whether a transform that made an input did not make `out`, whose history it cannot change."""
    return bool(STATE.transforms) and not is_wrapped(out) and any(map(is_wrapped, inputs))


def underived_write(name: str, inputs, outs):
    """Look whether an operator without a derivative may write these tensors; returns the function
    that records the write after it has happened.

    Raises RuntimeError where the write could not be recorded, NotImplementedError for tangents.
    """
    tensors = (*inputs, *outs)
    if any(forward_grad.fw_grad(tensor) is not None for tensor in tensors):
        raise NotImplementedError(messages.FORWARD_UNKNOWN.format(name.removeprefix("aten::")))
    if not (STATE.enabled and any(map(requires_grad, tensors))):
        return lambda: None
    edges = gradient_edges(*tensors)
    for out in outs:
        try:
            check_write(out, True)
        except RuntimeError:
            raise RuntimeError(messages.OUT_GRADIENT.format(name)) from None

    def record() -> None:
        written = [one for one in outs if one._raw.dtype in DIFFERENTIABLE]
        written = [one for one in written if not _is_outside(one, inputs)]
        if written:
            record_undifferentiable(name, edges, written)

    return record
