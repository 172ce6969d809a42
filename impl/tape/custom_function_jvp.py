"""Forward AD through custom Functions: the call of jvp, and the tangents of the outputs.

The checks are those of _process_forward_mode_AD (csrc/autograd/custom_function.cpp): if the forward
writes an input in place, or returns a view, the jvp must do the same with the tangents.
"""

from __future__ import annotations

from typing import Any

from impl.core import messages
from impl.core.dtypes import DIFFERENTIABLE
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor


def push(node, tensors: list[Tensor], placing, outputs: list) -> None:
    """Call the jvp of a Function and set the tangents of its outputs.

    No effect if no tensor argument has a tangent. Raises RuntimeError for a wrong number of
    tangents, a result that is no tensor, and a missing or superfluous tangent.
    """
    forward_grad.at_each_level(_push, node, tensors, placing, outputs)


def _push(node, tensors: list[Tensor], placing, outputs: list) -> None:
    """`push` at the current level."""
    tangents = [forward_grad.fw_grad(tensor) for tensor in tensors]
    if all(tangent is None for tangent in tangents):
        return
    versions = [None if tangent is None else physical(tangent)._version for tangent in tangents]
    with forward_grad.hidden_levels():
        results = _jvp(node, tensors, tangents)
    if len(results) != len(outputs):
        raise RuntimeError(messages.JVP_COUNT.format(len(outputs), len(results)))
    arguments: dict[int, Any] = {
        id(t): given for t, *given in zip(tensors, tangents, versions, strict=True)
    }
    bases = {
        id(_base(tensor)): _base(physical(tangent))
        for tensor, tangent in zip(tensors, tangents, strict=True)
        if tangent is not None
    }
    for number, (value, output) in enumerate(zip(placing.returned, outputs, strict=True)):
        tangent = results[number]
        if not isinstance(output, Tensor):
            continue
        if not placing.is_differentiable(value):
            if tangent is not None:
                raise RuntimeError(messages.JVP_NOT_DIFFERENTIABLE.format(number))
        elif id(value) in placing.dirty:
            if id(value) not in arguments:
                raise RuntimeError(messages.JVP_DIRTY)
            _write(output, tangent, *arguments[id(value)])
            forward_grad.note_on_node(output, node)
        else:
            if output._view is not None:
                _check_view(tangent, bases.get(id(_base(output))))
            _give(output, tangent)
            forward_grad.note_on_node(output)


def _jvp(node, tensors, tangents) -> tuple:
    given = iter(zip(tensors, tangents, strict=True))
    arguments = [_argument(node, *next(given)) if t else None for t in node._are_tensors]
    results = node.apply_jvp(*arguments)
    if not isinstance(results, tuple):
        results = (results,)
    for number, tangent in enumerate(results):
        if not (tangent is None or isinstance(tangent, Tensor)):
            raise RuntimeError(messages.JVP_KIND.format(type(tangent).__name__, number))
    return results


def _argument(node, tensor: Tensor, tangent: Tensor | None) -> Tensor | None:
    if tangent is None and tensor._raw.dtype in DIFFERENTIABLE:
        return node._zeros(tensor._raw.shape, tensor._raw.dtype)
    return tangent


def _base(tensor: Tensor) -> Tensor:
    return tensor if tensor._view is None else tensor._view.base


def _give(output: Tensor, tangent: Tensor | None, written: bool = False) -> None:
    if tangent is None or tangent._raw.dtype not in DIFFERENTIABLE:
        raise RuntimeError(messages.JVP_DTYPE)
    forward_grad.set_fw_grad(output, tangent, written)


def _write(output: Tensor, tangent: Tensor | None, former: Tensor | None, version: int) -> None:
    if former is None:
        _give(output, tangent, written=True)
    elif tangent is None or physical(tangent)._version == version:
        raise RuntimeError(messages.JVP_NOT_WRITTEN)
    elif tangent is not former:
        raise RuntimeError(messages.JVP_NOT_RETURNED)


def _check_view(tangent: Tensor | None, base: Tensor | None) -> None:
    """Check the tangent of an output that is a view of an argument.

    `base` is the base of that argument's tangent, None if it has no tangent.
    """
    if base is None or tangent is None:
        return
    tangent = physical(tangent)
    if tangent._view is None:
        raise RuntimeError(messages.JVP_NO_VIEW)
    if _base(tangent) is not base:
        raise RuntimeError(messages.JVP_OTHER_VIEW)
