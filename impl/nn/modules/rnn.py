"""Recurrent layers, over padded or packed sequences, and cells, which compute one time step."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

from impl.core.devices import check_device
from impl.dispatch.autocast import is_autocast_enabled
from impl.factories.creation import zeros
from impl.nn import init
from impl.nn.modules.families import nondefault
from impl.nn.modules.module import Module
from impl.nn.packed_sequence import PackedSequence
from impl.nn.parameter import Parameter, empty_parameter
from impl.operators.layers import rnn
from impl.tensor.tensor import Tensor

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class _Recurrent(Module):
    """A module with `hidden_size`, on which its parameters' initial values depend."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNBase(_Recurrent):
    """Settings and parameters of a recurrent layer, for each layer and direction.

    Raises TypeError and ValueError for settings of a wrong type or range.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        check_device(device)
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_kinds(bool, bias=bias, batch_first=batch_first)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        rows, state = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else state * self._directions
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, width),
                    "weight_hh": (rows, state),
                }
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], empty_parameter(shape, dtype))
                self._names.append(names)
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def flatten_parameters(self) -> None:
        """Does nothing: flat weights are an optimisation for CUDA."""

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _check_input(self, input: Tensor, dims: int) -> None:
        kind = getattr(self, self._names[0][0]).dtype
        if input.dtype is not kind and not is_autocast_enabled("cpu"):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). "
                f"Convert input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        if input._raw.ndim != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input._raw.ndim}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _settings(self) -> tuple:
        return (
            [weight for weights in self.all_weights for weight in weights],
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + nondefault(
            self,
            proj_size=0,
            num_layers=1,
            bias=True,
            batch_first=False,
            dropout=0.0,
            bidirectional=False,
        )


def _check_dropout(dropout, num_layers: int) -> None:
    number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
    if not (number and 0 <= dropout <= 1):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )


def _check_kinds(kind: type, **values) -> None:
    for name, value in values.items():
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )


def _check_sizes(input_size: int, hidden_size: int, num_layers: int, proj_size: int) -> None:
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        _check_kinds(int, **{name: size})
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _permuted(state: Tensor, order: Tensor | None) -> Tensor:
    return state if order is None else state.index_select(1, order)


class _Layer(RNNBase):
    """A recurrent layer with one state, or with two if it is an LSTM."""

    _is_pair = False
    _rank_text = ""  # continues the message about an input with another number of dimensions

    def forward(self, input: Any, hx: Any = None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        rank = input._raw.ndim
        if rank not in (2, 3):
            got = f"{rank}D{self._rank_text}"
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {got} instead"
            )
        dim = 0 if self.batch_first else 1
        if rank == 2:
            input = input.unsqueeze(dim)
        batch = input.size(dim)
        states: Any
        run: Any
        if hx is None:
            states = self._zero_states(input, batch)
        else:
            states = hx if self._is_pair else (hx,)
            self._check_state_ranks(states, rank)
            if rank == 2:
                states = [state.unsqueeze(1) for state in states]
        self._check_input(input, 3)
        self._check_states(states, batch)
        if self._is_pair:
            run = partial(rnn.lstm, input, states)
        else:
            run = partial(rnn.simple, self.mode, input, states[0])
        output, *states = run(*self._settings(), self.batch_first)
        if rank == 2:
            output, states = output.squeeze(dim), [state.squeeze(1) for state in states]
        return output, tuple(states) if self._is_pair else states[0]

    def _forward_packed(self, input: PackedSequence, hx: Any):
        data, sizes, order, back = input
        batch = int(sizes[0])
        if hx is None:
            states = self._zero_states(data, batch)
        else:
            states = [_permuted(state, order) for state in (hx if self._is_pair else (hx,))]
        if self._is_pair:  # PyTorch does not check the input of a packed LSTM.
            run = partial(rnn.packed_lstm, data, sizes, states)
        else:
            self._check_input(data, 2)
            self._check_states(states, batch)
            run = partial(rnn.packed_simple, self.mode, data, sizes, states[0])
        output, *states = run(*self._settings())
        states = [_permuted(state, back) for state in states]
        result = tuple(states) if self._is_pair else states[0]
        return PackedSequence(output, sizes, order, back), result

    def _state_shapes(self, batch: int) -> list[tuple[int, int, int]]:
        hidden = self.hidden_size
        widths = (self.proj_size or hidden, hidden) if self._is_pair else (hidden,)
        return [(self.num_layers * self._directions, batch, width) for width in widths]

    def _zero_states(self, input: Tensor, batch: int) -> list[Tensor]:
        return [zeros(shape, dtype=input.dtype) for shape in self._state_shapes(batch)]

    def _check_state_ranks(self, states, rank: int) -> None:
        if all(state._raw.ndim == rank for state in states):
            return
        what = "batched 3-D" if rank == 3 else "unbatched 2-D"
        if self._is_pair:
            got = f"({states[0].dim()}-D, {states[1].dim()}-D) tensors"
        else:
            got = f"{states[0].dim()}-D tensor"
        names = "hx and cx" if self._is_pair else "hx"
        raise RuntimeError(f"For {what} input, {names} should also be {rank}-D but got {got}")

    def _check_states(self, states, batch: int) -> None:
        for i, expected in enumerate(self._state_shapes(batch)):
            if tuple(states[i].shape) != expected:
                name = f"hidden[{i}]" if self._is_pair else "hidden"
                raise RuntimeError(f"Expected {name} size {expected}, got {[*states[i].shape]}")


def _refuse_projection(settings: dict) -> None:
    if "proj_size" in settings:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(_Layer):
    """A recurrent layer with tanh or ReLU (torch.nn.RNN)."""

    _rank_text = " tensor"

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(_Layer):
    """Gated recurrent units (torch.nn.GRU); K. Cho et al., EMNLP 2014."""

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(_Layer):
    """Long short-term memory (torch.nn.LSTM); S. Hochreiter and J. Schmidhuber, 1997.

    With `proj_size` the hidden state is projected by a further matrix (H. Sak et al., 2014).
    """

    _is_pair = True

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("LSTM", *args, **kwargs)


# -- cells --------------------------------------------------------------------------------------


class RNNCellBase(_Recurrent):
    """Settings and parameters of a cell, and one step with or without a batch."""

    _gates: int
    _states = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        check_device(device)
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates * hidden_size
        self.weight_ih = empty_parameter((rows, input_size), dtype)
        self.weight_hh = empty_parameter((rows, hidden_size), dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty_parameter(rows, dtype, bias))
        self.reset_parameters()

    def _next(self, step, input: Tensor, hx: Any):
        """The next state, or tuple of states, that `step` computes."""
        kind, rank = type(self).__name__, input._raw.ndim
        if rank not in (1, 2):
            raise ValueError(f"{kind}: Expected input to be 1D or 2D, got {rank}D instead")
        states = () if hx is None else hx if isinstance(hx, tuple) else (hx,)
        for i, state in enumerate(states):
            if state._raw.ndim not in (1, 2):
                name = f"hx[{i}]" if isinstance(hx, tuple) else "hidden"
                raise ValueError(
                    f"{kind}: Expected {name} to be 1D or 2D, got {state._raw.ndim}D instead"
                )
        if rank == 1:
            input, states = input.unsqueeze(0), tuple(state.unsqueeze(0) for state in states)
        if not states:
            shape = input.size(0), self.hidden_size
            states = (zeros(shape, dtype=input.dtype),) * self._states
        given = states[0] if self._states == 1 else states
        result = step(input, given, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if rank == 2:
            return result
        return result.squeeze(0) if self._states == 1 else tuple(r.squeeze(0) for r in result)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + nondefault(self, bias=True)


class RNNCell(RNNCellBase):
    """One step of an RNN (torch.nn.RNNCell)."""

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        check_device(device)
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        return super().extra_repr() + nondefault(self, nonlinearity="tanh")

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        is_tanh = self.nonlinearity == "tanh"
        step = rnn.rnn_tanh_cell if is_tanh else rnn.rnn_relu_cell
        return self._next(step, input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU (torch.nn.GRUCell)."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(rnn.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM (torch.nn.LSTMCell)."""

    _gates, _states = 4, 2

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None):
        return self._next(rnn.lstm_cell, input, hx)
