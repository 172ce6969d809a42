"""Levels of transforms: the inputs of a transformed function, and results without its graph.

torch wraps tensors, one wrapper for each transform that runs (functorch's interpreters). Here the
input of a transform is an alias that requires grad, and a result is detached unless its graph leads
to a tensor of the caller: one of a transform that is still running, or one that requires grad. It
is always detached for a caller in no_grad or inference mode, which records nothing.

Under `vmap` there are batched tensors (`impl.tensor.batched_tensor`), which show the history of
their values. The inputs of a transform within a `vmap` are batched at its level, so that there is a
gradient for each example.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from impl.core import grad_mode, inference_mode
from impl.core.state import STATE
from impl.func.arguments import Arguments, memories
from impl.func.caller_graph import CallerGraph, nodes_from
from impl.graph.accumulate_grad import AccumulateGrad, grad_accumulator
from impl.graph.edge import gradient_edge
from impl.operators.views.as_strided import alias_view
from impl.tape import batched_tangents, dual_tensor
from impl.tape.saved_tensor_hooks import disable_saved_tensors_hooks
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import BatchedTensor, batched_at, hidden, in_front, physical
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.views import as_view
from impl.utils._pytree import tree_map

_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


def recorded() -> grad_mode.inference_mode:
    """A block with grad mode on and inference mode off, in which torch runs a transform."""
    return grad_mode.inference_mode(mode=False)


_serials = itertools.count(1)


class Transform:
    """One run of a transformed function, of which the tape below is told (`STATE.transforms`)."""

    forward = False
    """Whether it stands for torch's forward mode, in which nothing is saved for backward."""

    wraps = False
    """Whether torch wraps the tensors of the function, inference tensors in normal ones."""

    composes = True
    """Whether it stands for an interpreter of functorch, in which dropout is composed."""

    tracing = False
    """Whether torch traces the function, which may read only constants."""

    functional = False
    """Whether it wraps tensors in functional ones."""

    running = False
    serial = 0  # which of all transforms it is, in the order of their start
    until: float = 0  # which are no longer within it
    number = 0  # how many transforms run, this one included
    randomness: str | None = None  # how a `vmap` draws random numbers

    arguments: Any = ()
    """Tensors of the caller that it wraps, but does not differentiate with respect to."""

    hooks: tuple = ()
    """Those on saved tensors that wait while it runs."""

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor is a wrapper in torch, of this transform or one within."""
        return self.wraps and (tensor._born >= self.serial or tensor in self.arguments)

    def held(self, tensor: Tensor) -> Tensor:
        """The tensor that the wrapper of this transform holds in torch."""
        return tensor

    def traces(self, tensor: Tensor) -> bool:
        """Whether a value is one that a traced function has computed, which it may not read."""
        return False

    def note_constant(self, tensor: Tensor) -> None:
        """Take note of a tensor of given numbers."""

    def note_computed(self, inputs: Iterable[Tensor], outputs: Sequence[Tensor]) -> None:
        """Take note of the results of an operator, and of the tensors that it is given."""

    def tracks(self, tensor: Tensor) -> bool:
        """Whether the graph of a tensor leads to an input of this transform, or to another leaf of
        it."""
        if not self.wraps or not requires_grad(tensor):
            return False
        if tensor._grad_fn is None:
            return self.has_leaf(tensor)
        return any(map(self._leads_to, nodes_from(tensor._grad_fn)))

    def _leads_to(self, node: Any) -> bool:
        return isinstance(node, AccumulateGrad) and self.has_leaf(node.variable)

    def has_made(self, tensor: Tensor) -> bool:
        """Whether a tensor was made in the function."""
        return self.serial <= tensor._born < self.until

    def has_leaf(self, leaf: Tensor) -> bool:
        """Whether a leaf requires grad at this level, and at none within it."""
        level = getattr(leaf, "_level", None)
        if level is not None or not self.has_made(leaf):
            return level is self
        within = (t.serial for t in STATE.transforms if t.wraps and t.serial > self.serial)
        return not any(serial <= leaf._born for serial in within)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run for the duration of a block."""
        before = STATE.transforms
        STATE.transforms, self.running = (*before, self), True
        self.number, self.serial = len(STATE.transforms), next(_serials)
        self.until = math.inf
        try:
            yield
        finally:
            STATE.transforms, self.running = before, False
            self.until = next(_serials)

    def hooked(self, hook: Callable) -> Callable:
        """The hook to register in place of one on a tensor."""
        return hook

    def has(self, tensor: Tensor) -> bool:
        """Whether the function has made a tensor, or is given it; True where the transform makes no
        wrappers of those."""
        return True

    def owns(self, tensor: Tensor) -> bool:
        """Whether the function may write a tensor: it, and those of all transforms outside, have
        made it or are given it."""
        within = self.has(tensor)
        outer = STATE.transforms[self.number - 2] if self.number > 1 else None
        return within and (outer is None or outer.owns(physical(tensor)))

    def primal(self, tensor: Tensor) -> Tensor:
        """A tensor without its tangent of this transform, if that is one of forward mode."""
        with forward_grad.hidden_levels():
            return dual_tensor.primal(tensor)

    @contextmanager
    def hooks_aside(self) -> Iterator[None]:
        """Run without hooks on saved tensors for the duration of a block."""
        self.hooks, STATE.saved_hooks = STATE.saved_hooks, ()
        try:
            yield
        finally:
            STATE.saved_hooks = self.hooks


