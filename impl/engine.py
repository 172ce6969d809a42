"""The backward pass: which nodes run, in which order, and where the gradients go."""

from __future__ import annotations

import heapq
import itertools
import warnings
import weakref
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from impl import anomaly, messages
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad, GradientEdge, gradient_edge, meets
from impl.hooks import retain_grad, run_node_hooks, run_post_accumulate, run_tensor_hooks
from impl.interpretation import expandable, interpreting
from impl.layouts import contiguous_format
from impl.marks import Marks, owner, place
from impl.modes import STATE
from impl.paths import leading, waiting
from impl.pending import Pending
from impl.stacks import nested
from impl.tensor import Tensor


class _Task:
    """One backward pass. Iterative: a chain of any length takes no stack."""

    _numbers = itertools.count(1)

    def __init__(self, interpretation, keep_graph: bool) -> None:
        self.number = next(self._numbers)  # by which others know the pass and keep nothing alive
        self.interpretation = interpretation
        self.keep_graph = keep_graph
        self.needed: dict | None = None  # with inputs: which nodes lead to one; None: all
        # How often a waiting gradient was written in place: its version, should it surface.
        self.additions: dict = {}
        self.marks: Any = None  # what the last step knew of writes to the gradients it made
        self.captures: dict = {}  # {node: [(output number, position of the input)]}
        self.captured: list = []

    # -- the pass ---------------------------------------------------------------------------

    def run(self, roots) -> None:
        """`roots` are (edge, gradient) in the caller's order.

        Of the nodes whose gradients are complete, the one recorded last runs first; leaves run at
        once (torch's queue). A buffer holds the gradient of a node's only output, or the list of
        those of several.
        """
        watched, keep = anomaly.MODE.enabled, self.keep_graph
        straight = not self.interpretation.records and not watched
        needed, additions = self.needed, self.additions
        buffers: dict = {}
        starts = dict.fromkeys(edge[0] for edge, _ in roots)
        counts = waiting(starts)
        self.starts, self.reached = starts, counts
        for (node, number), gradient in roots:
            self._deliver(buffers, node, number, gradient)
            counts[node] = -abs(counts[node])
        ready: list = []
        ties = itertools.count()
        for node in starts:
            if not counts[node]:
                heapq.heappush(ready, (-node.sequence, next(ties), node))

        def deliver(target, value) -> None:
            """`_deliver`, for the only output of a node."""
            if (held := buffers.get(target)) is None:
                buffers[target] = value
                return
            buffers[target] = None
            # Referenced by our name, and by the call's own.
            if straight and getrefcount(held) == 2 and held.base is None:
                held += value
                additions[target] = additions.get(target, 0) + 1
                buffers[target] = held
            else:
                buffers[target] = self._sum(held, value, target)

        # The node that got ready first, mostly the next to run, needs no queue.
        node = None
        wanted = None
        while True:
            if node is None:
                if not ready:
                    return
                node = heapq.heappop(ready)[2]
                gradient = buffers.pop(node, None)
            elif ready and ready[0][0] < -node.sequence:
                buffers[node] = gradient
                node = heapq.heappushpop(ready, (-node.sequence, next(ties), node))[2]
                gradient = buffers.pop(node, None)
            if needed is not None:
                if node not in needed:
                    node = None
                    continue
                wanted = None
                if node.only is None:
                    wanted = [target in needed for target in node.next]
            marks = None  # what is known of writes to the gradients that come out
            first = 0
            if (
                (run := node.run) is not None
                and straight
                and gradient is not None
                and (not additions or node not in additions or node.makes_gradient)
                and (needed is None or node not in self.captures)
            ):
                outputs = run(node, gradient, keep, wanted)
                gradient = None
                plan, fitting = node.plan, node.meta
                if not plan.fits:
                    fitting = None
                if (target := node.only) is None:
                    targets = node.next
                else:
                    meta = target.meta
                    if (
                        type(outputs) is meta
                        or (meta is fitting and meta is not None)
                        or (
                            type(outputs) is ndarray
                            and type(meta) is tuple
                            and outputs.shape == meta[0]
                            and outputs.dtype is meta[1]
                        )
                    ):
                        if counts[target] == 1:  # that is, nobody else sends anything there
                            if plan.made:
                                additions[target] = plan.made
                            node, gradient, outputs = target, outputs, None
                        else:
                            value, outputs = outputs, None
                            if plan.made and target not in buffers:
                                additions[target] = plan.made
                            deliver(target, value)
                            value = None
                            waits = counts[target]
                            # Negative once something has arrived.
                            waits = counts[target] = waits + 1 if waits < 0 else 1 - waits
                            node = None if waits else target
                            if node is not None:
                                gradient = buffers.pop(node)
                        continue
                    outputs, targets, first = [outputs], (target,), node.plan.single
            else:
                fitting = None
                grads = [gradient] if node.metas is None else gradient
                gradient = None
                if grads is None:
                    grads = [None] * len(node.metas)
                outputs = (self._watched if watched else self._step)(node, grads, wanted)
                grads = None
                if outputs is None:
                    node = None
                    continue
                marks = self.marks
                targets = node.next
            i = -1
            following = None
            for target in targets:
                i += 1
                if target is None:
                    continue
                value = outputs[i]
                if value is not None:
                    outputs[i] = None
                    meta = target.meta
                    if marks is None and (
                        type(value) is meta
                        or (meta is fitting and meta is not None)
                        or (
                            type(value) is ndarray
                            and type(meta) is tuple
                            and value.shape == meta[0]
                            and value.dtype is meta[1]
                        )
                    ):
                        if following is None and counts[target] == 1:
                            # Nobody else sends anything there, so it needs no buffer.
                            following, gradient, value = target, value, None
                            continue
                        deliver(target, value)
                    else:
                        edge = first + i
                        number = 0 if node.numbers is None else node.numbers[edge]
                        made = marks.writes(edge, value) if marks is not None else 0
                        meta = target.expected(number)
                        if not self._meets(value, meta):
                            value, made = self._refit(node, edge, value, meta, made)
                        self._deliver(buffers, target, number, value, made)
                    value = None
                waits = counts[target]
                waits = counts[target] = waits + 1 if waits < 0 else 1 - waits
                if not waits:
                    if following is None:
                        following = target
                        gradient = buffers.pop(target, None)
                    elif target.sequence > following.sequence:
                        buffers[following] = gradient
                        heapq.heappush(ready, (-following.sequence, next(ties), following))
                        following = target
                        gradient = buffers.pop(target, None)
                    else:
                        heapq.heappush(ready, (-target.sequence, next(ties), target))
            node = following

    def _deliver(self, buffers, node, number: int, gradient, made: int = 0) -> None:
        """Put a gradient, which was written `made` times, into a node's buffer, or add it."""
        if node.metas is None:
            held = buffers.get(node)
            buffers[node] = None
        else:
            buffer = buffers.get(node)
            if buffer is None:
                buffer = buffers[node] = [None] * len(node.metas)
            held = buffer[number]
            buffer[number] = None
        if held is not None:
            gradient = self._sum(held, gradient, place(node, number))
        elif made:
            self.additions[place(node, number)] = made
            if self.interpretation.records:  # a tensor, which nodes may pass on as it is
                gradient._storage.version = made
        if node.metas is None:
            buffers[node] = gradient
        else:
            buffer[number] = gradient

    def _sum(self, held, value, where):
        """Two gradients for the same place: in place, if nobody else holds the first."""
        # Referenced by the caller's name and ours, and by the call's own.
        if self.interpretation.unshared(held, 3) and held.base is None:
            held += value
            self.additions[where] = self.additions.get(where, 0) + 1
            return held
        self.additions.pop(where, None)
        return self.interpretation.add(held, value)

    def _meets(self, value, meta) -> bool:
        return meets(value._raw if self.interpretation.records else value, meta)

    def _marks(self, node, grads):
        """What is known of writes to gradients at this node; None if nothing."""
        versions = node.versions
        carried: tuple = ()
        if self.additions and not node.makes_gradient:
            carried = tuple(
                (weakref.ref(owner(g)), self.additions[place(node, number)])
                for number, g in enumerate(grads)
                if type(g) is ndarray and place(node, number) in self.additions
            )
        if versions is None and not carried:
            return None
        return Marks(versions, carried, [g is not None for g in grads])

    def _watched(self, node, grads, wanted):
        """`_step` in anomaly mode: what it raises is reported, and NaN raises."""
        with anomaly.watch(node):
            outputs = self._step(node, grads, wanted)
            if outputs is not None:
                anomaly.check(node, outputs)
            return outputs

    def _step(self, node, grads, wanted):
        """Run one node with its hooks; None if it is only captured, not run."""
        runs = self.needed is None or self.needed[node]
        if runs and self.captures:
            # What passes through is captured before the tensor's own hooks, what ends here after.
            self._capture(node, grads)
        hooks = node.hooks_of_outputs()
        if hooks or node.retained:
            self._tensor_hooks(node, hooks, grads, runs)
        if not runs:
            self._capture(node, grads)
            return None
        if node.pre_hooks:
            arrived = tuple(self._at(node, i, g) for i, g in enumerate(grads))
            results = run_node_hooks(node.pre_hooks, arrived)
            grads[:] = [self._put(node, i, g, True) for i, g in enumerate(results)]
            del arrived, results
        if type(node) is AccumulateGrad:
            self._accumulate(node, grads)
            return None
        if node.authored:
            outputs, shown = self._run_author(node, grads, wanted)
            marks = self.marks
        else:
            self.marks = marks = self._marks(node, grads)
            outputs = node.evaluate(grads, self.interpretation, wanted)
            shown = tuple(self._lift(g) for g in grads) if node.post_hooks else None
        if node.post_hooks:
            inputs = self._as_inputs(node, outputs, marks)
            left = list(run_node_hooks(node.post_hooks, inputs, shown))
            writes = {i: _writes(g) for i, g in enumerate(left) if g is not None}
            self.marks = Marks(writes, (), ())
            # So that nobody holds them any longer but who kept them.
            del outputs, inputs, shown
            outputs = self.interpretation.lower_all(left)
        if node.authored:  # who may return one for a tensor that requires none
            outputs = [v if target else None for v, target in zip(outputs, node.next, strict=True)]
        if not self.keep_graph:
            node.release()
        return outputs

    def _accumulate(self, node, grads) -> None:
        leaf, version = node.variable, self.additions.pop(node, 0)
        shown = list(grads) if node.post_hooks else None
        accumulate(self.interpretation, leaf, grads, version, 0 if shown is None else 1)
        if leaf._post_accumulate:
            run_post_accumulate(leaf)
        if shown is not None:
            run_node_hooks(node.post_hooks, (), tuple(self._lift(g) for g in shown))

    def will_run(self, node) -> bool:
        """Whether the pass runs a node, or captures what arrives there.

        As in torch a single root is not counted. Raises RuntimeError for a leaf that is captured.
        """
        if node not in self.reached or (len(self.starts) == 1 and node in self.starts):
            return False
        if self.needed is None:
            return True
        if node in self.captures and not node.next:
            raise RuntimeError(messages.CAPTURED_LEAF)
        return node in self.needed and (self.needed[node] or node in self.captures)

    def _capture(self, node, grads) -> None:
        for number, position in self.captures.get(node, ()):
            self.captured[position] = self._result(node, number, grads[number])

    def _run_author(self, node, grads: list, wanted):
        """What a Function makes of gradients, which are taken from the list, and they for hooks.

        What is returned is made to fit, or refused, before anything is freed.
        """
        grads[:] = [self._at(node, i, g) for i, g in enumerate(grads)]
        shown = tuple(grads) if node.post_hooks else None
        values = node.evaluate(grads, self.interpretation, wanted)
        for i, (target, number) in enumerate(node.next_functions):
            if target is None or values[i] is None:
                continue
            meta = target.expected(number)
            if not self._meets(values[i], meta):
                values[i] = self._fit(node, i, values[i], meta)
                node.versions[i] = 0
        self.marks = Marks(node.versions, (), ()) if any(node.versions.values()) else None
        return values, shown

    def _refit(self, node, position: int, value, meta, made: int):
        """`_fit`, and how often the result was written if `value` was `made` times: a real part is
        a view, all else is new."""
        fitted = self._fit(node, position, value, meta)
        view = made and isinstance(fitted, ndarray) and owner(fitted) is owner(value)
        return fitted, made if view else 0

    def _fit(self, node, position: int, value, meta):
        """Reduce a broadcast gradient to its input's shape, and cast it to its dtype."""
        if self._meets(value, meta):
            return value
        expected, wanted = meta if type(meta) is tuple else ((), np.dtype(meta))
        shape, dtype = self.interpretation.shape_dtype(value)
        if not expandable(expected, shape):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {position} - "
                f"got {list(shape)} but expected shape compatible with {list(expected)}"
            )
        if wanted is None:  # a leaf may take any
            wanted = dtype
        if dtype.kind == "c" and wanted.kind != "c" and node.takes_real_part:
            value = self.interpretation.F.real_part(value)
            dtype = self.interpretation.shape_dtype(value)[1]
        # A real gradient suits a complex input, an integer one does not.
        if dtype.kind in "biuc" and (dtype.kind == "c") != (wanted.kind == "c"):
            raise RuntimeError(messages.COMPLEX_GRADIENT)
        if shape != expected:
            value = self.interpretation.sum_to(value, expected)
        if dtype != wanted:
            value = self.interpretation.cast(value, wanted)
        return value

    # -- hooks ------------------------------------------------------------------------------

    def _result(self, node, number: int, value):
        if value is None:
            return None
        result = self.interpretation.result(value)
        if (key := place(node, number)) in self.additions:
            result._storage.version = self.additions[key]
        return result

    def _lift(self, value):
        return None if value is None else self.interpretation.lift(value)

    def _lower(self, value):
        # Not remembered as given: if no hook kept the tensor, the leaf may take the array over.
        if value is None or self.interpretation.records:
            return value
        return self.interpretation.adopt(value) if isinstance(value, Pending) else value._raw

    def _tensor_hooks(self, node, hooks, grads, runs: bool):
        for number, registered in hooks or ():
            if registered:
                result = run_tensor_hooks(registered, self._at(node, number, grads[number]))
                grads[number] = self._put(node, number, result, runs)
                result = None
        for number, reference in (node.retained or {}).items():
            tensor, gradient = reference(), self._lift(grads[number])
            if tensor is not None and gradient is not None:
                held = tensor._grad
                if held is None:
                    tensor._grad = gradient.clone(memory_format=contiguous_format)
                else:
                    tensor._grad = held + gradient

    def _at(self, node, number: int, value):
        """The gradient that arrived at an output, as a tensor with its version."""
        gradient = self._lift(value)
        if (key := place(node, number)) in self.additions:
            gradient._storage.version = self.additions[key]
        return gradient

    def _put(self, node, number: int, result, runs: bool):
        """What hooks left of a gradient, as it goes on; what is captured is that very tensor."""
        self.additions.pop(place(node, number), None)
        if result is None:
            return None
        if _writes(result):
            self.additions[place(node, number)] = _writes(result)
        return self._lower(result) if runs else self.interpretation.lower(result)

    def _as_inputs(self, node, outputs, marks) -> tuple:
        """The gradients for a node's edges as they go on: fitted, as tensors with versions."""
        inputs = []
        for i, (value, (target, number)) in enumerate(
            zip(outputs, node.next_functions, strict=True)
        ):
            made = 0
            if value is not None and target is not None:
                made = marks.writes(i, value) if marks is not None else 0
                if not self._meets(value, target.expected(number)):
                    value, made = self._refit(node, i, value, target.expected(number), made)
            gradient = self._lift(value)
            if made:
                gradient._storage.version = made
            inputs.append(gradient)
        return tuple(inputs)


