"""Levels of differentiation: the inputs of a transformed function, and results without its graph.

torch wraps tensors, one wrapper for each transform that runs (functorch's interpreters). Here the
input of a transform is an alias that requires grad, and a result is detached unless its graph leads
to a tensor of the caller: one of a transform that is still running, or one that requires grad.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from impl.core.grad_mode import enable_grad
from impl.core.state import STATE
from impl.graph.accumulate_grad import AccumulateGrad
from impl.operators.views.as_strided import alias_view
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_map

_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


class Level:
    """One run of a transformed function."""

    def __init__(self, aliases: bool = False, forward: bool = False) -> None:
        """With `aliases` inputs that require grad show as aliases in the caller's graph, as the
        duals of torch's forward mode do; otherwise they do not show. `forward`: torch's own level
        is one of forward mode."""
        self.running = False
        self.aliases = aliases
        self.forward = forward or aliases
        self._originals: dict[int, tuple[Tensor, Tensor]] = {}

    @contextmanager
    def run(self) -> Iterator[None]:
        """Record a graph for the duration of a block.

        Raises RuntimeError where torch's own level cannot run: beside hooks on saved tensors, or
        within a dual level.
        """
        if self.forward:
            forward_grad.check_outermost()
        elif STATE.saved_hooks:
            raise RuntimeError(_HOOKS)
        self.running = True
        try:
            with enable_grad():
                yield
        finally:
            self.running = False

    def raised(self, tree: Any) -> Any:
        """Aliases of the tensors of a tree that this level differentiates with respect to.

        Raises ValueError for a leaf that is no tensor.
        """
        return tree_map(self._alias, tree)

    def _alias(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if value.requires_grad and not value.is_inference():
            with enable_grad():
                alias = alias_view(value)
            if not self.aliases:
                alias.grad_fn._is_wrapper = True
        else:
            alias = value.detach().requires_grad_()
        alias._level = self
        self._originals[id(alias)] = alias, value
        return alias

    def lowered(self, tree: Any) -> Any:
        """The tensors of a tree of results, for the caller."""
        return tree_map(self._for_caller, tree)

    def _for_caller(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.requires_grad:
            return value
        if id(value) in self._originals:
            return self._originals[id(value)][1]
        return value if self._belongs_to_caller(value) else value.detach()

    def _belongs_to_caller(self, tensor: Tensor) -> bool:
        if tensor.grad_fn is None:
            return self._is_of_caller(tensor)
        seen, left = set(), [tensor.grad_fn]
        while left:
            node = left.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, AccumulateGrad):
                if self._is_of_caller(node.variable):
                    return True
            else:
                left += [next_node for next_node, _ in node._edge_pairs() if next_node is not None]
        return False

    def _is_of_caller(self, leaf: Tensor) -> bool:
        level = getattr(leaf, "_level", None)
        return level is None or (level is not self and level.running)
