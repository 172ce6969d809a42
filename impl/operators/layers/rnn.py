"""Recurrent layers and cells, composed of products and gates as in ATen (RNN.cpp)."""

from __future__ import annotations

from functools import partial

from impl.core.dtypes import int64
from impl.core.registry import FUNCTIONS
from impl.core.warning import warn_once
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import function
from impl.dispatch.not_implemented import require_scalar_type
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


def _check_input(input: Tensor, expected: int) -> None:
    """Raise RuntimeError for an input that is no batch of the width (ATen's
    check_rnn_cell_forward_input)."""
    given = input._raw.shape
    if len(given) != 2:
        raise RuntimeError(f"Expected 2D input (batch x feature), but got {len(given)}D input")
    if given[1] != expected:
        raise RuntimeError(f"input has inconsistent input_size: got {given[1]} expected {expected}")


def _check_states(input: Tensor, states, width: int) -> None:
    """Raise RuntimeError for states that are no batches of the width (ATen's
    check_rnn_cell_forward_hidden)."""
    given = input._raw.shape
    for i, state in enumerate(states):
        shape = state._raw.shape
        if len(shape) != 2:
            raise RuntimeError(
                f"Expected 2D hidden{i} (batch x hidden_size), but got {len(shape)}D tensor"
            )
        if given[0] != shape[0]:
            raise RuntimeError(
                f"Input batch size {given[0]} doesn't match hidden{i} batch size {shape[0]}"
            )
        if shape[1] != width:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {shape[1]}, expected {width}"
            )


def _check_weights(w_ih: Tensor, w_hh: Tensor, gates: int, width: int) -> None:
    """Raise RuntimeError for weights that are not of so many gates of hidden units."""
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        found = weight.size(0)
        if found != gates * width:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * width}, but got {found}"
            )


@function(method=False, batching="composed_no_rule")
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: (N, input), two states (N, hidden) and the weights of four gates, give
    the next states (torch.lstm_cell). Raises RuntimeError for states of other sizes."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    width = w_hh.size(1)
    _check_input(input, w_ih.size(1))
    _check_states(input, hx, width)
    _check_weights(w_ih, w_hh, 4, width)
    return lstm_step(lambda: linear(input, w_ih, b_ih), tuple(hx), w_hh, b_hh)


def _cell(name: str, mode: str):
    step = STEPS[mode]

    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        if mode == "GRU":
            _check_input(input, w_ih.size(1))
            width = w_hh.size(1)
            _check_states(input, (hx,), width)
            _check_weights(w_ih, w_hh, 3, width)
        else:
            width = w_hh.size(1)
            _check_weights(w_ih, w_hh, 1, width)
            _check_input(input, w_ih.size(1))
            _check_states(input, (hx,), width)
        return step(lambda: linear(input, w_ih, b_ih), hx, w_hh, b_hh)

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"""One step: (N, input), a state (N, hidden) and the weights give the next state
    (torch.{name}). Raises RuntimeError for a state of another size."""
    return function(name, method=False, batching="composed_fallback")(cell)


gru_cell = _cell("gru_cell", "GRU")
rnn_tanh_cell = _cell("rnn_tanh_cell", "RNN_TANH")
rnn_relu_cell = _cell("rnn_relu_cell", "RNN_RELU")

# -- layers -------------------------------------------------------------------------------------


def _fused_direction(input: Tensor, state, weights, reverse: bool):
    """`lstm_direction` as the single fused operator."""
    output, *last = recurrent_layer(input, weights, state, reverse)
    return output, last


def _gathered(params, each: int) -> list:
    """The weights of each layer and direction. Raises RuntimeError for a number of them that is
    none of layers (ATen's gather_params)."""
    if len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    return [params[i : i + each] for i in range(0, len(params), each)]


def _check_stack(states, weights, num_layers: int, directions: int) -> None:
    for values in (weights, states):
        if len(values) % directions:
            raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    for name, values in (("hidden states", states), ("weights", weights)):
        if len(values) != num_layers * directions:
            raise RuntimeError(f"Expected more {name} in stacked_rnn")


