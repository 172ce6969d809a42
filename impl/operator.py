"""Operators: one kernel, one formula per input, and every spelling made from them.

    @operator(promote="float", elementwise=True, inplace=True)
    def sigmoid(self: Array) -> Array:
        return scipy.special.expit(self)

    sigmoid.gradient(self=lambda F, grad, result: grad * (1 - result) * result)

The *kernel* takes raw values (NumPy arrays, or NumPy scalars for 0-dim tensors) for the parameters
annotated `Array`, `Array | None` or `list[Array]`, everything else as given, and returns a new
array or a tuple of them. It never returns an argument or a view of one.

A *formula* names what it needs by its parameters, and by that says what is saved: an input (the
tensor is saved), `result` or an output's name (the output is saved), any other argument of the
operator (its value), `x_shape`, `x_dtype` (NumPy), `x_layout` (shape, strides, offset) of an input
x, `grad` (of the first output), `grads` (of all), `grad_<output>`, `needs` (per differentiable
input). `F` holds the operations it may use besides Python's operators: kernels when gradients are
raw arrays, operators when they are tensors (`create_graph=True`).
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from impl import messages
from impl.dtypes import (
    BY_NUMPY,
    CATEGORY,
    DIFFERENTIABLE,
    FLOATING,
    bfloat16,
    category_of_number,
    get_default_dtype,
    result_dtype,
)
from impl.graph import Node, SavedTensor, gradient_edge
from impl.modes import STATE
from impl.storage import (
    Storage,
    contiguous_strides,
    elementwise_strides,
    empty_strided,
    strides_of,
)
from impl.tensor import Tensor, requires_grad

Array: TypeAlias = Any  # in kernels' annotations: a raw value, array or NumPy scalar

# `F.records` lets a formula take the shorter way that torch takes when nothing is recorded.
RAW = SimpleNamespace(records=False)  # F over arrays: kernels
TAPED = SimpleNamespace(records=True)  # F over tensors: operators
OPERATORS: dict[str, Operator] = {}
FUNCTIONS: dict = {}  # the functions of the torch namespace

_GENERIC = np.generic
_BFLOAT16 = np.dtype(bfloat16.numpy)
_NUMBERS = (bool, int, float, complex, np.generic)


def new(raw, strides=None) -> Tensor:
    """A tensor over a new raw value; `strides` None stands for row-major."""
    tensor = Tensor.__new__(Tensor)
    tensor._raw = raw
    tensor._storage = Storage(raw)
    if strides is not None:
        tensor._strides = strides
    return tensor


class Plan:
    """For one set of inputs that require grad: what to save, and which formulas to run."""

    __slots__ = ("formulas", "names", "reads", "saves_tensors", "versions")

    def __init__(self, operator: Operator, mask: int) -> None:
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


_INPUT, _LIST, _OUTPUT, _VALUE, _SHAPE, _DTYPE, _LAYOUT, _CONSTANT, _GRADIENT = range(9)
_TENSOR_READS = (_INPUT, _LIST, _OUTPUT)


class OperatorNode(Node):
    """A node of an operator: runs the operator's formulas on what its plan saved."""

    operator: Operator
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


