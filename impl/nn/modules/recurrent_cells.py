"""One step of a recurrent network as a layer."""

from __future__ import annotations

import math

from impl.creation import empty, zeros
from impl.nn import init
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.operators import recurrence
from impl.tensor import Tensor


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
