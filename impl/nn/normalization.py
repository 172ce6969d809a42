"""Normalisation functions of `torch.nn.functional`."""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.nn.images import pad
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _check_count(size) -> None:
    """Raise ValueError unless there are several values for each channel."""
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


@overridable("input", "running_mean", "running_var", "weight", "bias")
def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
) -> Tensor:
    """Each channel of (N, C, ...) by its mean and variance: in training those of the batch, which
    update the running ones in place, else the running ones (torch.nn.functional.batch_norm).

    Raises ValueError when a channel has one value in training, and for an `eps` that is negative,
    or in training zero; RuntimeError for other sizes.
    """
    if training:
        _check_count(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return C.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


@overridable("input", "running_mean", "running_var", "weight", "bias")
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
) -> Tensor:
    """Each channel of each example by its own statistics: a batch normalisation of one example with
    N * C channels (torch.nn.functional.instance_norm).

    The running statistics are then averaged over the examples. Raises ValueError for one element
    per channel, RuntimeError when there are no statistics to use.
    """
    if use_input_stats:
        size = input.size()
        if math.prod(size[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {size}"
            )
    return C.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


@overridable("input", "weight", "bias")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor:
    """Each example over its last dimensions, of sizes `normalized_shape`
    (torch.nn.functional.layer_norm).

    Raises RuntimeError for other sizes of the input, the weight and the bias.
    """
    return C.layer_norm(input, normalized_shape, weight, bias, eps, True)


@overridable("input", "weight")
def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """The input divided by its root mean square over the last dimensions
    (torch.nn.functional.rms_norm)."""
    return C.rms_norm(input, normalized_shape, weight, eps)


@overridable("input", "weight", "bias")
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5) -> Tensor:
    """Each example of (N, C, ...) over groups of its channels (torch.nn.functional.group_norm).

    Raises ValueError for groups of one value, RuntimeError when the channels cannot be grouped so.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    groups = [input.size(0) * input.size(1) // num_groups, num_groups]
    _check_count([*groups, *input.size()[2:]])
    return C.group_norm(input, num_groups, weight, bias, eps, True)


@overridable("input")
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0) -> Tensor:
    """The input (N, C, ...) divided by (k + alpha * m) ** beta, where m is the mean square of the
    `size` channels around each channel; missing channels count as zeros.

    Raises ValueError below three dimensions (torch.nn.functional.local_response_norm).
    """
    rank = input.dim()
    if rank < 3:
        blank = " " * 25
        raise ValueError(
            f"Expected 3D or higher dimensionality{blank} input (got {rank} dimensions)"
        )
    if input.numel() == 0:
        return input
    means = input.mul(input)
    if rank == 3:
        means = pad(means.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        means = C.avg_pool2d(means, (size, 1), stride=1).squeeze(1)
    else:
        shape = input.size()
        means = means.view(shape[0], 1, shape[1], shape[2], -1)
        means = pad(means, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        means = C.avg_pool3d(means, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / means.mul(alpha).add(k).pow(beta)


@overridable("input", "out")
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None) -> Tensor:
    """`input` divided by its norm along `dim`, clamped to at least `eps`
    (torch.nn.functional.normalize)."""
    length = input.norm(p, dim, keepdim=True)
    if out is None:
        return input / length.clamp_min(eps).expand_as(input)
    return C.div(input, length.clamp_min_(eps).expand_as(input), out=out)