class Operator:
    """A primitive operator; calling it applies it to tensors. See the module's text."""

    validate = None  # checks the raw arguments before they are promoted
    validate_out = None  # checks the dtype of out= and the raw arguments
    numbers = False  # whether Python numbers stand for 0-dim tensors
    layouts = None  # from the arguments, the (shape, strides) that the result's layout follows

    def __init__(self, kernel, node, promote, elementwise, outputs, fresh) -> None:
        self.kernel = _positional(kernel)
        self.name = kernel.__name__.rstrip("_")
        self.node_name = node or _camel(self.name) + "Backward0"
        self.promote = promote
        self.elementwise = elementwise
        self.outputs = outputs
        self.fresh = fresh
        self.formulas: list = []
        self.edge_of: dict[str, int] = {}
        self.plans: dict[int, Plan] = {}
        self.differentiable_outputs = tuple(range(len(outputs)))
        parameters = inspect.signature(kernel).parameters.values()
        self.parameters = [p.name for p in parameters]
        self.position = {name: i for i, name in enumerate(self.parameters)}
        annotated = {p.name: str(p.annotation) for p in parameters}
        self.tensor_positions = tuple(
            i for i, n in enumerate(self.parameters) if annotated[n].startswith("Array")
        )
        self.numbers = len(self.tensor_positions) > 1
        self.optional = {
            i for i in self.tensor_positions if "None" in annotated[self.parameters[i]]
        }
        lists = [n for n in self.parameters if annotated[n].startswith("list[Array")]
        self.list_position = self.position[lists[0]] if lists else None
        self.list_edges = False
        self.bits: tuple = ()
        # What is written in place must not overlap itself or, in part, the operands; `overlaps`
        # allows the first (True, or what to warn of), `disjoint` forbids all sharing ("late": but
        # looks at shapes first), `guarded` are the positions of the operands.
        self.overlaps: bool | tuple[str, str] = False
        self.disjoint: bool | str = False
        self.guarded = self.tensor_positions[1:]
        self.node_class = type(self.node_name, (OperatorNode,), {"operator": self})
        self.node_class.__module__ = "torch.autograd.functions"

    # -- definition -------------------------------------------------------------------------

    def gradient(self, /, **formulas) -> Operator:
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

    def checked(self, validate) -> Operator:
        """Decorate what raises, from the raw arguments as given, for those torch refuses."""
        self.validate = validate
        return validate

    def differentiable(self, *outputs: str) -> Operator:
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
            return (_OUTPUT, self.outputs.index(name))
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

    # -- application ------------------------------------------------------------------------

    def __call__(self, *args):
        """Apply to tensors (positional arguments, all of them), recording if needed."""
        if self.list_edges:
            return self._apply_list(args)
        raws, mask, strided = self._unwrap(args)
        result = self._run(raws)
        outputs: tuple[Tensor, ...]
        if len(self.outputs) == 1:
            outputs = (self._output(result, raws, strided, args),)
        else:
            outputs = tuple(self._output(r, raws, False, args) for r in result)
        if mask:
            self._record(args, outputs, mask)
        return outputs[0] if len(self.outputs) == 1 else outputs

    def _unwrap(self, args, written: bool = False):
        raws = [*args]
        strided = False
        for i in self.tensor_positions:
            a = args[i]
            if isinstance(a, Tensor):
                raws[i] = a._raw
                if a._strides is not None:
                    strided = True
            elif a is None and i in self.optional:
                continue
            elif not (self.numbers and isinstance(a, _NUMBERS)):
                # A method's own tensor is not counted.
                name, place = (self.name + "_", i) if written else (self.name, i + 1)
                raise TypeError(
                    f"{name}(): argument '{_public(self.parameters[i])}' (position {place}) "
                    f"must be Tensor, not {type(a).__name__}"
                )
        if self.list_position is not None:
            raws[self.list_position] = [
                None if t is None else t._raw for t in args[self.list_position]
            ]
        mask = 0
        if STATE.enabled:
            for bit, i in self.bits:
                a = args[i]
                if isinstance(a, Tensor) and (
                    a._node is not None
                    or a._requires_grad
                    or (a._view is not None and a.requires_grad)
                ):
                    mask |= bit
        return raws, mask, strided

    def _run(self, raws):
        if self.validate is not None:
            self.validate(*raws)
        if self.promote is not None:
            self._promote(raws)
        try:
            return self.kernel(*raws)
        except ValueError as error:
            shapes = [np.shape(raws[i]) for i in self.tensor_positions if raws[i] is not None]
            if self.elementwise and len(shapes) > 1:
                raise RuntimeError(messages.broadcast(shapes)) from None
            raise RuntimeError(str(error)) from error

    def _promote(self, raws) -> None:
        positions = self.tensor_positions
        first = None
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            d = getattr(value, "dtype", None)
            if d is None:
                category = category_of_number(value)
                if first is None or category > CATEGORY[first] or CATEGORY[first] < FLOATING:
                    break
            elif first is None:
                first = d
            elif d is not first:
                break
            if first is _BFLOAT16:  # NumPy takes a Python number next to it for a float32
                break
        else:
            if self.promote != "float" or CATEGORY[first] >= FLOATING:
                return
        present = [raws[i] for i in positions if raws[i] is not None]
        target = result_dtype(present)
        if self.promote == "float" and target.category < FLOATING:
            target = get_default_dtype()
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            if isinstance(value, (np.ndarray, _GENERIC)):
                if value.dtype != target.numpy:
                    raws[i] = value.astype(target.numpy)
            else:
                # Through an array, so that an integer out of range wraps around as torch's does.
                raws[i] = np.asarray(value).astype(target.numpy)[()]

    def _output(self, raw, raws, strided: bool, args) -> Tensor:
        if self.elementwise:
            if strided and raw.ndim:
                return new(*self._laid_out(raw, args))
        elif raw.ndim > 1 and not raw.flags.c_contiguous:
            if self.fresh:
                return new(raw, strides_of(raw))
            raw = np.ascontiguousarray(raw)
        return new(raw)

    def _laid_out(self, raw, args):
        if self.layouts is not None:
            operands = self.layouts(args)
        else:
            present = (args[i] for i in self.tensor_positions if args[i] is not None)
            operands = [
                (a._raw.shape, a.stride()) if isinstance(a, Tensor) else ((), ()) for a in present
            ]
        strides = elementwise_strides(raw.shape, operands)
        if strides is None:
            return np.ascontiguousarray(raw) if raw.ndim else raw, None
        laid = empty_strided(raw.shape, strides, raw.dtype)
        laid[...] = raw
        return laid, strides

    def _record(self, args, outputs, mask: int) -> None:
        if outputs[self.differentiable_outputs[0]]._raw.dtype not in DIFFERENTIABLE:
            return
        node = self.node(args, outputs, mask, self.edges(args, mask))
        for number, index in enumerate(self.differentiable_outputs):
            output = outputs[index]
            output._node = node
            output._nr = number

    def plan(self, mask: int) -> Plan:
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = Plan(self, mask)
        return plan

    def edges(self, args, mask: int) -> list:
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
        node.meta = tuple(
            [(o._raw.shape, o._raw.dtype) for o in self._tracked(outputs or targets)]
        )
        node.saved = [
            None if outputs is None and kind == _OUTPUT
            else self._read(kind, which, args, outputs or targets)
            for kind, which in plan.reads
        ]
        return node

    def _tracked(self, outputs):
        return [outputs[i] for i in self.differentiable_outputs]

    def _read(self, kind, which, args, outputs):
        if kind == _INPUT:
            value = args[which]
            return SavedTensor(value, False) if isinstance(value, Tensor) else value
        if kind == _OUTPUT:
            # An output that is never differentiable has no history, and is kept like an input.
            if which not in self.differentiable_outputs:
                return SavedTensor(outputs[which], False)
            saved = SavedTensor(outputs[which], True)
            saved.number = self.differentiable_outputs.index(which)
            return saved
        if kind == _VALUE:
            return args[which]
        if kind == _GRADIENT or kind == _CONSTANT:
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

    def _apply_list(self, args):
        position = self.list_position
        tensors = args[position]
        raws = [*args]
        raws[position] = [t._raw if isinstance(t, Tensor) else t for t in tensors]
        for i in self.tensor_positions:
            if isinstance(args[i], Tensor):
                raws[i] = args[i]._raw
        result = self.kernel(*raws)
        outputs = (self._output(result, raws, False, args),)
        if STATE.enabled and self.list_edges:
            flags = [isinstance(t, Tensor) and requires_grad(t) for t in tensors]
            if any(flags) and result.dtype in DIFFERENTIABLE:
                edges = [
                    gradient_edge(t) if f else None for t, f in zip(tensors, flags, strict=True)
                ]
                outputs[0]._node = self.node(args, outputs, 1, edges)
        return outputs[0]

    def inplace(self, *args):
        """Apply and write the result into the first argument, rewriting its history.

        Raises RuntimeError as torch does: on leaves and their views, forbidden views, memory that
        overlaps itself, a broadcast that would change the shape, a dtype that cannot be cast.
        """
        from impl import inplace

        target = args[0]
        raws, mask, _ = self._unwrap(args, written=True)
        inplace.check(target, mask != 0)
        tracked = mask and target._raw.dtype in DIFFERENTIABLE
        edges = self.edges(args, mask) if tracked else ()
        operands = [args[i] for i in self.guarded]
        late = self.disjoint == "late"
        inplace.check_memory(target, () if late else operands, self.overlaps, self.disjoint)
        try:
            result = self._run(raws)
        except NotImplementedError:
            # torch looks whether the result can be cast before it looks for a kernel.
            if self.promote is not None:
                present = [raws[i] for i in self.tensor_positions if raws[i] is not None]
                inplace.check_cast(result_dtype(present).numpy, target._raw.dtype)
            raise
        if late:
            inplace.check_memory(target, operands, True, True)
        inplace.check_fits(target, result)
        if not tracked:
            inplace.write(target, result)
            return target
        # Edges and saved inputs are those from before the write: afterwards the target has a new
        # history, and an operand that shares its memory is stale, as torch has it. If the formula
        # needs what is about to be overwritten, a copy of it is saved, with its history.
        recorded = (target.clone(), *args[1:]) if self._saves_target(mask) else args
        node = self.node(recorded, None, mask, edges, (target,))
        inplace.write(target, result)
        for i, (kind, which) in enumerate(node.plan.reads):
            if kind == _OUTPUT:
                node.saved[i] = self._read(kind, which, args, (target,))
        inplace.rebase(target, node)
        return target

    def _saves_target(self, mask: int) -> bool:
        return (_INPUT, 0) in self.plan(mask).reads

    def into(self, out, args):
        """Apply and write into `out=`; nothing is recorded.

        Raises RuntimeError when grad mode is on and an argument or `out` requires grad.
        """
        from impl import inplace

        raws, mask, _ = self._unwrap(args)
        inplace.check_out(self.name, out, mask != 0)
        if self.validate_out is not None:
            self.validate_out(out._raw.dtype, *raws)
        inplace.write_out(out, self._run(raws))
        return out