def _writes(gradient: Tensor) -> int:
    """How often a gradient was written, as far as it is counted."""
    return 0 if gradient._uncounted else gradient._version


# -- the call -------------------------------------------------------------------------------


def run_alone(node, grads):
    """Run a node's formula on one tensor or None per output, recording in grad mode.

    Returns one gradient or None per edge, a single one by itself. No hook is called and nothing is
    freed; a leaf's node accumulates. Raises TypeError for another number of gradients.
    """
    if len(grads) != node.width:
        raise TypeError(f"expected {node.width} arguments, got {len(grads)} instead")
    interpretation = interpreting(STATE.enabled)
    lowered = [None if g is None else interpretation.lower(g) for g in grads]
    if isinstance(node, AccumulateGrad):
        accumulate(interpretation, node.variable, lowered, 0)
        if node.variable._post_accumulate:
            run_post_accumulate(node.variable)
        return ()
    outputs = node.evaluate(lowered, interpretation, None)
    results = tuple(None if value is None else interpretation.lift(value) for value in outputs)
    return results[0] if len(results) == 1 else results


def execute(tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool) -> list:
    """Run a pass from `tensors`, with their cotangents, to `inputs` (None: to all leaves).

    Returns the gradients of the inputs, or None where nothing arrived; with `accumulate` they go
    to the inputs' `.grad` instead. Raises RuntimeError for a root or an input that does not require
    grad, and whatever a formula or a hook raises.
    """
    return nested(_execute, tensors, cotangents, keep_graph, create_graph, inputs, accumulate)