def _fused_operands(hx, params, each: int, count: int) -> tuple[list, list]:
    """The states and the weights of each layer and direction, as oneDNN's layers take them: there
    may be more. Raises RuntimeError for less of them."""
    if len(params) % each:
        raise RuntimeError(f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {each}")
    if count < 0:
        raise RuntimeError("cannot create std::vector larger than max_size()")
    states, weights = [], []
    for start in range(0, count * each, each):
        if start + each > len(params):
            raise RuntimeError(
                f"ArrayRef: invalid slice, N = {start}; M = {each}; size = {len(params)}"
            )
        weights.append(params[start : start + each])
        states.append(tuple(value.select(0, start // each) for value in hx))
    return states, weights


def _layers(run, input, states, weights, num_layers, p, train, bidirectional):
    """All layers: the last layer's output, and the last state of each layer and direction.

    `run` computes one layer in one direction from an input, a state, its weights, and a flag for
    the reverse direction. Raises RuntimeError for another number of states or weights.
    """
    directions = 2 if bidirectional else 1
    _check_stack(states, weights, num_layers, directions)
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
    second = hx[1].size(2)
    return hx[0].size(2) != second


def _plain_lstm(input, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    """An LSTM over (L, N, input), or (N, L, input) if `batch_first`: output and two last states.

    For each layer and direction, `params` holds two weights; with `has_biases`, two biases; and, if
    the two states differ in width, the weight that projects the first. Warns of a projection where
    torch would otherwise take its fused operator.
    """
    fused, projected = fits_recurrent_layer(input, params), _is_projected(hx)
    if fused and projected:
        warn_once(
            "LSTM with projections is not supported with oneDNN. Using default implementation.",
        )
    if batch_first:
        input = input.transpose(0, 1)
    each = (4 if has_biases else 2) + projected
    if fused and not projected:
        states, weights = _fused_operands(hx, params, each, num_layers * (1 + bidirectional))
        run = _fused_direction
    else:
        weights = _gathered(params, each)
        states = list(zip(hx[0].unbind(0), hx[1].unbind(0), strict=True))
        run = lstm_direction
    output, lasts = _layers(run, input, states, weights, num_layers, p, train, bidirectional)
    if batch_first:
        output = output.transpose(0, 1)
    return output, *_stacked(lasts)


def _check_batch_sizes(batch_sizes: Tensor) -> None:
    if batch_sizes._raw.ndim != 1:
        raise RuntimeError("batch_sizes tensor should be 1D")


def _stacked(lasts):
    stack = FUNCTIONS["stack"]
    return stack([h for h, _ in lasts], 0), stack([c for _, c in lasts], 0)


def _packed_lstm(data, batch_sizes, hx, params, has_biases, num_layers, p, train, bidirectional):
    """An LSTM over packed sequences (steps, input): packed output and two last states; see
    `_plain_lstm`."""
    _check_batch_sizes(batch_sizes)
    projected = _is_projected(hx)
    if fits_recurrent_layer(data, params) and not projected:
        require_scalar_type(batch_sizes._raw, int64.numpy)
        sizes = {*batch_sizes._raw.tolist()}
        if len(sizes) == 1:  # which are sequences of one length
            steps = data.view(len(batch_sizes), *sizes, data.size(-1))
            settings = has_biases, num_layers, p, train, bidirectional, False
            output, *lasts = _plain_lstm(steps, hx, params, *settings)
            return output.view(len(data), output.size(-1)), *lasts
    weights = _gathered(params, (4 if has_biases else 2) + projected)
    states = list(zip(hx[0].unbind(0), hx[1].unbind(0), strict=True))
    run = partial(packed_direction, lstm_step, batch_sizes)
    output, lasts = _layers(run, data, states, weights, num_layers, p, train, bidirectional)
    return output, *_stacked(lasts)


def _simple(mode, input, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    """A layer with one state: "GRU", "RNN_TANH" or "RNN_RELU"; see `_plain_lstm`."""
    if batch_first:
        input = input.transpose(0, 1)
    run = partial(direction, STEPS[mode])
    weights = _gathered(params, 4 if has_biases else 2)
    output, lasts = _layers(run, input, hx.unbind(0), weights, num_layers, p, train, bidirectional)
    if batch_first:
        output.transpose_(0, 1)
    return output, FUNCTIONS["stack"](lasts, 0)


def _packed_simple(
    mode, data, batch_sizes, hx, params, has_biases, num_layers, p, train, bidirectional
):
    """A layer with one state over packed sequences: packed output and last states."""
    _check_batch_sizes(batch_sizes)
    run = partial(packed_direction, STEPS[mode], batch_sizes)
    weights = _gathered(params, 4 if has_biases else 2)
    output, lasts = _layers(run, data, hx.unbind(0), weights, num_layers, p, train, bidirectional)
    return output, FUNCTIONS["stack"](lasts, 0)


def _without_rule(name: str, layers):
    """The layers of ATen's overload of this name, for which `vmap` has no batching rule."""
    return RULES["composed_no_rule"](in_aten(name)(layers))


_of_data, _of_input = (
    _without_rule("lstm.data", _packed_lstm),
    _without_rule("lstm.input", _plain_lstm),
)


@function("lstm", method=False)
def _lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """An LSTM of several layers: output and two last states (torch.lstm). Raises RuntimeError
    unless `hx` is two states.

    The other overload takes packed data, batch sizes, states, weights, and all settings but the
    last.
    """
    if isinstance(hx, Tensor):
        if len(params) != 2:
            raise RuntimeError("lstm expects two hidden states")
        rest = has_biases, num_layers, dropout, train, bidirectional, batch_first
        return _of_data(input, hx, params, *rest)
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
    return _of_input(input, tuple(hx), params, *settings)


def _named(name: str, mode: str) -> None:
    of_data = _without_rule(f"{name}.data", partial(_packed_simple, mode))
    of_input = _without_rule(f"{name}.input", partial(_simple, mode))

    def layers(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
        if isinstance(params, Tensor):  # the overload for packed sequences
            return of_data(input, hx, params, *settings)
        return of_input(input, hx, params, *settings)

    layers.__doc__ = f"Recurrent layers with one state: output and last states (torch.{name})."
    function(name, method=False)(layers)


for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _named(_name, _name.upper())
