"""Levels of differentiation: the inputs of a transformed function, and results without its graph.

torch wraps tensors, one wrapper for each transform that runs (functorch's interpreters). Here the
input of a transform is an alias that requires grad, and a result is detached unless its graph leads
to a tensor of the caller: one of a transform that is still running, or one that requires grad. It
is always detached for a caller in no_grad or inference mode, which records nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from impl.core import grad_mode, inference_mode
from impl.core.state import STATE
from impl.graph.accumulate_grad import AccumulateGrad
from impl.graph.edge import gradient_edge
from impl.operators.views.as_strided import alias_view
from impl.tape import dual_tensor
from impl.tape.saved_tensor_hooks import disable_saved_tensors_hooks
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor
from impl.tensor.views import as_view
from impl.utils._pytree import tree_map

_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


def recorded() -> grad_mode.inference_mode:
    """A block with grad mode on and inference mode off, in which torch runs a transform."""
    return grad_mode.inference_mode(mode=False)


class Transform:
    """One run of a transformed function, of which the tape below is told (`STATE.transforms`)."""

    forward = False
    """Whether it stands for torch's forward mode, in which nothing is saved for backward."""

    wraps = False
    """Whether torch wraps the tensors of the function, inference tensors in normal ones."""

    running = False

    hooks: tuple = ()
    """Those on saved tensors that wait while it runs."""

    def shows_grad(self, tensor: Tensor) -> bool:
        """Whether a tensor requires grad in torch."""
        return tensor.requires_grad

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run for the duration of a block."""
        before = STATE.transforms
        STATE.transforms, self.running = (*before, self), True
        try:
            yield
        finally:
            STATE.transforms, self.running = before, False

    @contextmanager
    def hooks_aside(self) -> Iterator[None]:
        """Run without hooks on saved tensors for the duration of a block."""
        self.hooks, STATE.saved_hooks = STATE.saved_hooks, ()
        try:
            yield
        finally:
            STATE.saved_hooks = self.hooks


class DualLevel(Transform):
    """One run of a function of dual tensors, in forward mode."""

    forward = wraps = True

    @contextmanager
    def run(self) -> Iterator[None]:
        """Enter the dual level for the duration of a block, in which tensors are no inference
        tensors. Raises RuntimeError in a dual level."""
        forward_grad.enter()
        enabled = STATE.enabled
        try:
            with (
                self.hooks_aside(),
                super().run(),
                grad_mode.inference_mode(mode=False),
                grad_mode.set_grad_enabled(enabled),
            ):
                yield
        finally:
            forward_grad.leave()

    @staticmethod
    def dual(primal: Tensor, tangent: Tensor) -> Tensor:
        """An alias of a tensor with this tangent, which is written where the alias is."""
        result = dual_tensor.unrelated(alias_view(primal))
        forward_grad.set_fw_grad(result, tangent)
        return result


class Level(Transform):
    """One run of a function that is differentiated."""

    wraps = True

    def __init__(self, forward: bool = False, aliases: bool = False) -> None:
        """With `aliases` inputs that require grad show as aliases in the caller's graph, as the
        duals of torch's forward mode do; otherwise they do not show."""
        self.forward = forward
        self.aliases = aliases
        self.caller_records = True  # whether the grad mode is on where results are handed over
        self._originals: dict[int, tuple[Tensor, Tensor]] = {}

    @contextmanager
    def run(self) -> Iterator[None]:
        """Record a graph for the duration of a block, without hooks on saved tensors.

        Inference mode is off in it. Raises RuntimeError where there are hooks, unless it stands for
        forward mode.
        """
        self.caller_records = STATE.enabled
        with self._without_hooks(), super().run(), recorded():
            yield

    @contextmanager
    def _without_hooks(self) -> Iterator[None]:
        if not self.forward:
            if any(level.hooks for level in STATE.transforms if isinstance(level, Transform)):
                raise RuntimeError(_HOOKS)
            with disable_saved_tensors_hooks(_HOOKS):
                yield
            return
        with self.hooks_aside():
            yield

    def shows_grad(self, tensor: Tensor) -> bool:
        """Whether a tensor requires grad in torch, whose forward mode records nothing."""
        return tensor.requires_grad and not (self.forward and not self._belongs_to_caller(tensor))

    def raised(self, tree: Any) -> Any:
        """Aliases of the tensors of a tree that this level differentiates with respect to.

        Raises ValueError for a leaf that is no tensor.
        """
        return tree_map(self._alias, tree)

    def _alias(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        with recorded():
            if value.is_inference():
                alias = inference_mode.as_normal(value.detach())._requiring_grad()
                alias._level = self
            elif gradient_edge(value) is not None:
                alias = alias_view(value)
                if not self.aliases:
                    alias.grad_fn._wrapper_of = self
            else:
                alias = value.detach()._requiring_grad()
                alias._level = self
                forward_grad.pass_on(forward_grad.fw_grad(value), alias)
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
        kept = self.caller_records or value.grad_fn is None
        return value if kept and self._belongs_to_caller(value) else self._unwrapped(value)

    def _unwrapped(self, value: Tensor) -> Tensor:
        """The tensor that torch's wrapper holds: without the graph, and a view where it is one."""
        result = value.detach()
        forward_grad.pass_on(self._for_caller(forward_grad.fw_grad(value)), result)
        if value._view is None:
            return result
        base = value._view.base
        original = self._originals.get(id(base))
        return as_view(result, base.detach() if original is None else original[1])

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
