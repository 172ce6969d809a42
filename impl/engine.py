"""The backward pass: which nodes run, in which order, and where the gradients go."""

from __future__ import annotations

import heapq
import itertools
from sys import getrefcount
from typing import Any

from numpy import asarray, generic, ndarray

from impl import anomaly, messages
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad
from impl.marks import shows
from impl.paths import reachable, waiting
from impl.steps import Steps
from impl.storage import reordered


class _Arrival:
    """What has arrived at a node: the sum for its only output, or a list of those for several."""

    __slots__ = ("made", "missing", "value")

    def __init__(self, node, missing: int) -> None:
        self.missing = missing  # how many gradients are yet to come
        self.made = 0  # how often the only sum was written in place
        self.value: Any = None if node._meta is not None else [None] * len(node._metas)


class Task(Steps):
    """One backward pass. Iterative: a chain of any length takes no stack."""

    _numbers = itertools.count(1)

    starts: tuple  # the nodes of the roots
    counts: dict  # how many gradients a node gets, if not one
    reached: set | None = None  # all nodes of the pass, once somebody asks

    def __init__(self, interpretation, keep_graph: bool) -> None:
        super().__init__(interpretation, keep_graph)
        self.number = next(self._numbers)  # by which others know the pass and keep nothing alive
        self.raw = not interpretation.records
        self.arrivals: dict = {}  # of nodes that get several, until they have
        self.callbacks: list = []  # what users want called when the pass is done

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
            if node._passes and straight and needed is None and node._run is not None:
                target = node._only
                if counts.get(target, 1) == 1:
                    if additions and (writes := additions.pop(node, 0)):
                        additions[target] = writes
                    node = target
                    continue
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
                    if isinstance(gradient, generic):
                        gradient = asarray(gradient)  # of which there can be views
                    passed = gradient
                if (target := node._only) is not None:
                    gradient = run(node, gradient, keep, wanted)
                    meta, plan = target._meta, node._plan
                    if orderly and not plan.fits and type(gradient) is ndarray:
                        orderly = gradient.flags.c_contiguous or not reordered(gradient)
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
                version = additions.pop(node, 0) if additions else 0
                accumulate(interpretation, node.variable, gradient, version)
                node = gradient = None
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
            if len(targets) > 1 and outputs[0] is outputs[-1] and marks is passed is None:
                first, last = targets[0], targets[-1]
                apart = first is not None and last is not None and first._meta != last._meta
                if apart and self.raw:
                    self._part(node, outputs)
            following = None
            # Whether a leaf, which would be next to run, takes its gradient without waiting; not if
            # another has to wait.
            soon = straight and needed is None and passed is None
            for i, target in enumerate(targets):
                if target is None:
                    continue
                value, outputs[i] = outputs[i], None
                meta = target._meta
                if value is None or (
                    marks is None
                    and passed is None
                    and (
                        (fitting is not None and meta is fitting)
                        or (
                            type(meta) is tuple
                            and type(value) is ndarray
                            and value.shape == meta[0]
                            and value.dtype is meta[1]
                        )
                        or type(value) is meta
                    )
                ):
                    made = 0
                else:
                    if marks is not None:
                        made = marks.writes(i, value)
                    else:
                        made = writes if passed is not None and shows(value, passed) else 0
                    expected = meta
                    if meta is None:  # it has several outputs
                        number = 0 if node._numbers is None else node._numbers[i]
                        expected = target._expected(number)
                    if not self._meets(value, expected):
                        value, made = self._refit(node, i, value, expected, made)
                leaf = type(target) is AccumulateGrad
                if (
                    soon
                    and target._shown is not None
                    and target._sequence == node._sequence - 1  # so that it is next
                    and type(target._only) is AccumulateGrad
                    and target._run is not None
                    and not (made or value is None or counts.get(target, 1) != 1)
                ):
                    # A leaf behind a view, as layers have of their weights.
                    shown, target, leaf = target, target._only, True
                    value, meta = shown._shown(value), target._meta
                    if (value.shape, value.dtype) != meta and not self._meets(value, meta):
                        value, made = self._refit(shown, 0, value, meta, 0)
                if orderly and not leaf and fitting is None and type(value) is ndarray:
                    orderly = value.flags.c_contiguous or not reordered(value)
                if made or meta is None or (target in counts and counts[target] != 1):
                    number = 0 if node._numbers is None else node._numbers[i]
                    if not join(target, value, made, number):
                        value = None
                        continue
                    value = None
                    value = arrivals.pop(target).value
                if leaf and soon and not target._hooked:
                    version = additions.pop(target, 0) if additions else 0
                    accumulate(interpretation, target.variable, value, version)
                    value = None
                    continue
                soon = soon and not leaf
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

    def _part(self, node, outputs: list) -> None:
        """Make the gradients fit that are one array for several inputs, but have to be summed.

        A leaf that takes the array as it is must not find it held for the others.
        """
        for i, target in enumerate(node._targets()):
            if target is not None and (value := outputs[i]) is not None:
                expected = target._expected(0 if node._numbers is None else node._numbers[i])
                if not self._meets(value, expected):
                    outputs[i] = self._refit(node, i, value, expected, 0)[0]

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
