"""Derivatives: an operator's formulas, and the nodes that run them on what was saved."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import numpy as np

from impl import anomaly, messages
from impl.graph import Node, gradient_edge, next_sequence
from impl.plans import (
    CONJUGATE,
    DTYPE,
    GRADIENT,
    INPUT,
    LAYOUT,
    LIST,
    NEEDS,
    OUTPUT,
    RANK,
    SAVED,
    SHAPE,
    VALUE,
    Plan,
    both,
    formula_of,
)
from impl.saved import SavedTensor, exposed
from impl.storage import reordered, strides_of
from impl.tensor import Tensor

_AT_ONCE = (1 << 64) - 1  # torch runs a node that only raises before all others


class OperatorNode(Node):
    """A node of an operator: runs the operator's formulas on what its plan saved."""

    __slots__ = ("_branches", "_kept", "_meta", "_only", "_plan", "_run", "_sequence")

    _operator: Differentiable
    _mixed = False  # whether its operands had different dtypes; see `Operator.mixes`

    # What records a node sets all of its fields, but for `_branches` where there is an `_only`.
    __init__ = object.__init__  # type: ignore[assignment]

    def _evaluate(self, grads, interpretation, wanted):
        if self._mixed and not interpretation.records:
            return self._evaluate_tensors(grads, interpretation, wanted)
        saved = self._kept
        if saved is None:
            raise RuntimeError(messages.FREED)
        unpack = interpretation.unpack
        values = [
            [i and unpack(i, self) for i in v] if type(v) is list else unpack(v, self)
            for v in saved
        ]
        if all(g is None for g in grads):
            return [None] * len(self._targets())
        # Where operands disagree on the order of dimensions, ATen takes the first one's.
        if (
            not interpretation.records
            and self._operator.ordered
            and any(type(v) is np.ndarray and reordered(v) for v in (*grads, *values))
        ):
            return self._evaluate_laid_out(grads, values, interpretation, wanted)
        return self._apply(interpretation.F, grads, values, wanted)

    def _apply(self, F, grads, values, wanted) -> list:
        """What the formulas make of gradients and saved values, all arrays or all tensors."""
        plan = self._plan
        result: list = [None] * len(self._targets())
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
                    self._spread(result, function(F, *given))
                elif wanted is None or wanted[target]:
                    result[target] = function(F, *given)
            else:
                for target, value in zip(targets, function(F, *given), strict=True):
                    result[target] = value
        return result

    def _evaluate_tensors(self, grads, interpretation, wanted):
        """Run the formulas on tensors, which promote each other as the operands did."""
        from impl.interpretation import TAPED_INTERPRETATION

        tensors = [None if g is None else interpretation.lift(g) for g in grads]
        results = self._evaluate(tensors, TAPED_INTERPRETATION, wanted)
        return _lowered(results, tensors, grads, interpretation)

    def _evaluate_laid_out(self, grads, values, interpretation, wanted):
        """Run the formulas on tensors over the arrays, so that ATen's order of dimensions holds."""
        from impl.operator import UNRECORDED, new

        tensors = [None if g is None else interpretation.lift(g) for g in grads]
        raw = (np.ndarray, np.generic)
        lifted = [new(v, strides_of(v)) if isinstance(v, raw) else v for v in values]
        results = self._apply(UNRECORDED, tensors, lifted, wanted)
        return _lowered(results, tensors, grads, interpretation)

    def _spread(self, result, values) -> None:
        for i, value in enumerate(values):
            result[i] = value if self._targets()[i] is not None else None

    def _release(self) -> None:
        if self._plan.saves_tensors:
            self._kept = None

    def _targets(self) -> tuple:
        if self._only is None:
            return self._branches
        edges = [None] * len(self._operator.edge_of)
        edges[self._plan.single] = self._only
        return tuple(edges)

    def _expose_saved(self, name: str) -> SavedTensor:
        """What is saved under a name as the object that takes hooks; empty if nothing is."""
        names = self._plan.names
        if self._kept is None or name not in names:
            return exposed(None, self)
        saved, place = list(self._kept), names.index(name)
        entry = exposed(saved[place], self)
        if entry.storage is not None:
            saved[place] = entry
            self._kept = saved
        return entry


def _lowered(results, tensors, grads, interpretation) -> list:
    """The gradients in the results of formulas that ran on `tensors` over `grads`."""
    passed = {id(t): g for t, g in zip(tensors, grads, strict=True)}
    return [
        r if r is None else passed[id(r)] if id(r) in passed else interpretation.adopt(r)
        for r in results
    ]


