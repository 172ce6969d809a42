"""Recurrent cells, which compute one time step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.method_names import owns_methods_of
from impl.core.registry import C
from impl.factories.creation import zeros
from impl.nn.modules.families import nondefault
from impl.nn.modules.rnn import _Recurrent
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor


@owns_methods_of(_Recurrent)
class RNNCellBase(_Recurrent):
    """Settings and parameters of a cell, and one step with or without a batch."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, factory = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = empty_parameter((rows, input_size), **factory)
        self.weight_hh = empty_parameter((rows, hidden_size), **factory)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty_parameter(rows, bias, **factory))
        self.reset_parameters()

    def _check_rank(self, tensor: Any, name: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {tensor.dim()}D "
                "instead"
            )

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zero_state(self, input: Tensor) -> Tensor:
        shape = input.size(0), self.hidden_size
        return zeros(*shape, dtype=input.dtype, device=input.device)

    def _next(self, input: Tensor, hx: Any, step: Callable) -> Tensor:
        """The next state, for a cell with one state."""
        self._check_rank(input, "input")
        if hx is not None:
            self._check_rank(hx, "hidden")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zero_state(input)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        result = step(input, hx, *self._weights())
        return result if is_batched else result.squeeze(0)

    def extra_repr(self) -> str:
        bias = "" if self.bias is True else f", bias={self.bias}"  # 1 is shown, too
        return f"{self.input_size}, {self.hidden_size}{bias}"


class RNNCell(RNNCellBase):
    """One step of an RNN (torch.nn.RNNCell)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        return super().extra_repr() + nondefault(self, nonlinearity="tanh")

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, hx, self._step)

    def _step(self, *args) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return getattr(C, f"rnn_{self.nonlinearity}_cell")(*args)


class GRUCell(RNNCellBase):
    """One step of a GRU (torch.nn.GRUCell)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, hx, C.gru_cell)


class LSTMCell(RNNCellBase):
    """One step of an LSTM (torch.nn.LSTMCell)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None):
        self._check_rank(input, "input")
        for i, state in enumerate(() if hx is None else hx):
            self._check_rank(state, f"hx[{i}]")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = (self._zero_state(input),) * 2
        elif not is_batched:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        h, c = C.lstm_cell(input, hx, *self._weights())
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))
