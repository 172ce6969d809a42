"""One layer of an LSTM in one direction as a single operator, as in torch for float32 on a CPU.

The forward pass saves the gates of all steps; the backward pass processes them from the last to the
first (backpropagation through time; S. Hochreiter and J. Schmidhuber, 1997). A second derivative is
that of the same layer composed of products and gates.
"""

from __future__ import annotations

import numpy as np

from impl.core.grad_mode import enable_grad
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.definition import Array, operator
from impl.dispatch.formula_helpers import vjp
from impl.dispatch.not_implemented import no_primitive
from impl.kernels.reduced_precision import accumulate_dtype, widened
from impl.kernels.vectorized import column_sums
from impl.operators.layers.recurrent_cells import lstm_direction
from impl.tensor.tensor import requires_grad


def fits_recurrent_layer(input, params) -> bool:
    """Whether torch takes the single operator: float32 or bfloat16, and operands that are not
    empty."""
    return input.dtype.name in ("float32", "bfloat16") and input._raw.size > 0


def recurrent_layer(input, weights, state, reverse: bool):
    """The layer over (L, N, input): (L, N, hidden), and the last two states (N, hidden)."""
    if len(weights) == 2:
        blank = FUNCTIONS["zeros"]((weights[0]._raw.shape[0],), dtype=weights[0].dtype)
        weights = (*weights, blank, blank)
    return recurrent_layer_op(input, *weights, *state, reverse)[:3]


def _order(reverse: bool) -> slice:
    """The steps in the order in which they are run."""
    return slice(None, None, -1 if reverse else 1)


@operator(
    node="MkldnnRnnLayerBackward0",
    outputs=("output", "hy", "cy", "workspace"),
    function=False,
    method=False,
    autocast="lower_precision_fp",
)
def recurrent_layer_op(
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    hx_: Array,
    cx_: Array,
    reverse,
) -> tuple:
    kind = input.dtype
    x, w_ih, w_hh, h, c = map(widened, (input, weight0, weight1, hx_, cx_))
    bias = widened(weight2) + widened(weight3)
    (length, batch, _), hidden = x.shape, w_hh.shape[1]
    # The three gates that have a logistic function lie together, and are negated with their
    # weights, as that function needs it.
    w_ih, w_hh, bias = (_negated_gates(w, hidden) for w in (w_ih, w_hh, bias))
    given = (x.reshape(length * batch, -1) @ w_ih.T).reshape(length, batch, 4 * hidden)
    given += bias
    order = _order(reverse)
    output = np.empty((length, batch, hidden), x.dtype)
    # Of each step, in the order in which they are run: the reciprocals of the gates out, in and
    # forget, the cell, the state before the step, and the hyperbolic tangent of the one after it.
    workspace = np.empty((length + 1, 6, batch, hidden), x.dtype)
    workspace[0, 4] = c
    total = np.empty((batch, 4 * hidden), x.dtype)
    by_gate = total.reshape(batch, 4, hidden).swapaxes(0, 1)
    laid = np.empty((4, batch, hidden), x.dtype)
    logistic, linear = laid[:3], laid[3]
    terms = np.empty((2, batch, hidden), x.dtype)
    entering, kept = terms
    recurrent = np.ascontiguousarray(w_hh.T)  # of so few rows a product takes an eighth
    one = np.ones((), x.dtype)
    # A step is short, and costs as much as it has calls of NumPy: they write to the workspace, and
    # its parts are views that the iteration makes. Arithmetic is three times faster on arrays in
    # one piece, which a copy makes of the gates.
    parts = (slice(3), 3, 5, slice(3, 5), slice(1, 3), 0)
    views = [given[order], output[order], workspace[1:, 4]]
    views += [workspace[:-1, part] for part in parts]
    for added, out, c, gates, cell, squashed, values, rates, leaving in zip(*views, strict=True):
        h.dot(recurrent, total)
        np.add(total, added, total)
        laid[...] = by_gate
        np.exp(logistic, gates)
        np.add(gates, one, gates)
        np.tanh(linear, cell)
        np.divide(values, rates, terms)
        np.add(entering, kept, c)
        np.tanh(c, squashed)
        h = np.divide(squashed, leaving, out)
    made = (output, h.copy(), c.copy())
    return *(m.astype(kind, copy=False) for m in made), workspace


@recurrent_layer_op.checked
def _check(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse) -> None:
    """Raise RuntimeError for a dtype that oneDNN lacks or does not mix, and for no hidden units."""
    operands = (weight0, weight1, hx_, cx_)
    if any(value.dtype.itemsize > 4 for value in (*operands, weight2, weight3)):
        raise RuntimeError("get_mkldnn_dtype: unsupported data type")
    if any(value.dtype != input.dtype for value in operands) or not hx_.size:
        raise no_primitive("LSTM")
    broadcast_shapes(weight2.shape, weight3.shape)


