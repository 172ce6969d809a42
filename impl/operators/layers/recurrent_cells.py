"""Recurrent steps, and one layer in one direction composed of them (RNN, GRU and LSTM)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from impl.core.dtypes import int64
from impl.core.registry import FUNCTIONS
from impl.dispatch.not_implemented import require_scalar_type
from impl.operators.layers.packed_sequences import backwards, forwards
from impl.operators.products.linear import linear
from impl.operators.views.splitting import unsafe_chunk
from impl.tensor.tensor import Tensor

# -- one step -----------------------------------------------------------------------------------
#
# A step takes the input's part of the gates as a tensor, which a layer computes in one product for
# all steps, or as a function, which a cell passes because torch computes the state's part first.


def _sum(gates, state: Tensor, w_hh, b_hh) -> Tensor:
    total = linear(state, w_hh, b_hh)
    return total.add_(gates if isinstance(gates, Tensor) else gates())


def lstm_step(gates, state, w_hh, b_hh, w_hr=None):
    h, c = state
    total = _sum(gates, h, w_hh, b_hh)
    enter, forget, cell, leave = unsafe_chunk(total, 4, 1)
    enter, forget = enter.sigmoid_(), forget.sigmoid_()
    cell, leave = cell.tanh_(), leave.sigmoid_()
    c = (forget * c).add_(enter * cell)
    h = leave * c.tanh()
    return (h if w_hr is None else h.matmul(w_hr.t())), c


def _gru_step(gates, state: Tensor, w_hh, b_hh) -> Tensor:
    given = unsafe_chunk(gates if isinstance(gates, Tensor) else gates(), 3, 1)
    held = unsafe_chunk(linear(state, w_hh, b_hh), 3, 1)
    reset = held[0].add_(given[0]).sigmoid_()
    update = held[1].add_(given[1]).sigmoid_()
    new = given[2].add(held[2].mul_(reset)).tanh_()
    return (state - new).mul_(update).add_(new)


def _tanh_step(gates, state: Tensor, w_hh, b_hh) -> Tensor:
    return _sum(gates, state, w_hh, b_hh).tanh()


def _relu_step(gates, state: Tensor, w_hh, b_hh) -> Tensor:
    return _sum(gates, state, w_hh, b_hh).relu()


STEPS = {"GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}


def _run(step, gates: Sequence[Tensor], state, w_hh, b_hh):
    """The outputs of all steps, and the last state."""
    outputs = []
    for gate in gates:
        state = step(gate, state, w_hh, b_hh)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return outputs, state


def _split(step, weights):
    """The step, and the weights and biases of a layer in one direction.

    If the number of weights is odd, the last one is the step's projection.
    """
    if len(weights) % 2:
        step, weights = partial(step, w_hr=weights[-1]), weights[:-1]
    return step, *(*weights, None, None)[:4]


def direction(step, input: Tensor, state, weights, reverse: bool):
    """A layer in one direction: stacked outputs, and the last state."""
    step, w_ih, w_hh, b_ih, b_hh = _split(step, weights)
    gates = list(linear(input, w_ih, b_ih).unbind(0))
    if not gates:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    outputs, last = _run(step, gates[::-1] if reverse else gates, state, w_hh, b_hh)
    return FUNCTIONS["stack"](outputs[::-1] if reverse else outputs, 0), last


def packed_direction(step, batch_sizes: Tensor, input: Tensor, state, weights, reverse: bool):
    """A layer in one direction over packed sequences: packed outputs, and the last states."""
    require_scalar_type(batch_sizes._raw, int64.numpy)
    step, w_ih, w_hh, b_ih, b_hh = _split(step, weights)
    walk = backwards if reverse else forwards
    sizes = batch_sizes._raw.tolist()
    return walk(step, linear(input, w_ih, b_ih), sizes, state, w_hh, b_hh)


def lstm_direction(input: Tensor, state, weights, reverse: bool):
    """One layer of an LSTM in one direction: stacked outputs, and the last two states."""
    return direction(lstm_step, input, state, weights, reverse)
