"""A pass's steps, the long way: hooks, captures, a user's function, gradients that do not fit.

`impl.engine` runs most nodes by their formulas alone; what needs more is done here.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy import ndarray

from impl import anomaly, messages
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad, meets
from impl.hooks import run_node_hooks, run_post_accumulate, run_tensor_hooks
from impl.layouts import contiguous_format
from impl.marks import Marks, owner, place
from impl.pending import Pending
from impl.sizes import repeated_dims
from impl.tensor import Tensor


class Steps:
    """What a pass knows, and what it does at one node."""

    needed: dict | None = None  # with inputs: which nodes lead to one; None: all
    marks: Any = None  # what the last step knew of writes to the gradients it made

    def __init__(self, interpretation, keep_graph: bool) -> None:
        self.interpretation = interpretation
        self.keep_graph = keep_graph
        # How often a complete gradient was written in place: its version, should it surface.
        self.additions: dict = {}
        self.captures: dict = {}  # {node: [(output number, position of the input)]}
        self.captured: list = []

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
            left = list(run_node_hooks(node._pre_hooks, arrived))
            self._note_all(node, left)
            del arrived  # so that nobody holds them any longer but who kept them
            grads[:] = self.interpretation.lower_all(left)
            del left
        if type(node) is AccumulateGrad:
            self._accumulate(node, grads)
            return None
        if node._authored:
            outputs, shown = self._run_author(node, grads, wanted)
            marks = self.marks
        else:
            self.marks = marks = self._marks(node, grads)
            outputs = self.interpretation.evaluate(node, grads, wanted)
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
        accumulate(self.interpretation, leaf, grads[0], version, 1 if shown is None else 2)
        if leaf._post_accumulate:
            run_post_accumulate(leaf)
        if shown is not None:
            run_node_hooks(node._post_hooks, (), tuple(self._lift(g) for g in shown))

    def _capture(self, node, grads) -> None:
        for number, position in self.captures.get(node, ()):
            self.captured[position] = self._result(node, number, grads[number])

    def _run_author(self, node, grads: list, wanted):
        """What a Function makes of gradients, which are taken from the list, and they for hooks.

        What is returned is made to fit, or refused, before anything is freed.
        """
        grads[:] = [self._at(node, i, g) for i, g in enumerate(grads)]
        shown = tuple(grads) if node._post_hooks else None
        values = self.interpretation.evaluate(node, grads, wanted)
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
        self._note(node, number, result)
        if result is None:
            return None
        return self._lower(result) if runs else self.interpretation.lower(result)

    def _note_all(self, node, results: list) -> None:
        for number, result in enumerate(results):
            self._note(node, number, result)

    def _note(self, node, number: int, result) -> None:
        """Remember how often a gradient that goes on to an output was written."""
        self.additions.pop(place(node, number), None)
        if result is not None and _writes(result):
            self.additions[place(node, number)] = _writes(result)

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
