"""Gradient versions: how often a gradient was written in place since it was made.

PyTorch counts writes on the storage of a gradient, which shows as the `_version` of a `.grad` that
was taken over, of the gradient that a hook receives, and of the results of `autograd.grad`.
Gradients of an ordinary pass are bare arrays here, or NumPy scalars, which have neither counters
nor an identity. So a version is noted where the gradient waits: `GraphTask.versions` maps the slot
of a node's input buffer to the version of the gradient in it, and lacks those that are 0.
"""

from __future__ import annotations

import weakref

from numpy import generic, ndarray

from impl.core.state import STATE
from impl.core.storage import Memory
from impl.tensor.lazy_conj import SOURCES, source_of
from impl.tensor.tensor import Tensor


def buffer_slot(node, number: int):
    """The slot of the gradient of output `number`: the node, or with several outputs the pair."""
    return node if node._metas is None else (node, number)


class OutgoingVersions:
    """The versions of the gradients that a node's formulas have returned.

    `written` are the formulas' own writes by edge; `passed` holds the incoming gradients that had
    been written, which a formula may pass on, or make views of: (weak reference, version), of NumPy
    scalars (id, version), since an outgoing gradient is made while the incoming ones exist;
    `arrived` says which outputs' gradients came in.
    """

    __slots__ = ("arrived", "passed", "written")

    def __init__(self, written: dict | None, passed: tuple = (), arrived=()) -> None:
        self.written = written or {}
        self.passed = passed
        self.arrived = arrived

    @classmethod
    def passing_on(cls, gradient, version: int) -> OutgoingVersions:
        """Those of a node whose formulas write nothing and got one gradient of a version."""
        return cls(None, ((_reference(gradient), version),))

    def of(self, edge: int, value) -> int:
        """The version of `value`, the gradient for an edge."""
        version = self.written.get(edge, 0)
        if callable(version):
            version = int(version(self.arrived, value))
        for reference, incoming in self.passed:
            if isinstance(reference, int):
                same = id(value) == reference
            else:
                gradient = reference()
                same = gradient is not None and aliases(value, gradient)
            if same:
                version = incoming
        return version


def outgoing_versions(versions: dict, node, grads: list) -> OutgoingVersions | None:
    """What `node` will make of the versions of its incoming gradients; None: all are 0.

    Under `allow_mutation_on_saved_tensors`, a dispatch mode, the kernels' writes are not counted.
    """
    if STATE.before_write is not None:
        return OutgoingVersions(None)
    written = node._versions
    passed: tuple = ()
    if versions and not node._makes_gradient:
        passed = tuple(
            (_reference(g), versions[buffer_slot(node, number)])
            for number, g in enumerate(grads)
            if isinstance(g, ndarray | generic) and buffer_slot(node, number) in versions
        )
    if written is None and not passed:
        return None
    return OutgoingVersions(written, passed, [g is not None for g in grads])


def _reference(gradient):
    """The id of a NumPy scalar, a weak reference to the memory of an array."""
    return (
        id(gradient) if isinstance(gradient, generic) else weakref.ref(owner(_conjugated(gradient)))
    )


def version_of_tensor(gradient: Tensor) -> int:
    """The version of a gradient that is a tensor; 0 for an inference tensor, which has none."""
    return 0 if gradient._uncounted else gradient._version


def aliases(value, gradient) -> bool:
    """Whether an outgoing gradient is an incoming one, or a view of its memory."""
    if value is gradient:
        return True
    if SOURCES:
        value, gradient = _conjugated(value), _conjugated(gradient)
    return isinstance(value, ndarray) and owner(value) is owner(gradient)


def _conjugated(value):
    """The array that a lazily conjugated, or negated, value stands for; else the value."""
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
