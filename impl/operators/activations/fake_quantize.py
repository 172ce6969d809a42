"""Fake quantisation: rounding to a grid of numbers, whose derivative is one inside the range."""

from __future__ import annotations

import numpy as np

from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import require_floating
from impl.tensor.tensor import Tensor


@operator(
    node="FakeQuantizePerTensorAffineCachemaskBackward0",
    outputs=("result", "mask"),
    function=False,
    method=False,
)
def fake_quantized(self: Array, scale, zero_point, quant_min, quant_max) -> tuple:
    """The nearest numbers of the grid, and where they lie inside the range, computed in float32."""
    require_floating(self, "fake_quantize_tensor_cachemask_kernel_type_handling")
    single = np.float32(scale)
    wide = self if self.dtype == np.float64 else self.astype(np.float32)
    steps = (np.rint(wide * (np.float32(1) / single)) + zero_point).astype(np.float32)
    kept = np.fmin(np.fmax(steps, np.float32(quant_min)), np.float32(quant_max))
    inside = (steps >= quant_min) & (steps <= quant_max)
    return ((kept - np.float32(zero_point)) * single).astype(self.dtype), inside


fake_quantized.differentiable("result").gradient(self=lambda F, grad, mask: grad * mask)


@function(method=False, batching="composed_fallback")
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """The tensor rounded to multiples of `scale`, of which there are `quant_min` to `quant_max`
    counted from `zero_point` (torch.fake_quantize_per_tensor_affine).

    The gradient passes where the rounded number lies in the range. Raises RuntimeError for an empty
    range, or a `zero_point` outside; NotImplementedError for integers, and for a scale as a tensor.
    """
    if isinstance(scale, Tensor) or isinstance(zero_point, Tensor):
        raise NotImplementedError("fake_quantize_per_tensor_affine with a tensor as its scale")
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return fake_quantized(input, scale, zero_point, quant_min, quant_max)[0]
