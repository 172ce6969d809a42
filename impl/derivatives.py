"""Derivatives: an operator's formulas, what they have saved, and the nodes that run them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from impl import messages
from impl.graph import Node, SavedTensor, gradient_edge
from impl.tensor import Tensor

# How a formula's parameter is read when a node is recorded, or when it runs.
_INPUT, _LIST, OUTPUT, _VALUE, _SHAPE, _DTYPE, _LAYOUT, _CONSTANT, _GRADIENT = range(9)
_TENSOR_READS = (_INPUT, _LIST, OUTPUT)


class Plan:
    """For one set of inputs that require grad: what to save, and which formulas to run."""

    __slots__ = ("formulas", "names", "reads", "saves_tensors", "versions")

    def __init__(self, operator: Differentiable, mask: int) -> None:
        names: dict[str, int] = {}
        self.formulas = []
        self.versions: dict | None = None
        for targets, function, parameters in operator.formulas:
            if not any(mask >> operator.edge_of[t] & 1 for t in targets):
                continue
            indices = [names.setdefault(p, len(names)) for p in parameters]
            self.formulas.append((tuple(operator.edge_of[t] for t in targets), function, indices))
            if hasattr(function, "writes"):
                self.versions = self.versions or {}
                self.versions.update({operator.edge_of[t]: function.writes for t in targets})
        for name in operator.always_saved():
            names.setdefault(name, len(names))
        self.names = list(names)
        self.reads = [operator.reader(name, mask) for name in names]
        self.saves_tensors = any(kind in _TENSOR_READS for kind, _ in self.reads)


class OperatorNode(Node):
    """A node of an operator: runs the operator's formulas on what its plan saved."""

    operator: Differentiable
    plan: Plan
    saved: Any = None

    def evaluate(self, grads, interpretation, wanted):
        saved, plan = self.saved, self.plan
        if saved is None:
            raise RuntimeError(messages.FREED)
        unpack = interpretation.unpack
        values = [
            unpack(v, self)
            if type(v) is SavedTensor
            else ([i and unpack(i, self) for i in v] if type(v) is list else v)
            for v in saved
        ]
        result = [None] * len(self.edges)
        if len(grads) == 1:
            if grads[0] is None:
                return result
        elif all(g is None for g in grads):
            return result
        F = interpretation.F
        for targets, function, indices in plan.formulas:
            arguments = []
            for i in indices:
                kind, which = plan.reads[i]
                if kind == _GRADIENT:
                    arguments.append(grads if which is None else grads[which])
                elif kind == _CONSTANT:
                    arguments.append(which)
                else:
                    arguments.append(values[i])
            if len(targets) == 1:
                target = targets[0]
                if self.operator.list_edges:
                    self._spread(result, function(F, *arguments))
                elif wanted is None or wanted[target]:
                    result[target] = function(F, *arguments)
            else:
                for target, value in zip(targets, function(F, *arguments), strict=True):
                    result[target] = value
        return result

    def _spread(self, result, values) -> None:
        for i, value in enumerate(values):
            result[i] = value if self.edges[i] is not None else None

    def release(self) -> None:
        if self.plan.saves_tensors:
            self.saved = None

    def __getattr__(self, name: str):
        if name.startswith("_saved_"):
            return self._read_saved(name[len("_saved_") :])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _read_saved(self, name: str):
        from impl.interpretation import TAPED_INTERPRETATION

        names = self.plan.names
        if name not in names:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{name}'")
        if self.saved is None:
            raise RuntimeError(messages.FREED)
        value = self.saved[names.index(name)]
        if type(value) is SavedTensor:
            return TAPED_INTERPRETATION.unpack(value, self)
        return value


