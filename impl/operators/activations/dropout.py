"""Dropout as the product with a random mask, composed as ATen's CPU implementation."""

from __future__ import annotations

import warnings

import numpy as np

from impl.core.dtypes import BY_NUMPY, get_default_dtype, real_of
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import SavedAs
from impl.kernels.reduced_precision import widened
from impl.tensor.allocation import empty_like
from impl.tensor.tensor import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _idle(input: Tensor, p: float, training: bool) -> bool:
    return p == 0 or not training or not input._raw.size


def _blank(input: Tensor, features: bool) -> Tensor:
    """Memory for the mask: real, of the input's shape, or with one element per channel
    (`features`)."""
    real = real_of(input.dtype)
    if not features:
        return empty_like(input, real.numpy)
    shape = input._raw.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_empty((*shape[:2], *(1,) * (len(shape) - 2)), dtype=real)


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, features: bool) -> Tensor:
    p = float(p)  # of a 0-dim tensor, too: the mask is drawn with a number
    if _idle(input, p, training):
        return input
    if p == 1:
        zeros = input.new_zeros(())
        return input.mul_(zeros) if inplace else input * zeros
    mask = _blank(input, features).bernoulli_(1 - p)
    mask.div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


@operator(
    node="NativeDropoutBackward0",
    outputs=("result0", "result1"),
    fresh=True,
    saved_as=SavedAs(renamed={"train": None}),
    function=False,
    method=False,
)
def dropped_by(self: Array, p, train, mask) -> tuple:
    if train is False:
        return self.copy(order="K"), mask
    if np.asarray(self).dtype.kind in "iub":
        kind = BY_NUMPY[np.asarray(self).dtype].legacy
        given = get_default_dtype().legacy
        raise RuntimeError(f"result type {given} can't be cast to the desired output type {kind}")
    kept = self * mask
    return (widened(kept) * _scale(p)).astype(kept.dtype), mask


def _scale(p: float) -> float:
    return 0.0 if p == 1 else 1 / (1 - p)


dropped_by.differentiable("result0")
dropped_by.gradient(
    self=lambda F, grad, result1, p, train: grad * result1 * (_scale(p) if train else 1.0)
)


@function("native_dropout", method=False, batching="random")
def native_dropout(input, p, train):
    """Dropout and its mask (torch.native_dropout); `train` None is training, but for the gradient.

    Raises RuntimeError for a probability outside [0, 1], and in training for integers.
    """
    if not input._raw.size:
        return input, empty_like(input)
    mask = empty_like(input, np.dtype(np.bool_))
    if train is False:
        mask.fill_(True)
    else:
        mask.bernoulli_(1 - p)
    return dropped_by(input, p, train, mask._raw)


def dropout(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Elements set to zero with probability `p`, the others divided by 1 - p
    (torch.nn.functional.dropout).

    Outside training the input itself. Raises ValueError for a probability outside [0, 1].
    """
    _check_probability(p)
    return _dropped(input, p, training, inplace, features=False)


def dropout1d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) dropped (torch.nn.functional.dropout1d)."""
    _check_probability(p)
    rank = input._raw.ndim
    if rank not in (2, 3):
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, but received a "
            f"{rank}D input. Note that dropout1d exists to provide channel-wise dropout on inputs "
            "with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. "
            "2D or 3D inputs)."
        )
    return _batch_dropped(input, p, training, inplace, rank == 3)


def _batch_dropped(input: Tensor, p: float, training: bool, inplace: bool, batched: bool):
    """Dropout of whole channels, of an input with or without a batch dimension."""
    if batched:
        return _dropped(input, p, training, inplace, features=True)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropped(batch, p, training, inplace, features=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _warn_of_rank(name: str, rank: int, spatial: int) -> None:
    if rank not in (spatial + 1, spatial + 2):
        warnings.warn(
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in "
            "an error in a future release. To retain the behavior and silence this warning, please "
            f"use dropout instead. Note that {name} exists to provide channel-wise dropout on "
            f"inputs with {spatial} spatial dimensions, a channel dimension, and an optional batch "
            f"dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
            stacklevel=3,
        )


def dropout2d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, H, W) dropped (torch.nn.functional.dropout2d).

    The first dimension of a 3-D input counts as the batch, with torch's warning.
    """
    _check_probability(p)
    rank = input._raw.ndim
    _warn_of_rank("dropout2d", rank, 2)
    if rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _dropped(input, p, training, inplace, features=True)


def dropout3d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) dropped (torch.nn.functional.dropout3d)."""
    _check_probability(p)
    _warn_of_rank("dropout3d", input._raw.ndim, 3)
    return _batch_dropped(input, p, training, inplace, input._raw.ndim == 5)


# Minus the value of dropped elements, which preserves mean and variance (Klambauer et al., 2017).
_ALPHA = 1.7580993408473766


def alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor:
    """Dropout for self-normalising networks (torch.nn.functional.alpha_dropout)."""
    _check_probability(p)
    return _alpha_dropped(input, p, training, inplace, features=False)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor:
    """`alpha_dropout` of whole channels (torch.nn.functional.feature_alpha_dropout)."""
    _check_probability(p)
    return _alpha_dropped(input, p, training, inplace, features=True)


def _alpha_dropped(input, p: float, training: bool, inplace: bool, features: bool) -> Tensor:
    p = float(p)  # of a 0-dim tensor, too: the mask is drawn with a number
    if _idle(input, p, training):
        return input
    if p == 1:
        zeros = input.new_zeros(())
        return input.mul_(zeros) if inplace else input * zeros
    scale = 1.0 / ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** 0.5
    mask = _blank(input, features).bernoulli_(1 - p)
    shift = mask.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    mask.mul_(scale)
    return input.mul_(mask).add_(shift) if inplace else tensor_ops.mul(input, mask).add_(shift)


def _published(name: str, mask, features: bool) -> None:
    """Publish a dropout as torch.<name>(input, p, train), and its in-place variant."""

    def apply(input, p, train):
        _check_rate(p)
        return mask(input, p, train, False, features)

    def write(input, p, train):
        _check_rate(p)
        return mask(input, p, train, True, features)

    apply.__doc__ = f"""Dropout with probability `p` if `train`, else the input (torch.{name}).

    Raises RuntimeError for a probability outside [0, 1]."""
    write.__doc__ = f"`{name}` in place (torch.{name}_)."
    function(name, method=False)(apply)
    function(f"{name}_", method=False)(write)


def _check_rate(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


_published("dropout", _dropped, False)
_published("feature_dropout", _dropped, True)
_published("alpha_dropout", _alpha_dropped, False)
_published("feature_alpha_dropout", _alpha_dropped, True)
