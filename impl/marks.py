"""How often gradients were written while they were made: their version, should they surface."""

from __future__ import annotations

from numpy import ndarray

from impl.pending import source_of
from impl.storage import Memory


def place(node, number: int):
    """The key under which a gradient waits: its node, or if that has several outputs the pair."""
    return node if node._metas is None else (node, number)


class Marks:
    """How often the gradients that a node's formulas return were written, which is their version.

    `versions` are the formulas' own writes by edge, `carried` the incoming gradients that had been
    written, which a formula may pass on, or make views of.
    """

    def __init__(self, versions, carried, arrived) -> None:
        self.versions = versions or {}
        self.carried = carried
        self.arrived = arrived

    def writes(self, edge: int, value) -> int:
        """How often `value`, the gradient for an edge, was written."""
        made = self.versions.get(edge, 0)
        if callable(made):
            made = int(made(self.arrived, value))
        for reference, count in self.carried:
            passed = reference()
            if passed is not None and shows(value, passed):
                made = count
        return made


def shows(value, gradient) -> bool:
    """Whether an outgoing gradient is an incoming one, or a view of its memory."""
    if value is gradient:
        return True
    value, gradient = _origin(value), _origin(gradient)
    return isinstance(value, ndarray) and owner(value) is owner(gradient)


def _origin(value):
    """What a value conjugates, or negates, that is not computed yet; else the value."""
    source = source_of(value)
    return value if source is None else source[0]


def owner(array: ndarray) -> ndarray:
    """The array whose memory an array shows, through any number of views; itself if its own."""
    while (base := array.base) is not None:
        base = base.owner if isinstance(base, Memory) else base
        if not isinstance(base, ndarray):
            break
        array = base
    return array
