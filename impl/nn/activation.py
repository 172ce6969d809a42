"""Activation functions of `torch.nn.functional`: names, defaults and argument checks.

Gumbel softmax: E. Jang, S. Gu, B. Poole, "Categorical reparameterization with Gumbel-softmax",
ICLR 2017.
"""

from __future__ import annotations

from operator import index

from impl.core.memory_formats import contiguous_format
from impl.core.registry import FUNCTIONS, C
from impl.core.warning import warn
from impl.operators.activations.functions import (
    elu_,
    gelu,
    hardtanh_,
    leaky_relu_,
    logsigmoid,
    rrelu_,
    softplus,
    softshrink,
    threshold_,
)
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor

__all__ = [
    "celu_",
    "elu_",
    "gelu",
    "hardshrink",
    "hardtanh_",
    "leaky_relu_",
    "logsigmoid",
    "prelu",
    "relu_",
    "rrelu_",
    "selu_",
    "softplus",
    "softshrink",
    "threshold_",
]

relu_ = FUNCTIONS["relu_"]
prelu = FUNCTIONS["prelu"]
hardshrink = FUNCTIONS["hardshrink"]
selu_ = FUNCTIONS["selu_"]
celu_ = FUNCTIONS["celu_"]


def _activation(name: str, text: str):
    """An activation without settings, also in place."""

    def activation(input, inplace: bool = False) -> Tensor:
        return getattr(C, f"{name}_" if inplace else name)(input)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = text
    return overridable("input")(activation)


relu = _activation("relu", "max(input, 0); the slope at 0 is 0.")
relu6 = _activation("relu6", "min(max(input, 0), 6), recorded as hardtanh.")
silu = _activation("silu", "input * sigmoid(input).")
mish = _activation("mish", "input * tanh(softplus(input)).")
hardsigmoid = _activation("hardsigmoid", "relu6(input + 3) / 6.")
hardswish = _activation("hardswish", "input * relu6(input + 3) / 6.")
selu = _activation(
    "selu", "ELU with the constants that preserve mean and variance; recorded as elu."
)


@overridable("input")
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val]; the slope is 0 at both bounds.

    Raises ValueError if min_val > max_val.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (C.hardtanh_ if inplace else C.hardtanh)(input, min_val, max_val)


@overridable("input")
def _threshold(input, threshold, value, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, else `value`."""
    return (C.threshold_ if inplace else C.threshold)(input, threshold, value)


threshold = _threshold  # torch defines it so, and its messages have this name


@overridable("input")
def leaky_relu(input, negative_slope=0.01, inplace: bool = False) -> Tensor:
    """`input` above 0, negative_slope * input at and below.

    In place the derivative is computed from the result, so that the backward raises RuntimeError
    for a negative slope.
    """
    return (C.leaky_relu_ if inplace else C.leaky_relu)(input, negative_slope)


@overridable("input")
def elu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input) - 1) at and below."""
    return (C.elu_ if inplace else C.elu)(input, alpha)


@overridable("input")
def celu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input / alpha) - 1) at and below."""
    return (C.celu_ if inplace else C.celu)(input, alpha)


@overridable("input")
def rrelu(input, lower=1 / 8, upper=1 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper) in training, else with their mean.

    Raises RuntimeError if lower > upper.
    """
    return (C.rrelu_ if inplace else C.rrelu)(input, lower, upper, training)


def sigmoid(input) -> Tensor:
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def tanh(input) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


@overridable("input")
def softsign(input) -> Tensor:
    """input / (|input| + 1), composed of these."""
    return input / (input.abs() + 1)


@overridable("input")
def tanhshrink(input) -> Tensor:
    """input - tanh(input), composed of these."""
    return input - input.tanh()


@overridable("input")
def glu(input, dim: int = -1) -> Tensor:
    """The first half of `dim` times the sigmoid of the second.

    Raises RuntimeError for an odd size, and for a scalar.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return C.glu(input, dim)


def _implied_dim(name: str, rank: int, stacklevel: int) -> int:
    """The dimension of a softmax that is given none. Raises TypeError for a level that is no
    number."""
    index(stacklevel)
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
    )
    return 0 if rank in (0, 1, 3) else 1


@overridable("input")
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`torch.softmax`; without `dim` the second dimension, or the first of a vector or 3-D input,
    is chosen with a warning (torch.nn.functional.softmax)."""
    if dim is None:
        dim = _implied_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@overridable("input")
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`torch.log_softmax`, with the dimension as in `softmax` (torch.nn.functional)."""
    if dim is None:
        dim = _implied_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@overridable("input")
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Softmax of the negated input (torch.nn.functional.softmin)."""
    if dim is None:
        dim = _implied_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@overridable("logits")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A relaxed sample of the categories with scores along `dim`, at the temperature `tau`; if
    `hard` a one-hot sample with the gradient of the relaxed one
    (torch.nn.functional.gumbel_softmax)."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -C.empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    zeros = C.zeros_like(logits, memory_format=contiguous_format)
    one_hot = zeros.scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
