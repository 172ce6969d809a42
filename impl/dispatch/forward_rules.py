"""Forward mode through operators: from the tangents of the operands to those of the results.

An operator says with `forward` how tangents pass it; what most do is known without that:

- an element-wise operator of one operand multiplies with the derivative as its gradient formula
  does: the Jacobian is its own transpose;
- a view operator is linear: it is applied to the tangent as to the primal;
- whatever says nothing takes its gradient formula, which is linear in the gradient, and transposes
  it by differentiating it once more.

A forward *formula* is computed on tensors. Its parameters name its arguments: `x_t` is the
tangent of the input x (zeros if it has none), `x` its primal (without tangent), `result` or an
output's name the result, any other argument of the operator its value. An output has a tangent if
one of the inputs whose tangents its formula names has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dtypes import category_of_number
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.core.zero_arrays import zero_array
from impl.dispatch.formula_helpers import vjp
from impl.dispatch.kernel_parameters import names_of
from impl.dispatch.recorded_tangents import kept, single, slope
from impl.engine.gradient_values import RECORDING
from impl.graph.accumulate_grad import AccumulateGrad
from impl.graph.edge import gradient_edge
from impl.tape import dual_tensor
from impl.tensor import forward_grad
from impl.tensor.allocation import dense_strides
from impl.tensor.batched_tensor import writable
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor, new, requires_grad
from impl.tensor.write import resize
from impl.tensor.zero_tensors import _is_zerotensor

Values = dict[int, Any]  # by the position of the argument
_OF_NUMBERS = (np.bool_, np.int64, np.float64, np.complex128)  # by category, as tensors of numbers


# -- zeros -----------------------------------------------------------------------------------
# An operand without tangent stands for zeros; a product with these is zero, whatever the factor.


def _zeros_for(operand):
    """Zeros in the place of the tangent that an operand lacks."""
    if operand is None:
        return None
    if isinstance(operand, Tensor):
        zeros = tensor_ops.new_zeros(operand, operand._raw.shape)
    else:  # of a number's dtype as a tensor, which promotes others without dimensions
        zeros = new(_OF_NUMBERS[category_of_number(operand)](0))
    zeros._zero = True
    return zeros


def _is_zero(value) -> bool:
    return isinstance(value, Tensor) and _is_zerotensor(value)


def _become_zeros(result: Tensor) -> None:
    """Make a new result the ZeroTensor of its sizes."""
    if result.is_meta:
        result._zero = True
        return
    result._raw = zero_array(result._raw.shape, result._raw.dtype)
    result._strides = result._memory = result._dense_meta = None


def pass_zeros(op, args, outputs) -> None:
    """Give a result its value where operands are known zeros, and mark it if it is one too."""
    zero = [_is_zero(a) for a in args]
    if _is_zero(outputs[0]):  # of ZeroArrays, which a kernel knows
        return
    if op.name in ("mul", "mul_scalar", "dot", "vdot") or (op.name == "div" and zero[0]):
        _become_zeros(outputs[0])
    elif op.is_view:
        for output in outputs:
            output._zero = True
    elif op.name in ("add", "sub") and zero[0] and zero[1]:
        _become_zeros(outputs[0])
    elif op.name in ("add", "sub"):
        alpha = args[2]
        term = args[0] if zero[1] else (args[1] if op.name == "add" else -args[1])
        if zero[0] and alpha != 1:
            term = term * alpha
        if isinstance(term, Tensor):
            shape = outputs[0]._raw.shape
            resize(outputs[0], shape, dense_strides(tensor_ops.expand(term, shape)))
            term = term._raw
        outputs[0]._array()[...] = term


# -- rules -------------------------------------------------------------------------------------


class ForwardCall:
    """One call of an operator on operands some of which have tangents, and its results."""

    def __init__(self, op, args, tangents: Values, written: bool = False) -> None:
        self.op = op
        self.args = args
        self.tangents = tangents
        self.written = written
        self.outputs: tuple = ()

    def tangent(self, position: int):
        """The tangent of an operand, or zeros; None for a target whose tangent does not exist
        yet."""
        tangent = self.tangents.get(position)
        if tangent is None:
            if self.written and not position and self.op.forward_writes:
                return None
            tangent = _zeros_for(self.args[position])
            if self.written and not position:
                tangent._zero = False  # a product with it is taken
                tangent = writable(tangent, *self.tangents.values())
        return tangent

    def read_saved(self, parameter: str):
        """The argument of a formula, forward or gradient, for one of its parameters."""
        op = self.op
        base, _, what = parameter.rpartition("_")
        if what == "t" and base in op.position:
            return self.tangent(op.position[base])
        if what == "conj":
            return tensor_ops.conj(self.read_saved(base))
        if parameter in op.position:
            return dual_tensor.primal(self.args[op.position[parameter]])
        if parameter in op.outputs:
            return self.outputs[op.outputs.index(parameter)]
        return op.read_saved(*op.saved_source(parameter), self.args, self.outputs)


def elementwise(call: ForwardCall):
    """Multiply with the derivative as the only input's gradient formula does."""
    (formula,) = call.op.formulas
    tangent = call.tangents.get(_input_of(formula, call))
    return (None if tangent is None else _term(formula, call, tangent),)


