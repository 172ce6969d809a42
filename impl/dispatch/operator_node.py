"""Operator nodes: they run the formulas of an operator on saved values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from impl.core import messages
from impl.core.registry import tensor_ops_no_grad
from impl.core.state import FAST_PATH
from impl.core.strides import is_permuted
from impl.dispatch.formula_helpers import refuse_shapes
from impl.dispatch.gradient_plan import (
    CONJUGATE,
    GRADIENT,
    INPUT,
    SAVED,
    both,
)
from impl.engine.gradient_values import RECORDING
from impl.graph.node import Node
from impl.tape.saved_variable import SavedVariable, as_saved_variable
from impl.tensor.allocation import over_view

if TYPE_CHECKING:
    from impl.dispatch.derivatives import DerivativeInfo


class OperatorNode(Node):
    """A node of an operator: runs the operator's formulas on the saved values of its plan."""

    __slots__ = (
        "_compiled_backward",
        "_meta",
        "_next_node",
        "_next_nodes",
        "_plan",
        "_saved",
        "_sequence",
    )

    _operator: DerivativeInfo
    _promotes = False  # whether its formulas run on tensors; see `Operator.promotes_in_backward`

    # Recording sets all fields of a node, but for `_next_nodes` where there is an `_next_node`.
    __init__ = object.__init__  # type: ignore[assignment]

    def _evaluate(self, grads, form, wanted):
        if self._promotes and not form.records:
            return self._evaluate_tensors(grads, form, wanted)
        if form is RECORDING and grads[0] is not None and FAST_PATH:
            recorded = self._plan.recorded_backward
            if recorded is None:
                recorded = self._operator.compile_recorded(self._plan)
            if recorded:
                return recorded(self, grads[0], wanted)
        saved = self._saved
        if saved is None:
            raise RuntimeError(messages.FREED)
        unpack = form.unpack
        values = [
            [i and unpack(i, self) for i in v] if type(v) is list else unpack(v, self)
            for v in saved
        ]
        if all(g is None for g in grads):
            return [None] * len(self._edge_nodes())
        # Where operands disagree on the order of dimensions, ATen takes the first one's.
        if (
            not form.records
            and self._operator.layout_sensitive
            and any(type(v) is np.ndarray and is_permuted(v) for v in (*grads, *values))
        ):
            return self._evaluate_laid_out(grads, values, form, wanted)
        try:
            return self._apply(form.F, grads, values, wanted)
        except ValueError as error:
            refuse_shapes(error)
            raise

    def _apply(self, F, grads, values, wanted) -> list:
        """The results of the formulas on gradients and saved values, all arrays or all tensors."""
        plan = self._plan
        result: list = [None] * len(self._edge_nodes())
        for targets, function, arguments in plan.formulas:
            given = []
            for kind, which in arguments:
                if kind == SAVED:
                    given.append(values[which])
                elif kind == CONJUGATE:
                    operand = plan.reads[which][0] == INPUT
                    given.append((F.conj_operand if operand else F.conj)(values[which]))
                elif kind == GRADIENT:
                    given.append(grads if which is None else grads[which])
                else:
                    given.append(which if wanted is None else both(which, wanted))
            if len(targets) == 1:
                target = targets[0]
                if self._operator.list_edges:
                    result[:] = function(F, *given)  # of all, also of those without an edge
                elif wanted is None or hasattr(function, "operator") or wanted[target]:
                    result[target] = function(F, *given)  # an `operator` has no derivative
            else:
                edges = self._edge_nodes()
                for target, value in zip(targets, function(F, *given), strict=True):
                    result[target] = None if edges[target] is None else value
        return result

    def _on_tensors(self) -> None:
        """Have the formulas run on tensors in every pass, as for operands that promote."""
        self._promotes = True
        self._next_nodes = self._edge_nodes()
        self._compiled_backward = self._next_node = None

    def _evaluate_tensors(self, grads, form, wanted):
        """Run the formulas on tensors, which promote each other as the operands did."""
        tensors = [None if g is None else form.to_tensor(g) for g in grads]
        results = self._evaluate(tensors, RECORDING, wanted)
        return _lowered(results, tensors, grads, form)

    def _evaluate_laid_out(self, grads, values, form, wanted):
        """Run the formulas on tensors over the arrays, so that ATen's order of dimensions holds."""
        tensors = [None if g is None else form.to_tensor(g) for g in grads]
        raw = (np.ndarray, np.generic)
        lifted = [over_view(v) if isinstance(v, raw) else v for v in values]
        results = self._apply(tensor_ops_no_grad, tensors, lifted, wanted)
        return _lowered(results, tensors, grads, form)

    def _release(self) -> None:
        if self._plan.saves_tensors:
            self._saved = None

    def _edge_nodes(self) -> tuple:
        if self._next_node is None:
            return self._next_nodes
        edges = [None] * len(self._operator.edge_of)
        edges[self._plan.single] = self._next_node
        return tuple(edges)

    def _expose_saved(self, name: str) -> SavedVariable:
        """The value saved under a name as a SavedVariable; an empty one if there is none."""
        names = self._plan.names
        if self._saved is None or name not in names:
            return as_saved_variable(None, self)
        saved, place = list(self._saved), names.index(name)
        entry = as_saved_variable(saved[place], self)
        if entry.storage is not None:
            saved[place] = entry
            self._saved = saved
        return entry


def _lowered(results, tensors, grads, form) -> list:
    """The gradients in the results of formulas that ran on `tensors` over `grads`."""
    passed = {id(t): g for t, g in zip(tensors, grads, strict=True)}
    return [
        r if r is None else passed[id(r)] if id(r) in passed else form.steal(r) for r in results
    ]
