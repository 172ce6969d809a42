"""Recurrent layers, over padded or packed sequences."""

from __future__ import annotations

import math
import warnings
from typing import Any

from impl.autocast import is_autocast_enabled
from impl.creation import empty, zeros
from impl.nn import init
from impl.nn.modules.module import Module
from impl.nn.packed_sequence import PackedSequence
from impl.nn.parameter import Parameter
from impl.operators import recurrence
from impl.tensor import Tensor

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What the recurrent layers share: weights for each layer and direction, and the states.

    Raises TypeError and ValueError for settings of no sense.
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

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _zero_state(self, input: Tensor, batch: int, width: int) -> Tensor:
        return zeros((self.num_layers * self._directions, batch, width), dtype=input.dtype)

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

    def _check_state(self, state: Tensor, batch: int, width: int, name: str) -> None:
        expected = (self.num_layers * self._directions, batch, width)
        if tuple(state.shape) != expected:
            raise RuntimeError(f"Expected {name} {expected}, got {[*state.shape]}")

    def _settings(self) -> tuple:
        return (
            [weight for weights in self.all_weights for weight in weights],
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )

    def _check_dims(self, input: Tensor, more: str = "") -> bool:
        """Whether there is a dimension of the batch. Raises ValueError for other ranks."""
        rank = input._raw.ndim
        if rank not in (2, 3):
            name = type(self).__name__
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {rank}D{more} instead")
        return rank == 3

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")


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


class _Simple(RNNBase):
    """A layer with one state."""

    _named = ""  # how a message goes on where the input has another rank

    def forward(self, input: Any, hx: Tensor | None = None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = self._check_dims(input, self._named)
        dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(dim)
        if hx is not None and hx._raw.ndim != (3 if batched else 2):
            what = (
                "batched 3-D input, hx should also be 3-D"
                if batched
                else ("unbatched 2-D input, hx should also be 2-D")
            )
            raise RuntimeError(f"For {what} but got {hx.dim()}-D tensor")
        batch = input.size(dim)
        if hx is None:
            hx = self._zero_state(input, batch, self.hidden_size)
        elif not batched:
            hx = hx.unsqueeze(1)
        self._check_input(input, 3)
        self._check_state(hx, batch, self.hidden_size, "hidden size")
        settings = *self._settings(), self.batch_first
        output, state = recurrence.simple(self.mode, input, hx, *settings)
        if not batched:
            output, state = output.squeeze(dim), state.squeeze(1)
        return output, state

    def _forward_packed(self, input: PackedSequence, hx: Tensor | None):
        data, sizes, order, back = input
        batch = int(sizes[0])
        width = self.hidden_size
        hx = self._zero_state(data, batch, width) if hx is None else _permuted(hx, order)
        self._check_input(data, 2)
        self._check_state(hx, batch, width, "hidden size")
        made, state = recurrence.packed_simple(self.mode, data, sizes, hx, *self._settings())
        return PackedSequence(made, sizes, order, back), _permuted(state, back)


def _refuse_projection(settings: dict) -> None:
    if "proj_size" in settings:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(_Simple):
    """A layer with tanh or relu between the steps (torch.nn.RNN)."""

    _named = " tensor"

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


class GRU(_Simple):
    """Gated recurrent units (torch.nn.GRU); K. Cho et al., EMNLP 2014."""

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (torch.nn.LSTM); S. Hochreiter and J. Schmidhuber, 1997. With
    `proj_size` the output goes through one matrix more (H. Sak et al., 2014)."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _zero_states(self, input: Tensor, batch: int) -> tuple[Tensor, Tensor]:
        widths = self.proj_size or self.hidden_size, self.hidden_size
        h, c = (self._zero_state(input, batch, width) for width in widths)
        return h, c

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = self._check_dims(input)
        dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(dim)
        batch = input.size(dim)
        if hx is None:
            hx = self._zero_states(input, batch)
        else:
            rank = 3 if batched else 2
            if any(h._raw.ndim != rank for h in hx):
                what = "batched 3-D" if batched else "unbatched 2-D"
                raise RuntimeError(
                    f"For {what} input, hx and cx should also be {rank}-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            if not batched:
                hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self._check_input(input, 3)
        self._check_state(hx[0], batch, self.proj_size or self.hidden_size, "hidden[0] size")
        self._check_state(hx[1], batch, self.hidden_size, "hidden[1] size")
        settings = *self._settings(), self.batch_first
        output, h, c = recurrence.lstm(input, hx, *settings)
        if not batched:
            output, h, c = output.squeeze(dim), h.squeeze(1), c.squeeze(1)
        return output, (h, c)

    def _forward_packed(self, input: PackedSequence, hx):
        data, sizes, order, back = input
        if hx is None:
            hx = self._zero_states(data, int(sizes[0]))
        else:
            hx = tuple(_permuted(state, order) for state in hx)
        made, *states = recurrence.packed_lstm(data, sizes, hx, *self._settings())
        output = PackedSequence(made, sizes, order, back)
        return output, tuple(_permuted(state, back) for state in states)