class Differentiable:
    """What an operator says of its derivative. `parameters` are the kernel's, `outputs` named."""

    forward_statement: tuple = (None, {})
    forward_rule: Any = None  # made from the statement when it is first needed
    forward_writes = False  # whether the formula writes the tangent in place by itself

    elementwise = False  # whether each element of the result comes from those in its place
    ordered = False  # whether the formulas see to it in which order dimensions lie in memory
    reduces = False  # whether an element-wise operator may then reduce its result

    def __init__(self, name: str, node_name: str, signature: inspect.Signature, outputs) -> None:
        self.name = name
        self.node_name = node_name
        self.outputs = outputs
        self.formulas: list = []
        self.edge_of: dict[str, int] = {}
        self.plans: dict[tuple[int, bool], Plan] = {}
        self.differentiable_outputs = tuple(range(len(outputs)))
        self.parameters = list(signature.parameters)
        self.position = {name: i for i, name in enumerate(self.parameters)}
        annotated = [str(p.annotation) for p in signature.parameters.values()]
        self.tensor_positions = tuple(
            i for i, text in enumerate(annotated) if text.startswith("Array")
        )
        self.optional = {i for i in self.tensor_positions if "None" in annotated[i]}
        lists = [i for i, text in enumerate(annotated) if text.startswith("list[Array")]
        self.list_position = lists[0] if lists else None
        self.list_edges = False
        self.bits: tuple = ()
        self.node_class = type(node_name, (OperatorNode,), {"_operator": self, "__slots__": ()})
        self.node_class.__module__ = "torch.autograd.functions"

    # -- definition -------------------------------------------------------------------------

    def gradient(self, /, **formulas) -> Differentiable:
        """State the formula of each named input; their order is that of the parameters."""
        for name in self.parameters:
            if name in formulas:
                function = formulas.pop(name)
                self._add_formula((name,), function)
        if formulas:
            raise ValueError(f"{self.name} has no input named {', '.join(formulas)}")
        return self

    def gradients(self, *inputs: str):
        """Decorate one formula that returns the gradients of several inputs at once."""

        def define(function):
            self._add_formula(inputs, function)
            return function

        return define

    def differentiable(self, *outputs: str) -> Differentiable:
        """Name the outputs that can require grad, when they are not all."""
        self.differentiable_outputs = tuple(self.outputs.index(o) for o in outputs)
        return self

    def forward(self, statement=None, /, *, writes: bool = False, **more) -> Differentiable:
        """State how tangents pass the operator; see `impl.tangents`.

        `statement` is a formula for the only output, "linear" (the operator itself is applied to
        the tangents), "reapplied" (so too, in place as well, with the arguments in `more`),
        "zeroed" (an operator that exists in place only overwrites), or "unsupported"; otherwise
        `more` holds a formula for each output. `writes` is for an operator that exists in place
        only and whose formula writes the target's tangent itself (None if there is none yet).
        """
        self.forward_statement = (statement, more)
        self.forward_writes = writes or statement == "zeroed"
        return self

    def _add_formula(self, inputs, function) -> None:
        if isinstance(function, str):
            function = formula_of(function)
        parameters = list(inspect.signature(function).parameters)[1:]
        self.formulas.append((inputs, function, parameters))
        # torch evaluates them by the alphabet, which shows in the order of recorded additions.
        self.formulas.sort(key=lambda formula: ", ".join(formula[0]))
        for name in inputs:
            self.edge_of[name] = -1
        for edge, name in enumerate(n for n in self.parameters if n in self.edge_of):
            self.edge_of[name] = edge
        self.list_edges = self.list_position is not None and (
            self.parameters[self.list_position] in self.edge_of
        )
        self.bits = tuple(
            (1 << self.edge_of[n], self.position[n]) for n in self.parameters if n in self.edge_of
        )

    @cached_property
    def saveable(self) -> list[str]:
        """The names under which some node of the operator may have saved something."""
        return Plan.saved_names(self, (1 << len(self.edge_of)) - 1, self.formulas)

    def always_saved(self):
        """What is saved whichever input requires grad, as torch's generated code does.

        It spares a tensor only when a single formula needs it, never an output or a number.
        """
        saved = [
            (targets, [p.removesuffix("_conj") for p in ps]) for targets, _, ps in self.formulas
        ]
        used = [p for _, parameters in saved for p in dict.fromkeys(parameters)]
        together = {p for targets, parameters in saved if len(targets) > 1 for p in parameters}
        tensors = {self.parameters[i] for i in self.tensor_positions}
        for name in dict.fromkeys(used):
            if name in self.position:
                shared = used.count(name) > 1 or name in together or "backward" in self.name
                if shared if name in tensors else self.position[name] != self.list_position:
                    yield name
            elif name in self.outputs:
                yield name

    def given(self, name: str, mask: int):
        """What a formula's parameter is if nothing is kept for it: (kind, which), else None."""
        if name == "grad":
            return (GRADIENT, 0)
        if name == "grads":
            return (GRADIENT, None)
        if name == "needs":
            return (NEEDS, tuple(bool(mask >> e & 1) for e in range(len(self.edge_of))))
        if name.startswith("grad_") and name[5:] in self.outputs:
            output = self.outputs.index(name[5:])
            return (GRADIENT, self.differentiable_outputs.index(output))
        return None

    def reader(self, name: str):
        """How what is kept under a name is read at recording time: (kind, which)."""
        if name in self.outputs and name not in self.position:
            return (OUTPUT, self.outputs.index(name))
        if name in self.position:
            position = self.position[name]
            if position == self.list_position:
                return (LIST, position)
            return (INPUT if position in self.tensor_positions else VALUE, position)
        base, _, what = name.rpartition("_")
        kinds = {"shape": SHAPE, "dtype": DTYPE, "layout": LAYOUT, "dim": RANK}
        if base in self.position and what in kinds:
            return (kinds[what], self.position[base])
        if base in self.outputs and what in kinds:
            return (kinds[what], ~self.outputs.index(base))
        raise ValueError(f"{self.name}: a formula needs {name}, which is nothing known here")

    # -- recording --------------------------------------------------------------------------

    def plan(self, mask: int, real: bool = False) -> Plan:
        """What to save and run when the inputs whose bits are in `mask` require grad."""
        plan = self.plans.get((mask, real))
        if plan is None:
            if not self.plans:  # so there is no node yet
                from impl import saved_attributes

                saved_attributes.publish(self)
            plan = self.plans[mask, real] = Plan(self, mask, real)
        return plan

    @property
    def is_straight(self) -> bool:
        """Whether a node has one gradient coming in, and one edge per formula's target."""
        one = len(self.differentiable_outputs) == 1 and not self.list_edges
        return one and self.node_name != "NotImplemented"

    def edges(self, args, mask: int) -> list:
        """Where gradients go, one per differentiable input; None for those not in `mask`."""
        edges = [gradient_edge(args[i]) if mask & bit else None for bit, i in self.bits]
        if self.node_name == "NotImplemented":  # which has edges only where gradients would go
            return [edge for edge in edges if edge is not None]
        return edges

    def node(self, args, outputs, mask: int, edges, targets=None) -> OperatorNode:
        """Record: a node with these edges that saves what the formulas for `mask` need.

        `targets` stand for the outputs, which are saved later, of a write that is yet to come.
        """
        plan = self.plan(mask)
        node = self.node_class()
        node._sequence = next_sequence() if self.node_name != "NotImplemented" else _AT_ONCE
        if anomaly.MODE.enabled:
            anomaly.note(node)
        node._plan = plan
        node._run = plan.straight if plan.versions is None else None
        if plan.versions is not None:
            node._versions = plan.versions_of(args)
        if self.mixes(args, (outputs or targets)[0]):
            node._mixed = True
            node._run = None
        elif self.ordered and self.reorders(args):
            node._run = None
        node._connect(edges)
        node._only = (
            None if plan.single is None or node._run is None else node._branches[plan.single]
        )
        if node._only is None and plan.single is not None:
            node._run = None  # an edge that leads nowhere
        node._describe(self._tracked(outputs or targets))
        node._kept = [
            None
            if outputs is None and kind == OUTPUT
            else self.read(kind, which, args, outputs or targets)
            for kind, which in plan.reads
        ]
        return node

    def save_outputs(self, node, args, outputs) -> None:
        """Save what the node's formulas need of outputs whose history it has become."""
        for i, (kind, which) in enumerate(node._plan.reads):
            if kind == OUTPUT:
                node._kept[i] = self.read(kind, which, args, outputs)

    def _tracked(self, outputs):
        return [outputs[i] for i in self.differentiable_outputs]

    def read(self, kind, which, args, outputs):
        """What a node keeps of one formula's parameter, by the kind `reader` gave it."""
        if kind == INPUT:
            value = args[which]
            return SavedTensor(value, False) if isinstance(value, Tensor) else value
        if kind == OUTPUT:
            # An output that is never differentiable has no history, and is kept like an input.
            if which not in self.differentiable_outputs:
                return SavedTensor(outputs[which], False)
            saved = SavedTensor(outputs[which], True)
            saved.number = self.differentiable_outputs.index(which)
            return saved
        if kind == VALUE:
            return args[which]
        if kind == LIST:
            return [None if t is None else SavedTensor(t, False) for t in args[which]]
        value = args[which] if which >= 0 else outputs[~which]
        if kind == SHAPE:
            if which == self.list_position:
                return tuple(t._raw.shape for t in value)
            return np.shape(value._raw) if isinstance(value, Tensor) else ()
        if kind == RANK:
            return value._raw.ndim
        if kind == DTYPE:
            if which == self.list_position:
                return tuple(t._raw.dtype for t in value)
            return value._raw.dtype if isinstance(value, Tensor) else None
        return (value._raw.shape, value.stride(), value._offset)

    def mixes(self, args, output) -> bool:
        """Whether the formulas need tensors to promote their operands; by default not."""
        return False

    def reorders(self, args) -> bool:
        """Whether an operand is laid out other than row by row, which formulas must look at."""
        operands = (args[i] for i in self.tensor_positions)
        return any(
            isinstance(a, Tensor) and a._strides is not None and a._raw.ndim > 1 for a in operands
        )

    def saves_target(self, mask: int) -> bool:
        """Whether a formula needs the first argument, which an in-place call overwrites."""
        return (INPUT, 0) in self.plan(mask).reads
