"""Convolution over sequences of (time, batch, channels)."""

from __future__ import annotations

import numpy as np

from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator
from impl.dispatch.facts import NoComplex
from impl.kernels.reduced_precision import widened
from impl.operators.copies.padding import pad as padding


@operator(
    method=False,
    autocast="lower_precision_fp",
    complex=NoComplex(derivative="conv_tbc"),
    batching="fallback",
)
def conv_tbc(self: Array, weight: Array, bias: Array, pad=0) -> Array:
    """A convolution of (time, batch, in) with a weight (width, in, out), over time padded with
    `pad` zeros at both ends (torch.conv_tbc). Raises RuntimeError for sizes that do not fit.
    """
    x, w = _padded(widened(self), pad), widened(weight)
    length = x.shape[0] - w.shape[0] + 1
    result = sum(np.matmul(x[k : k + length], w[k]) for k in range(w.shape[0]))
    return (result + widened(bias)).astype(self.dtype, copy=False)


@conv_tbc.checked
def _check(self, weight, bias, pad) -> None:
    if self.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")


def _padded(value, pad: int):
    return np.pad(value, ((pad, pad), (0, 0), (0, 0))) if pad else value


@formula_operation
def padded_in_time(value, pad: int):
    """A tensor with `pad` zeros before and after the first of its three dimensions."""
    return _padded(value, pad)


def _padding_of_tensor(value, pad: int):
    return padding(value, (0, 0, 0, 0, pad, pad))


tensor_ops.padded_in_time = _padding_of_tensor


def _of_input(F, grad, weight, self_shape, pad):
    width, length = weight.shape[0], self_shape[0]
    spread = F.padded_in_time(grad, width - 1)
    total = None
    for k in range(width):
        part = F.narrow(spread, 0, width - 1 + pad - k, length)
        product = F.matrix_product(part, F.transpose(weight[k], 0, 1))
        total = product if total is None else total + product
    return total


def _of_weight(F, grad, self, weight_shape, pad):
    width, inside, outside = weight_shape
    padded = F.padded_in_time(self, pad)
    length = grad.shape[0]
    rows = F.reshape(grad, (-1, outside))
    parts = []
    for k in range(width):
        part = F.reshape(F.narrow(padded, 0, k, length), (-1, inside))
        parts.append(F.unsqueeze(F.matrix_product(F.transpose(part, 0, 1), rows), 0))
    return F.cat(parts, 0)


@conv_tbc.gradients("self", "weight", "bias")
def _of_operands(F, grad, self, weight, bias, pad, needs):
    return (
        _of_input(F, grad, weight, self.shape, pad) if needs[0] else None,
        _of_weight(F, grad, self, weight.shape, pad) if needs[1] else None,
        F.sum_dim(grad, (0, 1), False) if needs[2] else None,
    )


conv_tbc.forward("unsupported", name="conv_tbc", invited=True)