def made_or_given(level: Any, tensor: Tensor) -> bool:
    """Whether a function has made a tensor, or is given it: one of its arguments that is not
    differentiated, or a view of one that is."""
    if tensor._born < level.serial:
        return id(tensor) in level.given
    base = tensor if tensor._view is None else tensor._view.base
    if base._detached_in == level.serial:
        return False
    return base._born >= level.serial or id(base) in level.given | level.bases


class VmapLevel(Transform):
    """One run of a function that is mapped over a batch."""

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness = size, randomness

    @contextmanager
    def run(self) -> Iterator[None]:
        """Apply operators to batched tensors for the duration of a block."""
        before = STATE.batched
        STATE.batched = True
        STATE.fast_path_blockers += 1
        try:
            with super().run():
                yield
        finally:
            STATE.batched = before
            STATE.fast_path_blockers -= 1


class TangentsLevel(VmapLevel):
    """A `vmap` of tangents, as of the unit vectors of `jacfwd`: no primal is batched at it."""


class Level(Transform):
    """One run of a function that is differentiated."""

    wraps = True

    def __init__(self) -> None:
        self.caller_records = True  # whether the grad mode is on where results are handed over
        self.given: set[int] = set()  # the ids of arguments that are not differentiated
        self.arguments = Arguments()
        self.bases: set[int] = set()  # the ids of tensors of which inputs are views
        self._vmaps: tuple = ()  # the levels of `vmap` outside
        self._inputs: list = []  # the nodes of aliases of tensors with a graph
        self._originals: dict[int, tuple[Tensor, Tensor]] = {}
        self._graph = CallerGraph(self._is_of_caller, self._stands_for_input, self._for_caller)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Record a graph for the duration of a block, without hooks on saved tensors.

        Inference mode is off in it. Raises RuntimeError where there are hooks.
        """
        self.caller_records = STATE.enabled
        levels = [t for t in STATE.transforms if isinstance(t, VmapLevel)]
        self._vmaps = tuple(t for t in levels if not isinstance(t, TangentsLevel))
        STATE.fast_path_blockers += 1  # which does not note where tensors are made
        try:
            if any(transform.hooks for transform in STATE.transforms):
                raise RuntimeError(_HOOKS)
            with disable_saved_tensors_hooks(_HOOKS), super().run(), recorded():
                try:
                    yield
                finally:
                    self.arguments.lowered(self._lower)
        finally:
            STATE.fast_path_blockers -= 1

    def _lower(self, tensor: Tensor) -> None:
        """Take the history of this level from a tensor of the caller that was written."""
        root = tensor._grad_fn
        of_leaf = root is None and self._is_of_caller(tensor)
        edge = None if root is None else self._graph.edge(root, tensor._nr)
        if self.caller_records and edge is not None:
            tensor._node, tensor._nr = edge
        elif not (self.caller_records and of_leaf):
            tensor._node, tensor._nr, tensor._requires_grad = None, 0, False

    def hooked(self, hook: Callable) -> Callable:
        """A hook that runs in the passes of this level only."""

        @functools.wraps(hook, updated=())
        def of_level(gradient):
            inside = STATE.transforms and STATE.transforms[-1] is self
            return hook(gradient) if inside or self in STATE.passes else None

        return of_level

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Let a block be a pass of this level."""
        before = STATE.passes
        STATE.passes = (*before, self)
        try:
            yield
        finally:
            STATE.passes = before

    def has(self, tensor: Tensor) -> bool:
        """Whether the function has made a tensor, or is given it."""
        return made_or_given(self, tensor) or self.tracks(tensor)

    def raised(self, tree: Any) -> Any:
        """Aliases of the tensors of a tree that this level differentiates with respect to.

        Raises ValueError for a leaf that is no tensor.
        """
        return tree_map(self._alias, tree)

    def _alias(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        self.bases.update(map(id, memories((value,))))
        with recorded():
            every = value
            for level in self._vmaps:
                every = batched_tangents.lifted(every, level)
            every = in_front(batched_at(every, self._vmaps))
            source = physical(every)
            self.bases.update(map(id, memories((source,))))
            alias = self._physical_alias(source)
            self._originals[id(alias)] = alias, source
            if every is not source:
                alias = hidden(alias, every)
        self._originals[id(alias)] = alias, value
        return alias

    def _physical_alias(self, value: Tensor) -> Tensor:
        if value.is_inference():
            alias = inference_mode.as_normal(value.detach())._requiring_grad()
            alias._level = self
        elif gradient_edge(value) is not None:
            alias = alias_view(value)
            alias._view = None  # a wrapper is no view
            self._inputs.append(alias._grad_fn)
            alias._grad_fn._wrapper_of = self
            alias._grad_fn._leaf = grad_accumulator(value.detach()._requiring_grad())
        else:
            alias = value.detach()._requiring_grad()
            alias._level = self
            forward_grad.pass_on(value, alias)
        return alias

    def _leads_to(self, node: Any) -> bool:
        return super()._leads_to(node) or any(node is one for one in self._inputs)

    def _stands_for_input(self, node: Any) -> bool:
        return node._wrapper_of is self

    def lowered(self, tree: Any) -> Any:
        """The tensors of a tree of results, for the caller."""
        return tree_map(self._for_caller, tree)

    def held(self, tensor: Tensor) -> Tensor:
        """A tensor without the graph of this level."""
        return self._for_caller(tensor)

    def _for_caller(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not requires_grad(physical(value)):
            return value
        if id(value) in self._originals:
            return self._originals[id(value)][1]
        if isinstance(value, BatchedTensor):
            return hidden(self._for_caller(physical(value)), value)
        root = value._grad_fn
        if root is None:
            return value if self._is_of_caller(value) else self._unwrapped(value)
        edge = self._graph.edge(root, value._nr) if self.caller_records else None
        if edge == (root, value._nr):
            return value
        if edge is not None and isinstance(edge[0], AccumulateGrad):
            return edge[0].variable
        result = self._unwrapped(value)
        if edge is not None:
            result._node, result._nr = edge
        return result

    def _unwrapped(self, value: Tensor) -> Tensor:
        """The tensor that torch's wrapper holds: without the graph, and a view where it is one."""
        result = value.detach()
        forward_grad.pass_on(value, result, self._for_caller)
        if value._view is None:
            return result
        base = value._view.base
        if id(base) in self._originals:
            return as_view(result, self._originals[id(base)][1])
        return as_view(result, base if base in self.arguments else base.detach())

    def kept(self, output: Tensor) -> Tensor:
        """An output with its history at this level, which one of the arguments that are not
        differentiated loses when the function has ended."""
        value = physical(output)
        if value not in self.arguments or value._node is None:
            return output
        return hidden(alias_view(value), output)

    def _is_of_caller(self, leaf: Tensor) -> bool:
        level = getattr(leaf, "_level", None)
        if id(leaf) in self.arguments.flagged:
            return False
        if level is None:
            return not self.has_made(leaf)
        return level is not self and level.running
