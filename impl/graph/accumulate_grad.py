"""AccumulateGrad: the node of a leaf (csrc/autograd/functions/accumulate_grad.h)."""

from __future__ import annotations

import weakref

from impl.core.meta_arrays import is_meta
from impl.core.state import STATE
from impl.graph import anomaly_mode
from impl.graph.input_metadata import OnMeta, tensor_meta
from impl.graph.node import RUNS_FIRST, Node
from impl.graph.node_creation_hooks import created

# Those of leaves without elements: the gradients of a pass to them have strides, which NumPy does
# not keep.
OF_EMPTY_LEAVES: weakref.WeakSet = weakref.WeakSet()


class AccumulateGrad(Node):
    """The gradient accumulator of a leaf: accumulates incoming gradients into `variable.grad`."""

    __module__ = "builtins"  # as of a C++ class

    __slots__ = ("_meta", "variable")

    _sequence = RUNS_FIRST  # before every other node of the ready queue

    def __init__(self, variable) -> None:
        self.variable = variable
        # The metadata of the leaf at this moment: later changes of its shape do not count.
        self._meta = variable._dense_meta
        if self._meta is None or variable._grad_dtype is not ...:
            self._expect(variable)
        if not variable._raw.size:
            OF_EMPTY_LEAVES.add(self)
        if anomaly_mode.MODE.enabled:
            anomaly_mode.note(self)

    @property
    def _is_observed(self) -> bool:
        """Whether any hook is registered on the leaf or on this node."""
        leaf = self.variable
        return (
            leaf._hooks or leaf._post_accumulate or self._pre_hooks or self._post_hooks
        ) is not None

    def _hooks_of_outputs(self):
        hooks = self.variable._hooks
        return [(0, hooks)] if hooks else None

    def _expect(self, leaf) -> None:
        """Set the metadata of incoming gradients from the leaf and its `grad_dtype`."""
        wanted = leaf._grad_dtype
        if wanted is ...:
            self._meta = leaf._dense_meta or tensor_meta(leaf._raw)
        else:
            kind = OnMeta if is_meta(leaf._raw) else tuple
            self._meta = kind((leaf._raw.shape, wanted and wanted.numpy))


def grad_accumulator(leaf) -> AccumulateGrad:
    """The leaf's AccumulateGrad, created on demand; the leaf holds it weakly, graphs strongly."""
    reference = leaf._grad_accumulator
    if reference is None or (node := reference()) is None:
        node = AccumulateGrad(leaf)
        leaf._grad_accumulator = weakref.ref(node)
        if STATE.node_creation_hooks:
            created(node)
    return node