def _positional(kernel):
    """The kernel as the operator calls it, with keyword-only parameters by position too."""
    parameters = inspect.signature(kernel).parameters.values()
    if not any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return kernel
    names = [p.name for p in parameters]
    call = [f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters]
    return eval(f"lambda {', '.join(names)}: _kernel({', '.join(call)})", {"_kernel": kernel})


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _public(parameter: str) -> str:
    return "input" if parameter == "self" else parameter


def operator(
    *,
    node: str | None = None,
    promote: str | None = None,
    elementwise: bool = False,
    outputs: tuple[str, ...] = ("result",),
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool = False,
    fresh: bool = False,
    numbers: bool = True,
):
    """Define a primitive operator from its kernel.

    Args:
        node: the name of its node; by default the operator's, as `SigmoidBackward0`.
        promote: None; "arithmetic" (operands are cast to their common dtype); "float" (and
            integers to the default floating dtype).
        elementwise: the result takes its strides from the operands as ATen's TensorIterator does.
        outputs: the outputs' names when there are several.
        function, method, inplace, out: which public spellings to make from it.
        fresh: keep the kernel's own strides (they are torch's) instead of making it row-major.
        numbers: whether, of several operands, any may be a Python number.
    """

    def define(kernel) -> Operator:
        op = Operator(kernel, node, promote, elementwise, outputs, fresh)
        op.numbers = op.numbers and numbers
        OPERATORS[op.name] = op
        call = _spelling(op, kernel, out)
        setattr(RAW, op.name, kernel)
        setattr(TAPED, op.name, call)
        if function:
            FUNCTIONS[op.name] = call
        if method:
            setattr(Tensor, op.name, call)
        if inplace:
            written = _spelling(op, kernel, False, inplace=True)
            setattr(Tensor, op.name + "_", written)
            if function:
                FUNCTIONS[op.name + "_"] = written
        return op

    return define