def elementwise_in_each(call: ForwardCall):
    """The sum of the terms that the inputs' gradient formulas make of the tangents; an input
    without tangent counts as zeros, which make negative zeros of the other term positive."""
    total = None
    for formula in call.op.formulas:
        term = _term(formula, call, call.tangent(_input_of(formula, call)))
        total = term if total is None else total + term
    return (total,)


def _input_of(formula, call: ForwardCall) -> int:
    """The position of the input whose gradient a formula makes."""
    ((name,), _, _) = formula
    return call.op.position[name]


def _term(formula, call: ForwardCall, tangent):
    """An element-wise gradient formula applied to a tangent, conjugated before and after: the
    formula multiplies with the conjugate of the derivative."""
    _, function, parameters = formula
    grad = tensor_ops.conj(tangent)
    given = [grad if p == "grad" else call.read_saved(p) for p in parameters]
    return tensor_ops.conj(function(tensor_ops, *given))


class Reapplied:
    """Apply the operator itself to the tangents, with some of its other arguments replaced.

    `directly` says that a write in place does so to the tangent in place.
    """

    def __init__(self, directly: bool = False, **replaced) -> None:
        self.directly = directly
        self.replaced = replaced

    def __call__(self, call: ForwardCall):
        result = call.op(*self.arguments(call))
        return result if isinstance(result, tuple) else (result,)

    def arguments(self, call: ForwardCall) -> list:
        """The arguments of the application to the tangents."""
        op, given = call.op, [*call.args]
        if not op.list_edges:
            for _, i in op.grad_inputs:
                given[i] = call.tangent(i)
        else:
            position = op.list_position
            given[position] = [
                _zeros_for(a) if t is None else t
                for t, a in zip(call.tangents[position], call.args[position], strict=True)
            ]
        for name, value in self.replaced.items():
            given[op.position[name]] = value
        return given


class Formulas:
    """A forward formula for each output that has one."""

    def __init__(self, formulas: dict[str, Callable]) -> None:
        self.formulas = [
            (output, function, names_of(function)[1:]) for output, function in formulas.items()
        ]

    def __call__(self, call: ForwardCall):
        op = call.op
        results: list = [None] * len(op.outputs)
        for output, function, parameters in self.formulas:
            sources = [op.position[p[:-2]] for p in parameters if p[-2:] == "_t"]
            if any(i in call.tangents for i in sources):
                given = [call.read_saved(p) for p in parameters]
                results[op.outputs.index(output)] = function(tensor_ops, *given)
        return results


class Unsupported:
    """Refuse, as torch does where it has no rule for the operator of this name. Raises
    NotImplementedError."""

    def __init__(self, text: str, name: str, ending: str = "") -> None:
        self.text, self.name, self.ending = text, name, ending

    def __call__(self, call: ForwardCall):
        ending = "." if self.ending and call.written else self.ending
        name = self.name.rstrip("_") + "_" if call.written else self.name
        raise NotImplementedError(self.text.format(name) + ending)


def rule_of(op) -> Callable:
    """The rule that an operator states, or the default rule of its kind."""
    if op.forward_rule is None:
        op.forward_rule = _known(op)
    return op.forward_rule


def _known(op) -> Callable:
    stated, more = op.forward_statement
    if stated == "linear":
        return Reapplied()
    if stated == "reapplied":
        return Reapplied(True, **more)
    if stated == "unsupported":
        ending = messages.FORWARD_INVITATION if "invited" in more else "."
        return Unsupported(messages.FORWARD_UNSUPPORTED, more["name"], ending)
    if stated == "unknown" or op.node_name == "NotImplemented":
        name = op.formulas[0][1].operator if op.formulas else op.name
        return Unsupported(messages.FORWARD_UNKNOWN, name)
    if stated == "elementwise":
        return elementwise_in_each
    if stated == "zeroed":
        return Formulas({"result": lambda F, self_t: self_t.zero_()})
    if stated is not None:
        return Formulas({"result": stated})
    if more:
        return Formulas(more)
    if op.is_view:
        return Reapplied()
    single = len(op.formulas) == 1 and len(op.formulas[0][0]) == 1 and len(op.outputs) == 1
    return elementwise if op.elementwise and single else transposed


# -- the transpose of the gradient formulas ----------------------------------------------------


def transposed(call: ForwardCall):
    """Differentiate the gradient formulas, which are linear in the gradient, once more."""
    op = call.op
    recorded, STATE.enabled = STATE.enabled, True
    try:
        seeds = {i: _seed(call.outputs[i]) for i in _made_outputs(call)}
        node, sources = _stand_in(call)
        arriving = [seeds.get(i) for i in op.differentiable_outputs]
        gradients = node._evaluate(arriving, RECORDING, None)
        pairs = [
            (g, _fitted(t, g))
            for g, t in zip(gradients, sources, strict=True)
            if t is not None and g is not None and requires_grad(g)
        ]
        found: Any = [None] * len(seeds)
        if pairs:
            linked = any(map(requires_grad, tensors_of((call.args, sources))))
            gradients, cotangents = zip(*pairs, strict=True)
            found = vjp(gradients, list(seeds.values()), cotangents, recorded and linked)
    finally:
        STATE.enabled = recorded
    results: list = [None] * len(call.outputs)
    for index, tangent in zip(seeds, found, strict=True):
        output = call.outputs[index]
        results[index] = tensor_ops.zeros_like(output) if tangent is None else tangent
    return results