def _negated_gates(weight, hidden: int):
    """The rows for the gates in the order of the workspace: out, in and forget, negated, then the
    cell. torch's order is in, forget, cell, out."""
    rows = np.concatenate([weight[3 * hidden :], weight[: 3 * hidden]])
    np.negative(rows[: 3 * hidden], out=rows[: 3 * hidden])
    return rows


def _slope_of_tanh(value, out):
    """The derivative where the hyperbolic tangent is `value`, in `out`."""
    np.multiply(value, value, out=out)
    return np.subtract(1, out, out=out)


def _backward(grads, input, weights, states, reverse, output, workspace, needs):
    _check(input, *weights, *states, reverse)
    kind = input.dtype
    x, w_ih, w_hh = widened(input), *(widened(w) for w in weights[:2])
    order = _order(reverse)
    steps = workspace[:-1].swapaxes(0, 1)
    _, length, batch, hidden = steps.shape
    wide = accumulate_dtype(kind)
    # All that does not depend on later steps is computed for all steps at once.
    gates = np.reciprocal(steps[:3], out=np.empty((3, length, batch, hidden), wide))
    leave, enter, forget = gates
    cell, before, squashed = steps[3:]
    through = _slope_of_tanh(squashed, np.empty(leave.shape, wide))
    through *= leave
    by_step = np.empty((length, 4, batch, hidden), wide)
    factors = by_step.swapaxes(0, 1)
    for factor, value, gate in ((0, cell, enter), (1, before, forget), (3, squashed, leave)):
        of_logistic = np.subtract(1, gate, out=factors[factor])
        of_logistic *= gate
        of_logistic *= value
    _slope_of_tanh(cell, factors[2])
    factors[2] *= enter
    slopes = np.empty((length, batch, 4 * hidden), wide)
    by_gate = slopes.reshape(length, batch, 4, hidden).swapaxes(1, 2)
    of_output, of_h, of_c = (None if g is None else widened(g) for g in grads[:3])
    if of_output is None:
        of_output = np.zeros((length, batch, hidden), wide)
    arriving = np.zeros((4, batch, hidden), wide)  # at the gates: that of the state for the first
    dc, dh = arriving[0], arriving[3]
    for total, grad in ((dh, of_h), (dc, of_c)):
        if grad is not None:
            total += grad
    back = slice(None, None, -1)
    walk = of_output[order], through, by_step, by_gate, slopes, forget
    copies, product = arriving[1:3], np.empty_like(arriving)
    for of_step, rate, factor, gates, slope, kept in zip(*(w[back] for w in walk), strict=True):
        np.add(dh, of_step, dh)
        np.add(dc, dh * rate, dc)
        copies[...] = dc
        np.multiply(factor, arriving, product)
        gates[...] = product
        slope.dot(w_hh, dh)
        np.multiply(dc, kept, dc)
    rows = slopes[order].reshape(length * batch, 4 * hidden)
    made: list = [None] * 7
    if needs[0]:
        made[0] = np.empty(x.shape, np.result_type(rows, w_ih))
        rows.dot(w_ih, made[0].reshape(len(rows), -1))
    if needs[1]:
        made[1] = rows.T @ x.reshape(length * batch, -1)
    if needs[2]:
        earlier = np.concatenate([widened(states[0])[None], widened(output)[order][:-1]])[order]
        made[2] = rows.T @ earlier.reshape(length * batch, hidden)
    if needs[3] or needs[4]:
        made[3] = column_sums(rows)
        made[4] = made[3].copy()
    made[5:] = dh.copy(), dc.copy()
    return tuple(
        m.astype(kind, copy=False) if need else None for m, need in zip(made, needs, strict=True)
    )


def _recording_backward(grads, input, weights, states, reverse, output, workspace, needs):
    """The recorded backward: the gradients as functions of all operands, from the composed
    layer."""
    with enable_grad():
        # Each operand is wrapped in a view, so that no operand depends on another.
        inner = [t.view_as(t) for t in (input, *weights, *states)]
        inner = [t if requires_grad(t) else t.detach() for t in inner]
        made, (h, c) = lstm_direction(inner[0], tuple(inner[5:]), inner[1:5], reverse)
        pairs = [(value, g) for value, g in zip((made, h, c), grads, strict=False) if g is not None]
        wanted = [t for t, need in zip(inner, needs, strict=True) if need]
        found = iter(vjp([value for value, _ in pairs], wanted, [g for _, g in pairs], True))
    return tuple(next(found) if need else None for need in needs)


array_ops.recurrent_layer_backward = _backward
tensor_ops.recurrent_layer_backward = _recording_backward


@recurrent_layer_op.differentiable("output", "hy", "cy").gradients(
    "input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"
)
def _gradients(
    F, grads, input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, output, workspace, needs
):
    weights, states = (weight0, weight1, weight2, weight3), (hx_, cx_)
    return F.recurrent_layer_backward(
        grads, input, weights, states, reverse, output, workspace, needs
    )


recurrent_layer_op.forward("unsupported", name="mkldnn_rnn_layer", invited=True)
