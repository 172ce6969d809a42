"""The ready queue: nodes whose gradients are complete (ReadyQueue in csrc/autograd/engine.h)."""

from __future__ import annotations

import heapq
import itertools


class ReadyQueue:
    """A heap of nodes with their gradients: the node that was recorded last comes first.

    AccumulateGrad has the highest sequence number, so that leaves come before all operations. Of
    equal numbers the one that was pushed first comes first.
    """

    __slots__ = ("heap", "ties")

    def __init__(self) -> None:
        self.heap: list = []  # of (-sequence number, tie breaker, node, gradients)
        self.ties = itertools.count()

    def __bool__(self) -> bool:
        return bool(self.heap)

    def push(self, node, gradients) -> None:
        """Add a node with its gradient, or for several outputs the list of them."""
        heapq.heappush(self.heap, (-node._sequence, next(self.ties), node, gradients))

    def pop(self) -> tuple:
        """The next node and its gradients, which the queue no longer holds."""
        return heapq.heappop(self.heap)[2:]
