"""Cross-channel response normalisation as a custom function.

A. Krizhevsky et al., NeurIPS 2012: x / (k + alpha / n * (sum of n neighbouring channels' squares)).
"""

from __future__ import annotations

from typing import Any

from impl.autograd.function import Function
from impl.core.registry import FUNCTIONS
from impl.tensor.tensor import Tensor


class CrossMapLRN2d(Function):
    """Channels divided by powers of their neighbours' squares."""

    @staticmethod
    def forward(ctx, input: Any, size: int, alpha: float, beta: float, k: float) -> Tensor:  # type: ignore[override]
        """The normalised channels; saves input and output."""
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input._raw.ndim}D instead."
            )
        power = FUNCTIONS["pow"]
        output, scale = input.new(), input.new()
        output.resize_as_(input)
        scale.resize_as_(input)
        power(input, 2, out=output)
        channels, reach = input.size(1), int((size - 1) / 2 + 1)
        # A window's sum is the previous window's, plus a channel and minus a channel.
        total = scale.select(1, 0).zero_()
        for c in range(min(reach, channels)):
            total.add_(output.select(1, c))
        for c in range(1, channels):
            total = scale.select(1, c).copy_(scale.select(1, c - 1))
            if c < channels - reach + 1:
                total.add_(output.select(1, c + reach - 1))
            if c > reach:
                total.sub_(output.select(1, c - reach))
        scale.mul_(alpha / size).add_(k)
        power(scale, -beta, out=output)
        output.mul_(input)
        ctx.size, ctx.alpha, ctx.beta, ctx.k, ctx.scale = size, alpha, beta, k, scale
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx, grad: Any):  # type: ignore[override]
        """The gradient of the input."""
        input, output = ctx.saved_tensors
        size, scale, channels = ctx.size, ctx.scale, input.size(1)
        made = grad.new()
        before = int(size - (size - 1) / 2)
        ratios = input.new(channels + size - 1, *input.shape[2:])
        total = input.new(*input.shape[2:])
        factor = -2 * ctx.alpha * ctx.beta / size
        made.resize_as_(input)
        FUNCTIONS["pow"](scale, -ctx.beta, out=made).mul_(grad)
        ratios.zero_()
        for n in range(input.size(0)):
            centre = ratios.narrow(0, before, channels)
            FUNCTIONS["mul"](grad[n], output[n], out=centre).div_(scale[n])
            FUNCTIONS["sum"](ratios.narrow(0, 0, size - 1), 0, keepdim=False, out=total)
            for c in range(channels):
                total.add_(ratios[c + size - 1])
                made[n][c].addcmul_(input[n][c], total, value=factor)
                total.sub_(ratios[c])
        return made, None, None, None, None
