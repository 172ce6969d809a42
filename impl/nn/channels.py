"""Functions on channels: shuffling, and normalisation over neighbouring channels."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS
from impl.operators.copies.padding import pad
from impl.operators.images.average_pooling import avg_pool2d, avg_pool3d
from impl.tensor.tensor import Tensor

channel_shuffle = FUNCTIONS["channel_shuffle"]
native_channel_shuffle = FUNCTIONS["native_channel_shuffle"]
pixel_shuffle = FUNCTIONS["pixel_shuffle"]
pixel_unshuffle = FUNCTIONS["pixel_unshuffle"]


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0) -> Tensor:
    """The input (N, C, ...) divided by (k + alpha * m) ** beta, where m is the mean square of the
    `size` channels around each channel; missing channels count as zeros.

    Raises ValueError below three dimensions (torch.nn.functional.local_response_norm).
    """
    shape = input._raw.shape
    if len(shape) < 3:
        blank = " " * 25
        raise ValueError(
            f"Expected 3D or higher dimensionality{blank} input (got {len(shape)} dimensions)"
        )
    if not input._raw.size:
        return input
    squares, sides = input.mul(input), (size // 2, (size - 1) // 2)
    if len(shape) == 3:
        padded = pad(squares.unsqueeze(1), (0, 0, *sides))
        means = avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        volume = squares.view(shape[0], 1, shape[1], shape[2], -1)
        padded = pad(volume, (0, 0, 0, 0, *sides))
        means = avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / means.mul(alpha).add(k).pow(beta)
