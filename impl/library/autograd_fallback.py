"""Operators without a kernel for autograd (csrc/autograd/autograd_not_implemented_fallback.cpp).

The kernel of the backend runs as it is called, so operators in it are recorded. A result that does
not require grad by that gets a node which passes no gradient on. Backward warns at either.
"""

from __future__ import annotations

from typing import Any

from impl.core.dtypes import DIFFERENTIABLE
from impl.core.state import STATE
from impl.core.warning import warn
from impl.graph.edge import gradient_edge
from impl.graph.hooks import register_inner_hook
from impl.graph.node import Node
from impl.library.schema import FunctionSchema, Result
from impl.tape.inplace import set_history
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor, requires_grad

_WARNING = (
    "{}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
    "backprop through it. This may lead to silently incorrect behavior. This behavior is "
    "deprecated and will be removed in a future version of PyTorch. If your operator is "
    "differentiable, please ensure you have registered an autograd kernel to the correct "
    "Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your "
    "operator is not differentiable, or to squash this warning and use the previous behavior, "
    "please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd."
)


class CppFunction(Node):
    """The node of results without a formula (WarnNotImplemented): it warns, and has no gradients.
    Its class and its name are those that torch shows."""

    __module__ = "builtins"  # as of a C++ class

    def __init__(self, name: str, tensors: list[Tensor]) -> None:
        super().__init__()
        self._operator = name
        self._set_next_edges([gradient_edge(t) if requires_grad(t) else None for t in tensors])

    def _evaluate(self, grads, form, wanted):
        _warn(self._operator)
        return [None] * len(self._next_nodes)

    def name(self) -> str:
        return "torch::autograd::WarnNotImplemented"


def called(entry, args: tuple, named: dict, tensors: list[Tensor]) -> Any:
    """The results of an operator for arguments with these tensors; they warn when backward reaches
    them."""
    node = None
    if STATE.enabled and any(map(requires_grad, tensors)):
        node = CppFunction(entry.schema.name, tensors)
    results = entry.past_autograd(args, named, tensors)
    if node is not None:
        _note(node, results, entry.schema)
    return results


def _note(node: CppFunction, results: Any, schema: FunctionSchema) -> None:
    values = (results,) if len(schema.returns) == 1 else results or ()
    outputs: list[Tensor] = []
    for value, result in zip(values, schema.returns, strict=False):
        for tensor in tensors_of((value,)):
            if tensor._raw.dtype in DIFFERENTIABLE:
                _note_one(node, tensor, result, outputs)
    if outputs:
        node._set_input_metadata(outputs)


def _note_one(node: CppFunction, tensor: Tensor, result: Result, outputs: list[Tensor]) -> None:
    def warn(gradient: Any) -> None:
        _warn(node._operator)

    if not tensor.requires_grad:
        if not result.is_write:
            set_history(tensor, node, len(outputs))
            outputs.append(tensor)
        return
    register_inner_hook(tensor, warn)
    base = tensor._view.base if tensor._view is not None and result.is_write else None
    if base is not None and base.requires_grad:
        register_inner_hook(base, warn)


def _warn(name: str) -> None:
    warn(_WARNING.format(name))
