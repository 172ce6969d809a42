"""Recurrent layers and cells, composed of products and gates as in ATen (RNN.cpp)."""

from __future__ import annotations

import warnings
from functools import partial

from impl.core.registry import FUNCTIONS
from impl.dispatch.definition import function
from impl.operators.activations.dropout import dropout
from impl.operators.layers.lstm_layer import fits_recurrent_layer, recurrent_layer
from impl.operators.layers.recurrent_cells import (
    STEPS,
    direction,
    lstm_direction,
    lstm_step,
    packed_direction,
)
from impl.operators.products.linear import linear
from impl.tensor.tensor import Tensor


def _check_cell(input: Tensor, state: Tensor, w_ih: Tensor, w_hh: Tensor) -> None:
    given, expected, width = input._raw.shape[1], w_ih._raw.shape[1], w_hh._raw.shape[1]
    if given != expected:
        raise RuntimeError(f"input has inconsistent input_size: got {given} expected {expected}")
    if input._raw.shape[0] != state._raw.shape[0]:
        raise RuntimeError(
            f"Input batch size {input._raw.shape[0]} doesn't match hidden0 batch size "
            f"{state._raw.shape[0]}"
        )
    if state._raw.shape[1] != width:
        raise RuntimeError(
            f"hidden0 has inconsistent hidden_size: got {state._raw.shape[1]}, expected {width}"
        )


@function(method=False)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: (N, input), two states (N, hidden) and the weights of four gates, give
    the next states (torch.lstm_cell). Raises RuntimeError for states of other sizes."""
    _check_cell(input, hx[0], w_ih, w_hh)
    return lstm_step(lambda: linear(input, w_ih, b_ih), tuple(hx), w_hh, b_hh)


def _cell(name: str, mode: str):
    step = STEPS[mode]

    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        _check_cell(input, hx, w_ih, w_hh)
        return step(lambda: linear(input, w_ih, b_ih), hx, w_hh, b_hh)

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"""One step: (N, input), a state (N, hidden) and the weights give the next state
    (torch.{name}). Raises RuntimeError for a state of another size."""
    return function(name, method=False)(cell)


gru_cell = _cell("gru_cell", "GRU")
rnn_tanh_cell = _cell("rnn_tanh_cell", "RNN_TANH")
rnn_relu_cell = _cell("rnn_relu_cell", "RNN_RELU")

# -- layers -------------------------------------------------------------------------------------


def _fused_direction(input: Tensor, state, weights, reverse: bool):
    """`lstm_direction` as the single fused operator."""
    output, *last = recurrent_layer(input, weights, state, reverse)
    return output, last


def _layers(run, input, states, params, each, num_layers, p, train, bidirectional):
    """All layers: the last layer's output, and the last state of each layer and direction.

    `run` computes one layer in one direction from an input, a state, `each` weights, and a flag for
    the reverse direction.
    """
    weights = [params[i : i + each] for i in range(0, len(params), each)]
    directions = 2 if bidirectional else 1
    lasts = []
    for layer in range(num_layers):
        outputs = []
        for reverse in range(directions):
            number = layer * directions + reverse
            output, last = run(input, states[number], weights[number], bool(reverse))
            outputs.append(output)
            lasts.append(last)
        input = outputs[0] if directions == 1 else FUNCTIONS["cat"](outputs, -1)
        if p and train and layer < num_layers - 1:
            input = dropout(input, p, True)
    return input, lasts


def _is_projected(hx) -> bool:
    return hx[0]._raw.shape[2] != hx[1]._raw.shape[2]


def _plain_lstm(input, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    """An LSTM over (L, N, input), or (N, L, input) if `batch_first`: output and two last states.

    For each layer and direction, `params` holds two weights; with `has_biases`, two biases; and, if
    the two states differ in width, the weight that projects the first. Warns of a projection where
    torch would otherwise take its fused operator.
    """
    fused, projected = fits_recurrent_layer(input, params), _is_projected(hx)
    if fused and projected:
        warnings.warn(
            "LSTM with projections is not supported with oneDNN. Using default implementation.",
            stacklevel=4,
        )
    if batch_first:
        input = input.transpose(0, 1)
    if fused and not projected:
        states, run = [(hx[0][i], hx[1][i]) for i in range(len(hx[0]))], _fused_direction
    else:
        states = list(zip(hx[0].unbind(0), hx[1].unbind(0), strict=True))
        run = lstm_direction
    each = (4 if has_biases else 2) + projected
    output, lasts = _layers(run, input, states, params, each, num_layers, p, train, bidirectional)
    if batch_first:
        output = output.transpose(0, 1)
    return output, *_stacked(lasts)


def _stacked(lasts):
    stack = FUNCTIONS["stack"]
    return stack([h for h, _ in lasts], 0), stack([c for _, c in lasts], 0)


def _packed_lstm(data, batch_sizes, hx, params, has_biases, num_layers, p, train, bidirectional):
    """An LSTM over packed sequences (steps, input): packed output and two last states; see
    `_plain_lstm`."""
    states = list(zip(hx[0].unbind(0), hx[1].unbind(0), strict=True))
    run = partial(packed_direction, lstm_step, batch_sizes._raw.tolist())
    each = (4 if has_biases else 2) + _is_projected(hx)
    output, lasts = _layers(run, data, states, params, each, num_layers, p, train, bidirectional)
    return output, *_stacked(lasts)


def _simple(mode, input, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    """A layer with one state: "GRU", "RNN_TANH" or "RNN_RELU"; see `_plain_lstm`."""
    if batch_first:
        input = input.transpose(0, 1)
    run = partial(direction, STEPS[mode])
    each = 4 if has_biases else 2
    output, lasts = _layers(
        run, input, hx.unbind(0), params, each, num_layers, p, train, bidirectional
    )
    if batch_first:
        output.transpose_(0, 1)
    return output, FUNCTIONS["stack"](lasts, 0)


def _packed_simple(
    mode, data, batch_sizes, hx, params, has_biases, num_layers, p, train, bidirectional
):
    """A layer with one state over packed sequences: packed output and last states."""
    run = partial(packed_direction, STEPS[mode], batch_sizes._raw.tolist())
    each = 4 if has_biases else 2
    output, lasts = _layers(
        run, data, hx.unbind(0), params, each, num_layers, p, train, bidirectional
    )
    return output, FUNCTIONS["stack"](lasts, 0)


@function("lstm", method=False)
def _lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """An LSTM of several layers: output and two last states (torch.lstm). Raises RuntimeError
    unless `hx` is two states.

    The other overload takes packed data, batch sizes, states, weights, and all settings but the
    last.
    """
    if isinstance(hx, Tensor):
        rest = has_biases, num_layers, dropout, train, bidirectional, batch_first
        return _packed_lstm(input, hx, params, *rest)
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
    return _plain_lstm(input, tuple(hx), params, *settings)


def _named(name: str, mode: str) -> None:
    def layers(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
        if isinstance(params, Tensor):  # the overload for packed sequences
            return _packed_simple(mode, input, hx, params, *settings)
        return _simple(mode, input, hx, params, *settings)

    layers.__doc__ = f"Recurrent layers with one state: output and last states (torch.{name})."
    function(name, method=False)(layers)


for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _named(_name, _name.upper())