class Differentiable:
    """What an operator says of its derivative. `parameters` are the kernel's, `outputs` named."""

    def __init__(self, name: str, node_name: str, signature: inspect.Signature, outputs) -> None:
        self.name = name
        self.node_name = node_name
        self.outputs = outputs
        self.formulas: list = []
        self.edge_of: dict[str, int] = {}
        self.plans: dict[int, Plan] = {}
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
        self.node_class = type(node_name, (OperatorNode,), {"operator": self})
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

    def _add_formula(self, inputs, function) -> None:
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
        self.bits = tuple((1 << self.edge_of[n], self.position[n]) for n in self.edge_of)

    def always_saved(self):
        """What is saved whichever input requires grad, as torch's generated code does.

        It spares an input only when a single formula needs it, and never an output.
        """
        used = [p for _, _, parameters in self.formulas for p in dict.fromkeys(parameters)]
        together = {p for targets, _, ps in self.formulas if len(targets) > 1 for p in ps}
        tensors = {self.parameters[i] for i in self.tensor_positions}
        for name in dict.fromkeys(used):
            if name in self.position:
                shared = used.count(name) > 1 or name in together or "backward" in self.name
                if name in tensors and shared:
                    yield name
            elif name in self.outputs:
                yield name

    def reader(self, name: str, mask: int):
        """How a formula's parameter is read at recording time: (kind, which)."""
        if name == "grad":
            return (_GRADIENT, 0)
        if name == "grads":
            return (_GRADIENT, None)
        if name == "needs":
            return (_CONSTANT, tuple(bool(mask >> e & 1) for e in range(len(self.edge_of))))
        if name.startswith("grad_") and name[5:] in self.outputs:
            output = self.outputs.index(name[5:])
            return (_GRADIENT, self.differentiable_outputs.index(output))
        if name in self.outputs and name not in self.position:
            return (OUTPUT, self.outputs.index(name))
        if name in self.position:
            position = self.position[name]
            if position == self.list_position:
                return (_LIST, position)
            return (_INPUT if position in self.tensor_positions else _VALUE, position)
        base, _, what = name.rpartition("_")
        kinds = {"shape": _SHAPE, "dtype": _DTYPE, "layout": _LAYOUT}
        if base in self.position and what in kinds:
            return (kinds[what], self.position[base])
        if base == "result" and what in kinds:
            return (kinds[what], None)
        raise ValueError(f"{self.name}: a formula needs {name}, which is nothing known here")

    # -- recording --------------------------------------------------------------------------

    def plan(self, mask: int) -> Plan:
        """What to save and run when the inputs whose bits are in `mask` require grad."""
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = Plan(self, mask)
        return plan

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
        node.plan = plan
        if plan.versions is not None:
            node.versions = plan.versions
        node.edges = tuple(edges)
        node.meta = tuple([(o._raw.shape, o._raw.dtype) for o in self._tracked(outputs or targets)])
        node.saved = [
            None
            if outputs is None and kind == OUTPUT
            else self.read(kind, which, args, outputs or targets)
            for kind, which in plan.reads
        ]
        return node

    def _tracked(self, outputs):
        return [outputs[i] for i in self.differentiable_outputs]

    def read(self, kind, which, args, outputs):
        """What a node keeps of one formula's parameter, by the kind `reader` gave it."""
        if kind == _INPUT:
            value = args[which]
            return SavedTensor(value, False) if isinstance(value, Tensor) else value
        if kind == OUTPUT:
            # An output that is never differentiable has no history, and is kept like an input.
            if which not in self.differentiable_outputs:
                return SavedTensor(outputs[which], False)
            saved = SavedTensor(outputs[which], True)
            saved.number = self.differentiable_outputs.index(which)
            return saved
        if kind == _VALUE:
            return args[which]
        if kind in (_GRADIENT, _CONSTANT):
            return None
        if kind == _LIST:
            return [None if t is None else SavedTensor(t, False) for t in args[which]]
        value = outputs[0] if which is None else args[which]
        if kind == _SHAPE:
            if which is not None and which == self.list_position:
                return tuple(t._raw.shape for t in value)
            return np.shape(value._raw) if isinstance(value, Tensor) else ()
        if kind == _DTYPE:
            if which is not None and which == self.list_position:
                return tuple(t._raw.dtype for t in value)
            return value._raw.dtype if isinstance(value, Tensor) else None
        return (value._raw.shape, value.stride(), value._offset)

    def saves_target(self, mask: int) -> bool:
        """Whether a formula needs the first argument, which an in-place call overwrites."""
        return (_INPUT, 0) in self.plan(mask).reads
