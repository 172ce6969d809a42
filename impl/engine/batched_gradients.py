"""Gradients of a pass over a batch of seeds (`is_grads_batched`)."""

from __future__ import annotations

from typing import Any

from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.engine.gradient_values import RECORDING, ArrayGradients, RecordingGradients
from impl.tape.saved_variable import SavedVariable
from impl.tensor.legacy_batched_tensor import batch, examples_of, holds


class BatchedGradients(RecordingGradients):
    """Gradients are batches; nodes evaluate their formulas for each example, in the usual way."""

    def __init__(self, size: int, records: bool) -> None:
        kind: Any = RecordingGradients if records else ArrayGradients
        self.each = [kind() for _ in range(size)]
        for one in self.each:
            one.unpack = self._unpacked
        self._once = kind.unpack
        self._values: dict = {}  # the unpacked saved variables of the node that runs

    def evaluate(self, node, grads: list, wanted):
        """The gradients that a node returns, by edge: batches, or None where there is none."""
        if node._is_custom_function:
            return node._evaluate(grads, self, wanted)
        if not holds(grads):  # the same for all examples
            return RECORDING.evaluate(node, grads, wanted)
        self._values.clear()
        rows = []
        every = zip(*[examples_of(g, len(self.each)) for g in grads], strict=True)
        for one, example in zip(self.each, every, strict=True):
            given = [None if g is None else one.to_array(g) for g in example]
            found = node._evaluate(given, one, wanted)
            rows.append([None if v is None else one.to_tensor(v) for v in found])
        return [None if v[0] is None else batch(list(v)) for v in zip(*rows, strict=True)]

    def add(self, a, b):
        total = tensor_ops.add(a, b)
        if not (STATE.enabled or holds((a, b))):  # torch adds unbatched gradients in place
            total._storage.version = a._version + 1
        return total

    def _unpacked(self, saved, node):
        """A saved variable for all examples: hooks unpack it once."""
        key = id(saved)
        if key not in self._values:
            self._values[key] = self._once(saved, node)
        return self._values[key]


class shown:
    """While a pass over batches runs: operators look for them."""

    def __enter__(self) -> None:
        self._before = STATE.batched
        STATE.batched = True
        STATE.fast_path_blockers += 1

    def __exit__(self, *exc) -> None:
        STATE.batched = self._before
        STATE.fast_path_blockers -= 1


def watched(nodes) -> bool:
    """Whether hooks or custom Functions observe how often any of the nodes runs."""
    return any(
        n._is_custom_function
        or n._hooks_of_outputs()
        or n._retains_grad_of
        or n._pre_hooks
        or n._post_hooks
        or any(type(saved) is SavedVariable and saved.packed for saved in _entries(n))
        for n in nodes
    )


def _entries(node):
    """The saved variables of a node, with the entries of lists."""
    for saved in getattr(node, "_saved", None) or ():
        yield from saved if type(saved) is list else (saved,)