def _spelling(op: Operator, kernel, out: bool, inplace: bool = False):
    """A function with the kernel's own signature that applies the operator."""
    signature = inspect.signature(kernel)
    defaults: dict = {}
    pieces, starred = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            pieces.append("*")
            starred = True
        name = _public(p.name)
        if p.default is p.empty:
            pieces.append(name)
        else:
            defaults[f"_d{len(defaults)}"] = p.default
            pieces.append(f"{name}=_d{len(defaults) - 1}")
    arguments = ", ".join(map(_public, op.parameters))
    name = op.name + ("_" if inplace else "")
    if out:
        pieces += ([] if starred else ["*"]) + ["out=None"]
        body = f"    if out is not None: return _op.into(out, ({arguments},))\n"
    else:
        body = ""
    target = "_op.inplace" if inplace else "_op"
    source = f"def {name}({', '.join(pieces)}):\n{body}    return {target}({arguments})\n"
    scope = {"_op": op, **defaults}
    exec(source, scope)
    made = scope[name]
    made.__doc__ = kernel.__doc__
    made.__qualname__ = name
    return made


def alias(name: str, *others: str) -> None:
    """Publish an operator's or a composite's spellings, in-place ones included, by other names."""
    for other in others:
        for suffix in ("", "_"):
            if name + suffix in FUNCTIONS:
                FUNCTIONS[other + suffix] = FUNCTIONS[name + suffix]
            if hasattr(Tensor, name + suffix):
                setattr(Tensor, other + suffix, getattr(Tensor, name + suffix))


def function(name: str | None = None, *, method: bool = True, torch: bool = True):
    """Publish a composite: a Python function written with operators, as torch composes it."""

    def define(composite):
        public = name or composite.__name__
        if torch:
            FUNCTIONS[public] = composite
        if method:
            setattr(Tensor, public, composite)
        return composite

    return define


def written(function, times=1):
    """Mark a formula whose gradient torch makes in place, in new memory: that counts as a write,
    and shows as the version of a `.grad` that was taken over. `times` is how often, or a function
    that says so from which outputs' gradients arrived."""
    function.writes = times
    return function


def formula_operation(function):
    """Make a function of raw values (and its tensor twin) available to formulas as `F.name`.

    Use on the raw version; give the tensor version with `TAPED.name = ...`.
    """
    setattr(RAW, function.__name__, function)
    return function


__all__ = [
    "BY_NUMPY",
    "FUNCTIONS",
    "OPERATORS",
    "RAW",
    "TAPED",
    "Array",
    "alias",
    "contiguous_strides",
    "formula_operation",
    "function",
    "new",
    "operator",
    "written",
]
