"""Recurrent layers, over padded or packed sequences."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any, ClassVar

from impl.core.method_names import owns_methods_of
from impl.core.registry import C
from impl.dispatch.autocast import is_autocast_enabled
from impl.factories.creation import zeros
from impl.nn import init
from impl.nn.modules.families import nondefault
from impl.nn.modules.module import Module
from impl.nn.packed_sequence import PackedSequence
from impl.nn.parameter import Parameter, empty_parameter
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


@owns_methods_of(_Recurrent)
class RNNBase(_Recurrent):
    """Settings and parameters of a recurrent layer, for each layer and direction.

    Raises TypeError and ValueError for settings of a wrong type or range.
    """

    _impl_added_attributes: ClassVar[dict[str, Any]] = {"proj_size": 0}
    _rank_text = ""  # continues the message about an input with another number of dimensions

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
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        _check_dropout(dropout, num_layers)
        _check_kinds(bool, bias=bias, batch_first=batch_first)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if not isinstance(mode, str) or mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._all_weights: list[list[str]] = []
        self._flat_weights_names: list[str] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                end = f"_l{layer}{suffix}"
                shapes = self._weight_shapes(layer)
                for name, shape in shapes.items():
                    weight = empty_parameter(shape, device=device, dtype=dtype)
                    setattr(self, name + end, weight)
                self._all_weights.append([name + end for name in shapes])
                self._flat_weights_names += self._all_weights[-1]
        self.reset_parameters()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, and the list of weights that torch's layer has among them."""
        return super().__getstate__() | {"_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_flat_weights", None)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _weight_shapes(self, layer: int) -> dict[str, Any]:
        rows, state = _GATES[self.mode] * self.hidden_size, self.hidden_size
        if self.proj_size > 0:
            state = self.proj_size
        width = self.input_size if layer == 0 else state * self._directions
        shapes: dict[str, Any] = {"weight_ih": (rows, width), "weight_hh": (rows, state)}
        if self.bias:
            shapes |= {"bias_ih": rows, "bias_hh": rows}
        if self.proj_size != 0:
            shapes["weight_hr"] = self.proj_size, self.hidden_size
        return shapes

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter | None]:
        own = self._parameters
        return [
            own[name] if name in own else getattr(self, name, None)
            for name in self._flat_weights_names
        ]

    def flatten_parameters(self) -> None:
        """Does nothing: flat weights are an optimisation for CUDA."""

    def check_input(self, input: Tensor, batch_sizes: Any) -> None:
        """Raise ValueError for a dtype, or RuntimeError for a size, that the weights do not fit."""
        kind = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != kind and not is_autocast_enabled("cpu"):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). "
                f"Convert input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Any, width: int):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions, batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Any):
        """The size of the hidden state for an input."""
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self._state_size(input, batch_sizes, width)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError with `msg` for a state of another size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Any) -> None:
        """Raise what `check_input` and `check_hidden_size` raise."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state in another order of the batch."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _as_batch(self, input: Tensor) -> tuple[Tensor, int, bool]:
        """The input with a batch, the batch's dimension, and whether the input had one.

        Raises ValueError for other numbers of dimensions.
        """
        if input.dim() not in (2, 3):
            got = f"{input.dim()}D{self._rank_text}"
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {got} instead"
            )
        is_batched = input.dim() == 3
        dim = 0 if self.batch_first else 1
        return input if is_batched else input.unsqueeze(dim), dim, is_batched

    def _zero_state(self, input: Tensor, batch: Any, width: int) -> Tensor:
        shape = self.num_layers * self._directions, batch, width
        return zeros(*shape, dtype=input.dtype, device=input.device)

    def _settings(self) -> tuple:
        return (
            self._flat_weights,
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
    number = isinstance(dropout, numbers.Number)
    if not number or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=2,
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


def _refuse_projection(settings: dict[str, Any]) -> None:
    if "proj_size" in settings:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class _OneState(RNNBase):
    """A recurrent layer with one state."""

    def forward(self, input: Any, hx: Any = None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(*input, hx)
        input, dim, is_batched = self._as_batch(input)
        if hx is None:
            hx = self._zero_state(input, input.size(dim), self.hidden_size)
        else:
            _check_state_rank(hx, is_batched)
            hx = hx if is_batched else hx.unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, hx, *self._settings(), self.batch_first)
        return (output, hidden) if is_batched else (output.squeeze(dim), hidden.squeeze(1))

    def _forward_packed(self, data: Tensor, batch_sizes: Any, order, back, hx: Any):
        if hx is None:
            hx = self._zero_state(data, batch_sizes[0], self.hidden_size)
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._run(data, batch_sizes, hx, *self._settings())
        packed = PackedSequence(output, batch_sizes, order, back)
        return packed, self.permute_hidden(hidden, back)

    def _run(self, *args):
        return getattr(C, self.mode.lower())(*args)


def _check_state_rank(hx: Tensor, is_batched: bool) -> None:
    dims, kind = (3, "batched") if is_batched else (2, "unbatched")
    if hx.dim() != dims:
        raise RuntimeError(
            f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.dim()}-D tensor"
        )


class RNN(_OneState):
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


class GRU(_OneState):
    """Gated recurrent units (torch.nn.GRU); K. Cho et al., EMNLP 2014."""

    def __init__(self, *args, **kwargs) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (torch.nn.LSTM); S. Hochreiter and J. Schmidhuber, 1997.

    With `proj_size` the hidden state is projected by a further matrix (H. Sak et al., 2014).
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Any):
        """The size of the cell state for an input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size, self.get_expected_cell_size
        for i, size in enumerate(sizes):
            text = f"Expected hidden[{i}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[i], size(input, batch_sizes), text)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _zero_states(self, input: Tensor, batch: Any):
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        return tuple(self._zero_state(input, batch, each) for each in (width, self.hidden_size))

    def forward(self, input: Any, hx: Any = None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(*input, hx)
        input, dim, is_batched = self._as_batch(input)
        if hx is None:
            hx = self._zero_states(input, input.size(dim))
        else:
            _check_state_ranks(hx, is_batched)
            hx = hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self.check_forward_args(input, hx, None)
        output, *states = C.lstm(input, hx, *self._settings(), self.batch_first)
        if not is_batched:
            output, states = output.squeeze(dim), [state.squeeze(1) for state in states]
        return output, tuple(states)

    def _forward_packed(self, data: Tensor, batch_sizes: Any, order, back, hx: Any):
        if hx is None:
            hx = self._zero_states(data, batch_sizes[0])
        else:
            hx = self.permute_hidden(hx, order)
        # PyTorch does not check the input of a packed LSTM.
        output, *states = C.lstm(data, batch_sizes, hx, *self._settings())
        packed = PackedSequence(output, batch_sizes, order, back)
        return packed, self.permute_hidden(tuple(states), back)


def _check_state_ranks(hx: Any, is_batched: bool) -> None:
    dims, kind = (3, "batched") if is_batched else (2, "unbatched")
    if hx[0].dim() != dims or hx[1].dim() != dims:
        raise RuntimeError(
            f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got "
            f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
        )
