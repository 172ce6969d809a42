"""The backward pass: which nodes run, in which order, and where the gradients go."""

from __future__ import annotations

import heapq
import itertools
import weakref
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from impl import anomaly, messages
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad, meets
from impl.hooks import run_node_hooks, run_post_accumulate, run_tensor_hooks
from impl.layouts import contiguous_format
from impl.marks import Marks, owner, place, shows
from impl.paths import reachable, waiting
from impl.pending import Pending
from impl.sizes import repeated_dims
from impl.storage import reordered
from impl.tensor import Tensor


class _Arrival:
    """What has arrived at a node: the sum for its only output, or a list of those for several."""

    __slots__ = ("made", "missing", "value")

    def __init__(self, node, missing: int) -> None:
        self.missing = missing  # how many gradients are yet to come
        self.made = 0  # how often the only sum was written in place
        self.value: Any = None if node._meta is not None else [None] * len(node._metas)


class Task:
    """One backward pass. Iterative: a chain of any length takes no stack."""

    _numbers = itertools.count(1)

    starts: Any  # the nodes of the roots
    counts: dict  # how many gradients a node gets, if not one
    needed: dict | None = None  # with inputs: which nodes lead to one; None: all
    reached: set | None = None  # all nodes of the pass, once somebody asks
    marks: Any = None  # what the last step knew of writes to the gradients it made

    def __init__(self, interpretation, keep_graph: bool) -> None:
        self.number = next(self._numbers)  # by which others know the pass and keep nothing alive
        self.interpretation = interpretation
        self.keep_graph = keep_graph
        self.raw = not interpretation.records
        self.arrivals: dict = {}  # of nodes that get several, until they have
        # How often a complete gradient was written in place: its version, should it surface.
        self.additions: dict = {}
        self.captures: dict = {}  # {node: [(output number, position of the input)]}
        self.captured: list = []

    # -- the pass ---------------------------------------------------------------------------

    def run(self, roots) -> None:
        """`roots` are (edge, gradient) in the caller's order.

        Of the nodes whose gradients are complete, the one recorded last runs first; leaves run at
        once (torch's queue).
        """
        watched, keep = anomaly.MODE.enabled, self.keep_graph
        interpretation = self.interpretation
        straight = not interpretation.records and not watched
        needed, additions, arrivals = self.needed, self.additions, self.arrivals
        ties = itertools.count()
        ready: list = []
        # The node to run next, and one that waits: mostly there are no more, and no need to queue.
        node = gradient = spare = spared = wanted = None
        (node, number), gradient = roots[0] if len(roots) == 1 else ((None, 0), None)
        if node is not None and node._meta is not None:
            # Nothing else arrives at a single root: none is reached from itself.
            self.starts = (node,)
            self.counts = waiting(self.starts)
        else:
            node = gradient = None
            self._start(roots, ready, ties)
        counts, join = self.counts, self._join
        # Whether all gradients have their dimensions in row-major order, as most have. Where not,
        # an element-wise formula has to see to the order.
        orderly = straight and not any(type(g) is ndarray and reordered(g) for _, g in roots)
        while True:
            if spare is not None:
                if node is None:
                    node, gradient, spare, spared = spare, spared, None, None
                elif spare._sequence > node._sequence:
                    node, gradient, spare, spared = spare, spared, node, gradient
            elif ready:
                if node is not None and ready[0][0] < -node._sequence:
                    heapq.heappush(ready, (-node._sequence, next(ties), node, gradient))
                    node = gradient = None
                if node is None:
                    node, gradient = heapq.heappop(ready)[2:]
            elif node is None:
                return
            if needed is not None:
                if node not in needed:
                    node = gradient = None
                    continue
                wanted = None
                if node._only is None:
                    wanted = [target in needed for target in node._branches]
            marks = fitting = passed = None  # what is known of the gradients that come out
            if (
                (run := node._run) is not None
                and straight
                and gradient is not None
                and (needed is None or node not in self.captures)
                and (
                    orderly
                    or type(gradient) is not ndarray
                    or not node._operator.ordered
                    or not reordered(gradient)
                )
            ):
                if additions and (writes := additions.pop(node, 0)) and not node._makes_gradient:
                    passed = gradient
                if (target := node._only) is not None:
                    gradient = run(node, gradient, keep, wanted)
                    meta, plan = target._meta, node._plan
                    if orderly and not plan.fits and type(gradient) is ndarray:
                        orderly = not reordered(gradient)
                    if (
                        (meta is node._meta and plan.fits)
                        or type(gradient) is meta
                        or (
                            type(gradient) is ndarray
                            and type(meta) is tuple
                            and gradient.shape == meta[0]
                            and gradient.dtype is meta[1]
                        )
                    ):
                        made = plan.made
                        if passed is not None:
                            if shows(gradient, passed):
                                made = writes
                            passed = None
                        # Nobody else sends anything there.
                        if target not in counts or counts[target] == 1:
                            if made:
                                additions[target] = made
                            node = target
                        elif join(target, gradient, made):
                            node, gradient = target, arrivals.pop(target).value
                        else:
                            node = gradient = None
                        continue
                    targets = node._targets()
                    outputs = [None] * len(targets)
                    outputs[plan.single] = gradient
                else:
                    outputs = run(node, gradient, keep, wanted)
                    targets = node._branches
                    if node._plan.fits:
                        fitting = node._meta
                gradient = None
            elif straight and needed is None and type(node) is AccumulateGrad and not node._hooked:
                # Only the list holds it, so that the leaf may take it over.
                arrived, gradient = [gradient], None
                accumulate(interpretation, node.variable, arrived, additions.pop(node, 0))
                node = None
                continue
            else:
                grads = [gradient] if node._meta is not None else gradient
                gradient = None
                if grads is None:
                    grads = [None] * len(node._metas)
                outputs = (self._watched if watched else self._step)(node, grads, wanted)
                grads = None
                if outputs is None:
                    node = None
                    continue
                marks = self.marks
                targets = node._targets()
            following = None
            for i, target in enumerate(targets):
                if target is None:
                    continue
                value, outputs[i] = outputs[i], None
                meta = target._meta
                if value is None or (
                    marks is None
                    and passed is None
                    and (
                        (meta is fitting and meta is not None)
                        or type(value) is meta
                        or (
                            type(value) is ndarray
                            and type(meta) is tuple
                            and value.shape == meta[0]
                            and value.dtype is meta[1]
                        )
                    )
                ):
                    made = 0
                else:
                    if marks is not None:
                        made = marks.writes(i, value)
                    else:
                        made = writes if passed is not None and shows(value, passed) else 0
                    expected = target._expected(0 if node._numbers is None else node._numbers[i])
                    if not self._meets(value, expected):
                        value, made = self._refit(node, i, value, expected, made)
                if made or meta is None or counts.get(target, 1) != 1:
                    number = 0 if node._numbers is None else node._numbers[i]
                    if not join(target, value, made, number):
                        value = None
                        continue
                    value = None
                    value = arrivals.pop(target).value
                if (
                    type(target) is AccumulateGrad
                    and straight
                    and needed is None
                    and type(following) is not AccumulateGrad
                    and not target._hooked
                ):  # which would run next, as leaves do
                    arrived, value = [value], None
                    accumulate(interpretation, target.variable, arrived, additions.pop(target, 0))
                    continue
                if orderly and fitting is None and type(value) is ndarray:
                    orderly = not reordered(value)
                if following is None:
                    following, gradient = target, value
                else:
                    if target._sequence > following._sequence:
                        following, target, gradient, value = target, following, value, gradient
                    if spare is None and not ready:
                        spare, spared = target, value
                    else:
                        if spare is not None:
                            heapq.heappush(ready, (-spare._sequence, next(ties), spare, spared))
                            spare = spared = None
                        heapq.heappush(ready, (-target._sequence, next(ties), target, value))
                value = None
            node, passed = following, None

    def _start(self, roots, ready: list, ties) -> None:
        """Count what each node waits for, and queue the roots for which nothing else does."""
        starts = self.starts = tuple(dict.fromkeys(edge[0] for edge, _ in roots))
        counts = self.counts = waiting(starts)
        for (node, _), _ in roots:
            counts[node] += 1
        for (node, number), gradient in roots:
            self._join(node, gradient, 0, number)
        for node in starts:
            if not self.arrivals[node].missing:
                entry = -node._sequence, next(ties), node, self.arrivals.pop(node).value
                heapq.heappush(ready, entry)

    def _join(self, node, gradient, made: int, number: int = 0) -> bool:
        """Add a gradient, which was written `made` times, to what has arrived at a node.

        Returns whether that was the last.
        """
        arrival = self.arrivals.get(node)
        if arrival is None:
            arrival = self.arrivals[node] = _Arrival(node, self.counts.get(node, 1))
        arrival.missing -= 1
        if gradient is None:
            pass
        elif node._meta is None:
            self._join_output(arrival.value, node, number, gradient, made)
        elif arrival.value is None:
            arrival.value, arrival.made = gradient, made
            if made and self.interpretation.records:  # a tensor, which nodes may pass on as it is
                gradient._storage.version = made
        # Referenced by the arrival, and by the call's own.
        elif self.raw and getrefcount(arrival.value) == 2 and arrival.value.base is None:
            arrival.value += gradient
            arrival.made += 1
        else:
            arrival.value, arrival.made = self.interpretation.add(arrival.value, gradient), 0
        if arrival.missing:
            return False
        if arrival.made:
            self.additions[node] = arrival.made
        return True

    def _join_output(self, held: list, node, number: int, gradient, made: int) -> None:
        """`_join` for one of several outputs, whose gradients are `held`."""
        writes = self.additions
        if held[number] is None:
            held[number] = gradient
            if made:
                writes[node, number] = made
                if self.interpretation.records:
                    gradient._storage.version = made
        elif self.raw and getrefcount(held[number]) == 2 and held[number].base is None:
            held[number] += gradient
            writes[node, number] = writes.get((node, number), 0) + 1
        else:
            writes.pop((node, number), None)
            held[number] = self.interpretation.add(held[number], gradient)

    def _meets(self, value, meta) -> bool:
        return meets(value._raw if self.interpretation.records else value, meta)

    def _marks(self, node, grads):
        """What is known of writes to gradients at this node; None if nothing."""
        versions = node._versions
        carried: tuple = ()
        if self.additions and not node._makes_gradient:
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
        hooks = node._hooks_of_outputs()
        if hooks or node._retained:
            self._tensor_hooks(node, hooks, grads, runs)
        if not runs:
            self._capture(node, grads)
            return None
        if node._pre_hooks:
            arrived = tuple(self._at(node, i, g) for i, g in enumerate(grads))
            results = run_node_hooks(node._pre_hooks, arrived)
            grads[:] = [self._put(node, i, g, True) for i, g in enumerate(results)]
            del arrived, results
        if type(node) is AccumulateGrad:
            self._accumulate(node, grads)
            return None
        if node._authored:
            outputs, shown = self._run_author(node, grads, wanted)
            marks = self.marks
        else:
            self.marks = marks = self._marks(node, grads)
            outputs = node._evaluate(grads, self.interpretation, wanted)
            shown = tuple(self._lift(g) for g in grads) if node._post_hooks else None
        if node._post_hooks:
            inputs = self._as_inputs(node, outputs, marks)
            left = list(run_node_hooks(node._post_hooks, inputs, shown))
            writes = {i: _writes(g) for i, g in enumerate(left) if g is not None}
            self.marks = Marks(writes, (), ())
            # So that nobody holds them any longer but who kept them.
            del outputs, inputs, shown
            outputs = self.interpretation.lower_all(left)
        if node._authored:  # who may return one for a tensor that requires none
            outputs = [
                v if target else None for v, target in zip(outputs, node._targets(), strict=True)
            ]
        if not self.keep_graph:
            node._release()
        return outputs

    def _accumulate(self, node, grads) -> None:
        leaf, version = node.variable, self.additions.pop(node, 0)
        shown = list(grads) if node._post_hooks else None
        accumulate(self.interpretation, leaf, grads, version, 0 if shown is None else 1)
        if leaf._post_accumulate:
            run_post_accumulate(leaf)
        if shown is not None:
            run_node_hooks(node._post_hooks, (), tuple(self._lift(g) for g in shown))

    def will_run(self, node) -> bool:
        """Whether the pass runs a node, or captures what arrives there.

        As in torch a single root is not counted. Raises RuntimeError for a leaf that is captured.
        """
        if self.reached is None:
            self.reached = reachable(self.starts)
        if node not in self.reached or (len(self.starts) == 1 and node in self.starts):
            return False
        if self.needed is None:
            return True
        if node in self.captures and not node._targets():
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
        shown = tuple(grads) if node._post_hooks else None
        values = node._evaluate(grads, self.interpretation, wanted)
        for i, (target, number) in enumerate(node.next_functions):
            if target is None or values[i] is None:
                continue
            meta = target._expected(number)
            if not self._meets(values[i], meta):
                values[i] = self._fit(node, i, values[i], meta)
                node._versions[i] = 0
        self.marks = Marks(node._versions, (), ()) if any(node._versions.values()) else None
        return values, shown

    def _refit(self, node, position: int, value, meta, made: int):
        """`_fit`, and how often the result was written if `value` was `made` times: a real part is
        a view, all else is new."""
        fitted = self._fit(node, position, value, meta)
        view = made and isinstance(fitted, ndarray) and owner(fitted) is owner(value)
        return fitted, made if view else 0

    def _fit(self, node, position: int, value, meta):
        """Reduce a broadcast gradient to its input's shape, and cast it to its dtype."""
        expected, wanted = meta if type(meta) is tuple else ((), np.dtype(meta))
        shape, dtype = self.interpretation.shape_dtype(value)
        if shape != expected and repeated_dims(expected, shape) is None:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {position} - "
                f"got {list(shape)} but expected shape compatible with {list(expected)}"
            )
        if dtype is wanted or wanted is None:  # a leaf may take any
            return value if shape == expected else self.interpretation.sum_to(value, expected)
        if dtype.kind == "c" and wanted.kind != "c" and node._takes_real_part:
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
        for number, reference in (node._retained or {}).items():
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
                if not self._meets(value, target._expected(number)):
                    value, made = self._refit(node, i, value, target._expected(number), made)
            gradient = self._lift(value)
            if made:
                gradient._storage.version = made
            inputs.append(gradient)
        return tuple(inputs)


def _writes(gradient: Tensor) -> int:
    """How often a gradient was written, as far as it is counted."""
    return 0 if gradient._uncounted else gradient._version
