"""Derivatives: an operator's formulas, and the recording of its nodes (derivatives.yaml)."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import numpy as np

from impl.dispatch import saved_attributes
from impl.dispatch.fast_path.backward import backward, recorded_backward
from impl.dispatch.gradient_plan import (
    DEVICE,
    DTYPE,
    GRADIENT,
    INPUT,
    LAYOUT,
    LIST,
    NEEDS,
    OUTPUT,
    RANK,
    SHAPE,
    VALUE,
    GradientPlan,
    formula_of,
    is_arithmetic,
)
from impl.dispatch.kernel_parameters import names_of
from impl.dispatch.operator_node import OperatorNode
from impl.graph import anomaly_mode
from impl.graph.edge import gradient_edge
from impl.graph.node import RUNS_FIRST, next_sequence
from impl.tape.saved_variable import SavedVariable
from impl.tensor.tensor import Tensor, requires_grad


class DerivativeInfo:
    """The derivative of an operator (torchgen's DifferentiabilityInfo). `parameters` are the
    kernel's, `outputs` named."""

    forward_statement: tuple = (None, {})
    forward_is_final = False  # whether the rule's own operators have no derivatives
    forward_rule: Any = None  # made from the statement when it is first needed
    forward_writes = False  # whether the formula writes the tangent in place by itself

    elementwise = False  # whether each element of the result comes from those in its place
    layout_sensitive = (
        False  # whether the formulas see to it in which order dimensions lie in memory
    )
    reduces = False  # whether an element-wise operator may then reduce its result

    def __init__(self, name: str, node_name: str, signature: inspect.Signature, outputs) -> None:
        self.name = name
        self.node_name = node_name
        self.outputs = outputs
        self.formulas: list = []
        self.edge_of: dict[str, int] = {}
        self.plans: dict[tuple[int, bool], GradientPlan] = {}
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
        self.grad_inputs: tuple = ()
        self.node_class: Any = type(
            node_name,
            (OperatorNode,),
            {"_operator": self, "__slots__": (), "__module__": "builtins"},  # as of a C++ class
        )

    # -- definition -------------------------------------------------------------------------

    def gradient(self, /, **formulas) -> DerivativeInfo:
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

    def differentiable(self, *outputs: str) -> DerivativeInfo:
        """Name the outputs that can require grad, when they are not all."""
        self.differentiable_outputs = tuple(self.outputs.index(o) for o in outputs)
        return self

    def forward(self, statement=None, /, *, writes: bool = False, **more) -> DerivativeInfo:
        """State how tangents pass the operator; see `impl.dispatch.forward_rules`.

        `statement` is a formula for the only output, "linear" (the operator itself is applied to
        the tangents), "reapplied" (so too, in place as well, with the arguments in `more`),
        "zeroed" (an operator that exists in place only overwrites), "unsupported", or "unknown"
        (of an operator without any derivative in derivatives.yaml); otherwise
        `more` holds a formula for each output. `writes` is for an operator that exists in place
        only and whose formula writes the target's tangent itself (None if there is none yet).
        """
        self.forward_statement = (statement, more)
        self.forward_writes = writes or statement == "zeroed"
        return self

    def _add_formula(self, inputs, function) -> None:
        if isinstance(function, str):
            function = formula_of(function)
        parameters = names_of(function)[1:]
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
        self.grad_inputs = tuple(
            (1 << self.edge_of[n], self.position[n]) for n in self.parameters if n in self.edge_of
        )
        self.node_class._makes_gradient = all(is_arithmetic(f) for _, f, _ in self.formulas)

    @cached_property
    def saveable(self) -> list[str]:
        """The names under which some node of the operator may have saved something."""
        return GradientPlan.saved_names(self, (1 << len(self.edge_of)) - 1, self.formulas)

    def always_saved(self):
        """The values that are saved whichever input requires grad, as torch's generated code does.

        It spares a tensor only when a single formula needs it, never an output, a number, or a
        tensor that may be None.
        """
        saved = [
            (targets, [p.removesuffix("_conj") for p in ps]) for targets, _, ps in self.formulas
        ]
        used = [p for _, parameters in saved for p in dict.fromkeys(parameters)]
        together = {p for targets, parameters in saved if len(targets) > 1 for p in parameters}
        tensors = {self.parameters[i] for i in self.tensor_positions if i not in self.optional}
        for name in dict.fromkeys(used):
            if name in self.position:
                shared = used.count(name) > 1 or name in together or "backward" in self.name
                if shared if name in tensors else self.position[name] != self.list_position:
                    yield name
            elif name in self.outputs:
                yield name

    def formula_argument(self, name: str, mask: int):
        """The source of a formula's parameter for which nothing is saved: (kind, which), else
        None."""
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

    def saved_source(self, name: str):
        """The source of a saved value when the node is recorded: (kind, which)."""
        if name in self.outputs and name not in self.position:
            return (OUTPUT, self.outputs.index(name))
        if name in self.position:
            position = self.position[name]
            if position == self.list_position:
                return (LIST, position)
            return (INPUT if position in self.tensor_positions else VALUE, position)
        base, _, what = name.rpartition("_")
        kinds = {"shape": SHAPE, "dtype": DTYPE, "layout": LAYOUT, "dim": RANK, "device": DEVICE}
        if base in self.position and what in kinds:
            return (kinds[what], self.position[base])
        if base in self.outputs and what in kinds:
            return (kinds[what], ~self.outputs.index(base))
        raise ValueError(f"{self.name}: a formula needs {name}, which is nothing known here")

    # -- recording --------------------------------------------------------------------------

    def plan(self, mask: int, real: bool = False) -> GradientPlan:
        """The GradientPlan for the inputs whose bits are in `mask`."""
        plan = self.plans.get((mask, real))
        if plan is None:
            if not self.plans:  # so there is no node yet
                saved_attributes.publish(self)
            plan = self.plans[mask, real] = GradientPlan(self, mask, real)
            if self.has_one_gradient and plan.can_be_compiled:
                plan.compiled_backward = backward(plan, len(self.edge_of), real)
        return plan

    def compile_recorded(self, plan: GradientPlan):
        """The plan's formulas as one function of tensors, where nodes have one gradient."""
        plan.recorded_backward = False
        if self.has_one_gradient:
            plan.recorded_backward = recorded_backward(plan, len(self.edge_of), plan.real)
        return plan.recorded_backward

    @property
    def has_one_gradient(self) -> bool:
        """Whether a node has one gradient coming in, and one edge per formula's target."""
        one = len(self.differentiable_outputs) == 1 and not self.list_edges
        return one and self.node_name != "NotImplemented"

    def edges(self, args, mask: int) -> list:
        """Where gradients go, one per differentiable input; None for those not in `mask`."""
        if self.node_name == "NotImplemented":  # which has edges for what requires grad alone
            return [gradient_edge(a) for a in self._requiring_grad(args)]
        return [gradient_edge(args[i]) if mask & bit else None for bit, i in self.grad_inputs]

    def _requiring_grad(self, args) -> list[Tensor]:
        """The inputs that require grad."""
        inputs = [args[i] for _, i in self.grad_inputs]
        return [a for a in inputs if isinstance(a, Tensor) and requires_grad(a)]

    def node(self, args, outputs, mask: int, edges, targets=None) -> OperatorNode:
        """Record: a node with these edges that saves the values that the formulas for `mask` need.

        `targets` stand for the outputs, which are saved later, of a write that is yet to come.
        """
        plan = self.plan(mask)
        node = self.node_class()
        node._sequence = next_sequence() if self.node_name != "NotImplemented" else RUNS_FIRST
        if anomaly_mode.MODE.enabled:
            anomaly_mode.note(node)
        node._plan = plan
        node._compiled_backward = plan.compiled_backward
        if plan.versions is not None:
            node._versions = plan.versions_of(args)
        if self.promotes_in_backward(args, (outputs or targets)[0]):
            node._promotes = True
            node._compiled_backward = None
        elif self.layout_sensitive and self.has_permuted_operand(args):
            node._compiled_backward = None
        node._set_next_edges(edges)
        node._next_node = (
            None
            if plan.single is None or node._compiled_backward is None
            else node._next_nodes[plan.single]
        )
        if node._next_node is None and plan.single is not None:
            node._compiled_backward = None  # an edge that leads nowhere
        node._set_input_metadata(self._tracked(outputs or targets))
        node._saved = [
            None
            if outputs is None and kind == OUTPUT
            else self.read_saved(kind, which, args, outputs or targets)
            for kind, which in plan.reads
        ]
        return node

    def save_outputs(self, node, args, outputs) -> None:
        """Save the outputs that the formulas of their node need."""
        for i, (kind, which) in enumerate(node._plan.reads):
            if kind == OUTPUT:
                node._saved[i] = self.read_saved(kind, which, args, outputs)

    def _tracked(self, outputs):
        return [outputs[i] for i in self.differentiable_outputs]

    def read_saved(self, kind, which, args, outputs):
        """The saved value of a formula's parameter, from its source."""
        if kind == INPUT:
            value = args[which]
            return SavedVariable(value, False) if isinstance(value, Tensor) else value
        if kind == OUTPUT:
            # An output that is never differentiable has no history, and is kept like an input.
            if which not in self.differentiable_outputs:
                return SavedVariable(outputs[which], False)
            saved = SavedVariable(outputs[which], True)
            saved.number = self.differentiable_outputs.index(which)
            return saved
        if kind == VALUE:
            return args[which]
        if kind == LIST:
            return [None if t is None else SavedVariable(t, False) for t in args[which]]
        value = args[which] if which >= 0 else outputs[~which]
        if kind == SHAPE:
            if which == self.list_position:
                return tuple(t._raw.shape for t in value)
            return np.shape(value._raw) if isinstance(value, Tensor) else ()
        if kind == RANK:
            return value._raw.ndim
        if kind == DEVICE:
            return value.device
        if kind == DTYPE:
            if which == self.list_position:
                return tuple(t._raw.dtype for t in value)
            return value._raw.dtype if isinstance(value, Tensor) else None
        return (value._raw.shape, value.stride(), value._offset)

    def promotes_in_backward(self, args, output) -> bool:
        """Whether the formulas need tensors to promote their operands; by default not."""
        return False

    def has_permuted_operand(self, args) -> bool:
        """Whether an operand is laid out other than row by row, which formulas must look at."""
        operands = (args[i] for i in self.tensor_positions)
        return any(
            isinstance(a, Tensor) and a._strides is not None and a._raw.ndim > 1 for a in operands
        )

    def saves_target(self, mask: int) -> bool:
        """Whether a formula needs the first argument, which an in-place call overwrites."""
        return (INPUT, 0) in self.plan(mask).reads