def _execute(tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool) -> list:
    interpretation = interpreting(create_graph)
    roots = []
    previous = STATE.grad_mode, STATE.task, STATE.whole
    STATE.grad_mode = bool(create_graph)
    STATE.task = task = _Task(interpretation, keep_graph)
    STATE.whole = previous[-1] and inputs is None
    try:
        for i, (tensor, cotangent) in enumerate(zip(tensors, cotangents, strict=True)):
            edge = _edge(tensor)
            if edge is None:
                raise RuntimeError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn"
                )
            if cotangent is None:
                raise RuntimeError(f"element {i} of gradients tuple is None")
            lowered = interpretation.lower(cotangent)
            dtype = edge[0].dtype_of(edge[1])
            if dtype is not None and cotangent._raw.dtype != dtype:
                lowered = interpretation.cast(lowered, dtype)
            roots.append((edge, lowered))
        if inputs is not None:
            _aim(task, roots, inputs, accumulate)
        if accumulate and create_graph:
            warnings.warn(messages.CREATE_GRAPH, UserWarning, stacklevel=3)
        task.run(roots)
        return task.captured
    finally:
        STATE.grad_mode, STATE.task, STATE.whole = previous


def _edge(tensor):
    """The (node, output number) of a tensor or of a GradientEdge."""
    return tensor[:2] if isinstance(tensor, GradientEdge) else gradient_edge(tensor)


def _aim(task: _Task, roots, inputs, accumulate: bool) -> None:
    targets = []
    for position, tensor in enumerate(inputs):
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}"
            )
        if isinstance(tensor, GradientEdge):
            pass  # there is no tensor that could keep a gradient
        elif accumulate:
            if tensor.grad_fn is not None or not tensor.requires_grad:
                retain_grad(tensor)
        elif not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edge = _edge(tensor)
        if edge is not None:
            targets.append(edge[0])
            if not accumulate:
                task.captures.setdefault(edge[0], []).append((edge[1], position))
    if not accumulate:
        task.captured = [None] * len(inputs)
    task.needed = leading([edge[0] for edge, _ in roots], targets, accumulate)