def _made_outputs(call: ForwardCall) -> list[int]:
    """The differentiable outputs but those that an `output_mask` does not ask for."""
    op = call.op
    mask = call.args[op.position["output_mask"]] if "output_mask" in op.position else None
    return [i for i in op.differentiable_outputs if mask is None or mask[i]]


def _seed(output: Tensor) -> Tensor:
    seed: Any = tensor_ops.new_zeros(output, output._raw.shape)
    seed._requires_grad = forward_grad.can_have(output)
    seed._level = _OfRule  # so that a transform does not take it for a tensor of the caller
    return seed


class _OfRule:
    """The level of leaves that a rule makes: none that runs."""

    running = False


def _stand_in(call: ForwardCall):
    """A node as the operator would record it if all that has a tangent required grad.

    Its edges lead to where gradients of what requires grad go, by which a saved result is
    differentiated. Also the tangents, by edge.
    """
    op, args = call.op, call.args
    if op.list_edges:
        sources = call.tangents[op.list_position]
        nowhere = (AccumulateGrad(_seed(call.outputs[0])), 0)
        edges = [gradient_edge(a) or nowhere for a in args[op.list_position]]
        return op.node(args, call.outputs, 1, edges), sources
    mask, edges, sources = 0, [], []
    for bit, i in op.grad_inputs:
        edge = gradient_edge(args[i]) if isinstance(args[i], Tensor) else None
        tangent = call.tangents.get(i)
        if edge is not None or tangent is not None:
            mask |= bit
        edges.append(edge)
        sources.append(tangent)
    return op.node(args, call.outputs, mask, edges), sources


def _fitted(tangent: Tensor, gradient: Tensor) -> Tensor:
    """The tangent as cotangent of a gradient that is yet to be summed and cast."""
    if tangent._raw.shape != gradient._raw.shape:
        tangent = tangent.expand(gradient._raw.shape)
    return tensor_ops.cast_to(tangent, gradient._raw.dtype)


# -- applying them -----------------------------------------------------------------------------


def tangents_of(op, args) -> Values:
    """The tangents of the operands that have one; of a list of tensors, a list."""
    found: Values = {}
    # Of an operator without any derivative all operands count.
    unknown = op.forward_statement[0] == "unknown"
    for i in op.tensor_positions if unknown else [i for _, i in op.grad_inputs]:
        tangent = forward_grad.fw_grad(args[i]) if isinstance(args[i], Tensor) else None
        if tangent is not None:
            found[i] = tangent
    if op.list_edges:
        each = [
            forward_grad.fw_grad(t) if isinstance(t, Tensor) else None
            for t in args[op.list_position]
        ]
        if any(t is not None for t in each):
            found[op.list_position] = each
    return found


def note_computed(args, outputs) -> None:
    """Let each transform that runs take note of the results of an operator, and of its operands."""
    for transform in STATE.transforms:
        transform.note_computed(tensors_of(args), outputs)


def propagate(op, args, outputs) -> None:
    """Give the results of an operator the tangents that follow from those of its operands."""
    if not forward_grad.is_entered():
        return
    note_computed(args, outputs)
    if any(map(_is_zero, args)):
        pass_zeros(op, args, outputs)
    forward_grad.at_each_level(_push, op, args, outputs)


def _push(op, args, outputs) -> None:
    """`propagate` at the current level."""
    tangents = tangents_of(op, args)
    if not tangents:
        return
    call = ForwardCall(op, args, tangents)
    call.outputs = outputs
    with forward_grad.computing() as recorded:
        found = (recording if recorded else rule_of(op))(call)
    for output, tangent in zip(outputs, found, strict=True):
        if tangent is not None and forward_grad.can_have(output):
            forward_grad.set_fw_grad(output, tangent)
            forward_grad.note_on_node(output)


def recording(call: ForwardCall):
    """The tangents of results, to be differentiated after the function has ended."""
    rule = rule_of(call.op)
    if call.op.is_view:
        return [None if one is None else single(one) for one in rule(call)]
    call.args, call.outputs = kept(call.args), kept(call.outputs)
    if call.op.forward_is_final:
        return slope(rule, call) if rule is elementwise else transposed(call)
    return rule(call)


def refuse(op, args, written: bool = False) -> None:
    """Raise NotImplementedError if an operand has a tangent and the operator, which writes in place
    if `written`, has no rule."""
    if not forward_grad.is_entered():
        return
    tangents = tangents_of(op, args)
    if tangents and isinstance(rule := rule_of(op), Unsupported):
        rule(ForwardCall(op, args, tangents, written))
