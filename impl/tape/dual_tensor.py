"""Dual tensors: a primal and its tangent, packed and unpacked (torch.autograd.forward_ad)."""

from __future__ import annotations

from typing import Any

from impl.core import messages
from impl.core.named_types import type_name
from impl.core.registry import OPERATORS, tensor_ops
from impl.core.state import STATE
from impl.graph.edge import gradient_edge
from impl.graph.node import Node
from impl.tensor.forward_grad import fw_grad, hidden_levels, set_fw_grad
from impl.tensor.geometry import geometry
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.views import DualViewMeta, view_of


def make_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view of `primal` with the tangent `tangent`, which is copied if its layout differs.

    Raises RuntimeError for a level other than 0, a primal or a tangent that is a dual tensor, and a
    tangent of another shape (torch._make_dual).
    """
    if fw_grad(primal) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            f"same level {level} is not supported."
        )
    args = primal, primal._raw.shape
    dual = unrelated(tensor_ops.view(*args))
    if primal._inference and STATE.enabled and requires_grad(primal):  # not recorded by `view`
        OPERATORS["view"].record_views(args, (dual,))
    if dual._strides != primal._strides:  # `view` changes strides of dimensions of size one
        dual._raw, dual._strides = primal._raw[...], primal._strides
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    set_fw_grad(dual, tangent)
    return dual


def unpack_dual(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """The primal, a view without tangent, and the tangent. Raises RuntimeError for another level
    than that of the tangent."""
    if not isinstance(dual, Tensor):
        raise TypeError(
            f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type_name(dual)}"
        )
    tangent = fw_grad(dual)
    if level != 0 and tangent is not None:
        raise RuntimeError("Invalid level given to _fw_primal")
    if tangent is not None and _is_wrapped(dual):
        tangent = None
    with hidden_levels():
        without = primal(dual)
    return without, tangent


def _is_wrapped(dual: Tensor) -> bool:
    """Whether torch reads the tangent of a wrapper around a dual tensor, which has none: of a
    transform within the level, of which all but those without writes wrap captured tensors, too.

    Raises NotImplementedError where views are functions, too, of which the primal is none.
    """
    forward = max((t.number for t in STATE.transforms if t.forward), default=0)
    inner = (t for t in STATE.transforms if t.number > forward and t.wraps)
    levels = [t for t in inner if not t.functional or t.holds(dual)]
    if any(level.functional and not level.keeps_views for level in levels):
        raise NotImplementedError(messages.FORWARD_UNKNOWN.format("_fw_primal_copy"))
    return bool(levels)


class CppFunction(Node):
    """The node of `primal`, an identity; its class and its name are those that torch shows."""

    __module__ = "builtins"  # as of a C++ class

    def _evaluate(self, grads, form, wanted):
        return grads

    def name(self) -> str:
        return "torch::autograd::Identity"


def primal(value: Any) -> Any:
    """A view of a tensor without the tangents of levels out of sight (torch's _fw_primal); other
    values are unchanged."""
    if not isinstance(value, Tensor):
        return value
    if any(transform.forward for transform in STATE.transforms):  # whose wrappers take aliases
        return unrelated(tensor_ops.alias_view(value))
    result = unrelated(view_of(value, geometry(value)))
    if STATE.enabled and requires_grad(value) and not value._inference:
        node = CppFunction()
        node._set_next_edges((gradient_edge(value),))
        node._set_input_metadata((value,))
        result._node = node
    return result


def unrelated(view: Tensor) -> Tensor:
    """Separate a view from its base in forward AD: it does not get the tangent of the base."""
    if view._view is not None:  # views of inference tensors have no base
        view._view = DualViewMeta(view._view, None)
    return view
