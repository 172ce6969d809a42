"""Gradient plans: the saved values and formulas of a node, for each set of inputs that require
grad."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from impl.dispatch.derivatives import DerivativeInfo

# The sources of saved values when a node is recorded.
INPUT, LIST, OUTPUT, VALUE, SHAPE, DTYPE, LAYOUT, RANK, DEVICE = range(9)
# The sources of a formula's arguments when it runs: a saved value (or its conjugate), the gradients
# of the outputs, the edges that are needed.
SAVED, CONJUGATE, GRADIENT, NEEDS = range(4)
TENSOR_READS = (INPUT, LIST, OUTPUT)


class OfArguments:
    """How often a gradient is written when it is made, by the operator's arguments."""

    def __init__(self, times) -> None:
        self.times = times


class GradientPlan:
    """For one set of inputs that require grad: what to save, and which formulas to run.

    `formulas` are (edges, function, arguments); `real` promises that no saved value is complex.
    `single` is the edge to which alone a gradient goes, if there is but one; `fits` says that the
    gradients have the shape and dtype of the gradient that comes in.
    """

    __slots__ = (
        "compiled_backward",
        "fits",
        "formulas",
        "names",
        "reads",
        "real",
        "recorded_backward",
        "saves_tensors",
        "single",
        "varies",
        "version",
        "versions",
    )

    def __init__(self, operator: DerivativeInfo, mask: int, real: bool) -> None:
        formulas = [
            formula
            for formula in operator.formulas
            if any(mask >> operator.edge_of[t] & 1 for t in formula[0])
        ]
        self.names = self.saved_names(operator, mask, formulas)
        self.formulas = []
        self.versions: dict | None = None
        for targets, function, parameters in formulas:
            arguments = [self._argument(operator, p, mask) for p in parameters]
            self.formulas.append((tuple(operator.edge_of[t] for t in targets), function, arguments))
            if hasattr(function, "writes"):
                self.versions = self.versions or {}
                writes = function.writes
                for target in targets:
                    times = writes[target] if isinstance(writes, dict) else writes
                    self.versions[operator.edge_of[target]] = times
        self.varies = any(type(t) is OfArguments for t in (self.versions or {}).values())
        self.reads = [operator.saved_source(name) for name in self.names]
        self.saves_tensors = any(kind in TENSOR_READS for kind, _ in self.reads)
        self.real = real
        self.fits = real and operator.elementwise
        self.single = mask.bit_length() - 1 if mask.bit_count() == 1 else None
        # How often the only gradient is written in place when it is made, if that is known in
        # passes that record nothing.
        version = (self.versions or {}).get(self.single, 0)
        self.version = version if type(version) is int else getattr(version, "in_pass", 0)
        # The compiled backward (`impl.dispatch.fast_path.backward`), where the operator has one.
        self.compiled_backward = None
        # The same for gradients that are tensors, which record; made by the first such pass.
        self.recorded_backward: Any = None  # False: there is none

    @property
    def can_be_compiled(self) -> bool:
        """Whether the versions of the gradients are those that the fast backward gives them."""
        return self.versions is None or self.version > 0

    def refitting(self) -> GradientPlan:
        """The plan for saved values of other dtypes or shapes, after which no gradient is known to
        fit."""
        plan = copy.copy(self)
        plan.fits = False
        return plan

    def versions_of(self, args) -> dict | None:
        """How often each edge's gradient is written when it is made, for these arguments."""
        if not self.varies:
            return self.versions
        return {
            edge: times.times(*args) if type(times) is OfArguments else times
            for edge, times in (self.versions or {}).items()
        }

    @staticmethod
    def saved_names(operator, mask: int, formulas) -> list[str]:
        """The names of the saved values in torch's order: alphabetical, outputs last. Pack hooks
        show it."""
        names = {
            parameter.removesuffix("_conj")
            for _, _, parameters in formulas
            for parameter in parameters
            if operator.formula_argument(parameter, mask) is None
        }
        if not operator.saved_as.as_needed:
            names.update(operator.always_saved())
        return sorted(names, key=lambda name: (operator.saved_source(name)[0] == OUTPUT, name))

    def _argument(self, operator, parameter: str, mask: int):
        known = operator.formula_argument(parameter, mask)
        if known is not None:
            return known
        base = parameter.removesuffix("_conj")
        return (SAVED if base == parameter else CONJUGATE, self.names.index(base))


def both(needs: tuple[bool, ...], wanted) -> tuple[bool, ...]:
    """The edges that lead to what requires grad, and by which this pass goes on."""
    return tuple([need and want for need, want in zip(needs, wanted, strict=True)])


def formula_of(text: str):
    """The function (F, ...) of a formula that is given as an expression, which it keeps."""
    tree = ast.parse(text, mode="eval")
    names = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id != "F")
    function = eval(f"lambda {', '.join(['F', *names])}: {text}")
    function.expression = tree.body
    return function


# Functions of formulas whose results are neither operands nor views of them.
_COMPUTING = {"F.mul_scalar", "F.mv_fitting", "F.outer", "F.tanh_backward"}


def is_arithmetic(formula) -> bool:
    """Whether a formula is an expression of which the value is a sum, product or the like, and so
    in new memory."""
    value = getattr(formula, "expression", None)
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in _COMPUTING
    return isinstance(value, ast.BinOp | ast.UnaryOp)
