"""Recurrent layers and cells."""

from __future__ import annotations

import math
import warnings

from impl.creation import empty, zeros
from impl.nn import init
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.operators import recurrence
from impl.tensor import Tensor

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What the recurrent layers share: weights for each layer and direction, and the states."""

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
        super().__init__()
        if proj_size:
            raise NotImplementedError("LSTM with proj_size")
        if (
            not isinstance(dropout, (int, float))
            or isinstance(dropout, bool)
            or not (0 <= dropout <= 1)
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}",
                stacklevel=3,
            )
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        rows = _GATES[mode] * hidden_size
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, width),
                    "weight_hh": (rows, hidden_size),
                }
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], Parameter(empty(shape, dtype=dtype)))
                self._names.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def flatten_parameters(self) -> None:
        """Nothing: this is for another device's memory."""

    def _zero_state(self, input: Tensor, batch: int) -> Tensor:
        count = self.num_layers * (2 if self.bidirectional else 1)
        return zeros((count, batch, self.hidden_size), dtype=input.dtype)

    def _check_input(self, input: Tensor) -> None:
        if input._raw.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input._raw.ndim}D "
                "instead"
            )
        if input.dtype is not self.weight_ih_l0.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({self.weight_ih_l0.dtype}). Convert input: input.to({self.weight_ih_l0.dtype}), "
                f"or convert model: model.to({input.dtype})"
            )
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _check_state(self, state: Tensor, input: Tensor, name: str = "hidden") -> None:
        batch = input.size(0 if self.batch_first else 1)
        count = self.num_layers * (2 if self.bidirectional else 1)
        expected = (count, batch, self.hidden_size)
        if tuple(state.shape) != expected:
            shown = "hidden size" if name == "hidden" else name
            raise RuntimeError(f"Expected {shown} {expected}, got {[*state.shape]}")

    def _settings(self):
        return (
            [weight for weights in self.all_weights for weight in weights],
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")


class _Simple(RNNBase):
    """A layer with one state."""

    def forward(self, input: Tensor, hx: Tensor | None = None):
        self._check_input(input)
        batched = input._raw.ndim == 3
        dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(dim)
            if hx is not None:
                if hx._raw.ndim != 2:
                    raise RuntimeError(
                        f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D "
                        "tensor"
                    )
                hx = hx.unsqueeze(1)
        elif hx is not None and hx._raw.ndim != 3:
            raise RuntimeError(
                f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor"
            )
        if hx is None:
            hx = self._zero_state(input, input.size(dim))
        self._check_state(hx, input)
        output, state = recurrence.simple(self.mode, input, hx, *self._settings())
        if not batched:
            output, state = output.squeeze(dim), state.squeeze(1)
        return output, state


class RNN(_Simple):
    """A layer with tanh or relu between the steps (torch.nn.RNN)."""

    def __init__(self, *args, **kwargs) -> None:
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self_nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = self_nonlinearity


class GRU(_Simple):
    """Gated recurrent units (torch.nn.GRU); K. Cho et al., EMNLP 2014."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (torch.nn.LSTM); S. Hochreiter and J. Schmidhuber, 1997."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None):
        self._check_input(input)
        batched = input._raw.ndim == 3
        dim = 0 if self.batch_first else 1
        rank = 3 if batched else 2
        if hx is not None and any(h._raw.ndim != rank for h in hx):
            what = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {what} input, hx and cx should also be {rank}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        if not batched:
            input = input.unsqueeze(dim)
            if hx is not None:
                hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        if hx is None:
            batch = input.size(dim)
            hx = (self._zero_state(input, batch), self._zero_state(input, batch))
        self._check_state(hx[0], input, "hidden[0] size")
        self._check_state(hx[1], input, "hidden[1] size")
        output, h, c = recurrence.lstm(input, hx, *self._settings())
        if not batched:
            output, h, c = output.squeeze(dim), h.squeeze(1), c.squeeze(1)
        return output, (h, c)


class RNNCellBase(Module):
    """What the cells share: the weights of one step."""

    gates: int

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype)) if bias else None)
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _batched(self, input: Tensor, state):
        """Input and state (one, or a pair) with a batch, and whether there was one."""
        name = type(self).__name__
        if input._raw.ndim not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input._raw.ndim}D instead"
            )
        states = () if state is None else state if isinstance(state, tuple) else (state,)
        for i, one in enumerate(states):
            if one._raw.ndim not in (1, 2):
                place = f"hx[{i}]" if isinstance(state, tuple) else "hidden"
                raise ValueError(
                    f"{name}: Expected {place} to be 1D or 2D, got {one._raw.ndim}D instead"
                )
        batched = input._raw.ndim == 2
        if not batched:
            input = input.unsqueeze(0)
            states = tuple(one.unsqueeze(0) for one in states)
        return input, states, batched

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else text + f", bias={self.bias}"


class RNNCell(RNNCellBase):
    """One step of an RNN (torch.nn.RNNCell)."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        input, states, batched = self._batched(input, hx)
        state = states[0] if states else zeros((input.size(0), self.hidden_size), dtype=input.dtype)
        step = recurrence.rnn_tanh_cell if self.nonlinearity == "tanh" else recurrence.rnn_relu_cell
        result = step(input, state, *self._weights())
        return result if batched else result.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of a GRU (torch.nn.GRUCell)."""

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        input, states, batched = self._batched(input, hx)
        state = states[0] if states else zeros((input.size(0), self.hidden_size), dtype=input.dtype)
        result = recurrence.gru_cell(input, state, *self._weights())
        return result if batched else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM (torch.nn.LSTMCell)."""

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None):
        input, states, batched = self._batched(input, hx)
        if not states:
            blank = zeros((input.size(0), self.hidden_size), dtype=input.dtype)
            states = (blank, blank)
        h, c = recurrence.lstm_cell(input, states, *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
