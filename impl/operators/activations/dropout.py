"""Dropout as the product with a random mask, composed as ATen's CPU implementation."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, get_default_dtype, real_of
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.state import STATE
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import SavedAs
from impl.kernels.reduced_precision import widened
from impl.tensor.allocation import copied_layout, empty_like
from impl.tensor.batched_tensor import BatchedTensor
from impl.tensor.tensor import Tensor


def _idle(input: Tensor, p: float, training: bool) -> bool:
    return p == 0 or not training or not input._raw.size


def _mask(input: Tensor, p: float, features: bool) -> Tensor:
    """Ones with probability `p` and zeros: real, of the input's shape and drawn in its order in
    memory, or one per channel (`features`).

    In transforms, whatever the layout, drawn in row-major order, and for examples that are not
    batched, too (ATen/functorch/PyTorchOperatorHacks.cpp).
    """
    real = real_of(input.dtype)
    shape = input._raw.shape
    if features:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (len(shape) - 2))
    if any(one.composes for one in STATE.transforms):
        drawn: Tensor = FUNCTIONS["bernoulli"](FUNCTIONS["empty"](shape, dtype=real), p)
        return drawn
    if features:
        return input.new_empty(shape, dtype=real).bernoulli_(p)
    return empty_like(input, real.numpy).bernoulli_(p)


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, features: bool) -> Tensor:
    p = float(p)  # of a 0-dim tensor, too: the mask is drawn with a number
    if _idle(input, p, training):
        return input
    if p == 1:
        zeros = input.new_zeros(())
        return input.mul_(zeros) if inplace else input * zeros
    mask: Any = _mask(input, 1 - p, features)
    mask.div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


@operator(
    node="NativeDropoutBackward0",
    outputs=("result0", "result1"),
    fresh=True,
    layout_sensitive=True,
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


dropped_by.laid_out_as(copied_layout)
dropped_by.differentiable("result0")
dropped_by.gradient(
    self=lambda F, grad, result1, p, train: grad * result1 * (_scale(p) if train else 1.0)
).forward(
    result0=lambda F, self_t, result1, p, train: (
        self_t if train is False else self_t * result1 * _scale(p)
    )
)


def _recorded_input(input: Tensor, p, train) -> tuple[Tensor, Tensor]:
    """The results for a tensor without elements: it is one of them, and gets their node itself."""
    mask = empty_like(input)
    arguments = (input, p, train, mask._raw)
    if wants := dropped_by.grad_input_mask(arguments):
        dropped_by.record(arguments, (input, mask), wants)
    return input, mask


@function("native_dropout", method=False, batching="random")
def native_dropout(input, p, train):
    """Dropout and its mask (torch.native_dropout); `train` None is training, but for the gradient.

    Raises RuntimeError for a probability outside [0, 1], and in training for integers.
    """
    if not input._raw.size and not isinstance(input, BatchedTensor):
        return _recorded_input(input, p, train)
    mask = empty_like(input, np.dtype(np.bool_))
    if train is False:
        mask.fill_(True)
    else:
        mask.bernoulli_(1 - p)
    if isinstance(mask, BatchedTensor):
        return (input * mask).mul_(_scale(p) if train is not False else 1.0), mask
    return dropped_by(input, p, train, mask._raw)


# Minus the value of dropped elements, which preserves mean and variance (Klambauer et al., 2017).
_ALPHA = 1.7580993408473766


def _alpha_dropped(input, p: float, training: bool, inplace: bool, features: bool) -> Tensor:
    p = float(p)  # of a 0-dim tensor, too: the mask is drawn with a number
    if _idle(input, p, training):
        return input
    if p == 1:
        zeros = input.new_zeros(())
        return input.mul_(zeros) if inplace else input * zeros
    scale = 1.0 / ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** 0.5
    mask = _mask(input, 1 - p, features)
    shift = mask.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    mask.mul_(scale)
    return input.mul_(mask).add_(shift) if inplace else tensor_ops.mul(input, mask).add_(shift)


def _published(name: str, mask, features: bool):
    """A dropout, published as torch.<name>(input, p, train), as is its in-place variant."""

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
    return apply


def _check_rate(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


dropout = _published("dropout", _dropped, False)
_published("feature_dropout", _dropped, True)
_published("alpha_dropout", _alpha_dropped, False)
_published("feature_alpha_dropout", _alpha_dropped, True)
