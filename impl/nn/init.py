"""`torch.nn.init`: initial values, written in place without recording.

X. Glorot and Y. Bengio, AISTATS 2010 (xavier); K. He et al., ICCV 2015 (kaiming).
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import FUNCTIONS
from impl.core.warning import deprecated, warn
from impl.operators.linalg.qr import qr
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor

_CONVOLUTIONS = tuple(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))
_LINEAR = ("linear", *_CONVOLUTIONS, "sigmoid")


def calculate_gain(nonlinearity: str, param=None) -> float:
    """The recommended gain for a nonlinearity. Raises ValueError for another name."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The fan-in and fan-out of a weight. Raises ValueError below two dimensions."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    shape = tuple(tensor.shape)
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


# Packages with initial values of their own import these.
@no_grad()
def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator=None) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator=None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


@no_grad()
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return tensor.zero_()


@overridable("tensor", by_name=True)
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Uniform numbers from [a, b)."""
    return _no_grad_uniform_(tensor, a, b, generator)


@overridable("tensor", by_name=True)
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """Normal numbers."""
    return _no_grad_normal_(tensor, mean, std, generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator=None,
) -> Tensor:
    """Normal numbers within [a, b]; numbers outside are drawn again.

    If less than 0.3 of the distribution is within the bounds, uniform numbers are drawn until they
    are accepted.
    """
    if tensor.is_meta:  # nothing to draw
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=3,
        )
    within = _norm_cdf((b - mean) / std) - _norm_cdf((a - mean) / std)
    if within <= 0.3:
        return _accepted(tensor, mean, std, a, b, generator)
    least, most = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < least) | (result > most)).any():
        again = FUNCTIONS["empty_like"](result).normal_(mean, std, generator=generator)
        result = FUNCTIONS["where"](outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)


_no_grad_trunc_normal_ = trunc_normal_


def _norm_cdf(x: float) -> float:
    """The distribution function of the normal distribution."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _accepted(tensor: Tensor, mean, std, a, b, generator) -> Tensor:
    """Rejection sampling: a uniform number of [a, b] is accepted with the probability of its
    density in that of the peak.

    J. von Neumann, "Various techniques used in connection with random digits", 1951.
    """
    peak = max(a, min(mean, b))
    log_peak = -0.5 * ((peak - mean) / std) ** 2
    level = FUNCTIONS["empty_like"](tensor)

    def rejected(numbers):
        log_density = numbers.sub(mean).div_(std).pow_(2).mul_(-0.5)
        return level.uniform_(generator=generator).log_().gt(log_density.sub_(log_peak))

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(tensor)
    if not pending.any():
        return tensor
    candidates = FUNCTIONS["empty_like"](tensor)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = FUNCTIONS["where"](pending, candidates, result)
        pending = FUNCTIONS["where"](pending, rejected(candidates), pending)
    return tensor.copy_(result)


@overridable("tensor", by_name=True)
def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    return _no_grad_fill_(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _no_grad_zero_(tensor)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix. Raises ValueError unless 2-D."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(FUNCTIONS["eye"](*tensor.shape, dtype=tensor.dtype))


def _xavier(tensor: Tensor, gain: float) -> float:
    """The standard deviation that preserves the variance forward and backward."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Uniform numbers of the variance 2 * gain**2 / (fan-in + fan-out)."""
    bound = math.sqrt(3.0) * _xavier(tensor, gain)
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Normal numbers of the variance 2 * gain**2 / (fan-in + fan-out)."""
    std = _xavier(tensor, gain)
    return tensor.normal_(0.0, std, generator=generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation that preserves the variance in a direction; None without elements."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@overridable("tensor", by_name=True)
@no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator=None,
) -> Tensor:
    """Uniform numbers of the variance gain**2 / fan, for rectifiers with a negative slope `a`."""
    std = _kaiming(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator=None,
) -> Tensor:
    """Normal numbers of the variance gain**2 / fan, for rectifiers with a negative slope `a`."""
    std = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """A matrix with orthonormal rows or columns, times `gain`; further dimensions count as columns
    (A. M. Saxe et al., 2013). Raises ValueError below two dimensions."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        flat.t_()
    q, r = qr(flat)
    q *= r.diagonal().sign()
    if rows < columns:
        q.t_()
    tensor.view_as(q).copy_(q)
    return tensor.mul_(gain)


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels of a convolution that is the identity on as many channels as possible, by group.

    Raises ValueError unless 3-D, 4-D or 5-D, and if `groups` does not divide the output channels.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tuple(tensor.shape)
    if shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    each = shape[0] // groups
    least = min(each, shape[1])
    tensor.zero_()
    centre = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for channel in range(least):
            tensor[(group * each + channel, channel, *centre)] = 1
    return tensor


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """Normal numbers; the share `sparsity` of each column is zero (J. Martens, 2010).

    Raises ValueError unless 2-D.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[FUNCTIONS["randperm"](rows)[:zeros], column] = 0
    return tensor


def _deprecated(fill):
    """The deprecated function without an underscore, which warns."""
    name = fill.__name__
    old = name[:-1]
    call: Any = deprecated(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.")(fill)
    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"`{name}` under its deprecated name."
    return call


uniform, normal, constant = map(_deprecated, (uniform_, normal_, constant_))
eye, dirac = _deprecated(eye_), _deprecated(dirac_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
