"""Dropout of `torch.nn.functional`: of elements, and of whole channels."""

from __future__ import annotations

from impl.core.registry import C
from impl.core.warning import warn
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@overridable("input")
def dropout(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Elements set to zero with probability `p`, the others divided by 1 - p
    (torch.nn.functional.dropout).

    Outside training the input itself. Raises ValueError for a probability outside [0, 1].
    """
    _check_probability(p)
    return (C.dropout_ if inplace else C.dropout)(input, p, training)


@overridable("input")
def alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor:
    """Dropout for self-normalising networks (torch.nn.functional.alpha_dropout)."""
    _check_probability(p)
    return (C.alpha_dropout_ if inplace else C.alpha_dropout)(input, p, training)


@overridable("input")
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False) -> Tensor:
    """`alpha_dropout` of whole channels (torch.nn.functional.feature_alpha_dropout)."""
    _check_probability(p)
    return (C.feature_alpha_dropout_ if inplace else C.feature_alpha_dropout)(input, p, training)


def _channels(input, p: float, training: bool, inplace: bool, batched: bool = True) -> Tensor:
    """Dropout of whole channels, of an input with or without a batch dimension."""
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = (C.feature_dropout_ if inplace else C.feature_dropout)(input, p, training)
    if batched:
        return result
    return result.squeeze_(0) if inplace else result.squeeze(0)


@overridable("input")
def dropout1d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) dropped (torch.nn.functional.dropout1d)."""
    _check_probability(p)
    rank = input.dim()
    if rank not in (2, 3):
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, but received a "
            f"{rank}D input. Note that dropout1d exists to provide channel-wise dropout on inputs "
            "with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. "
            "2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, rank == 3)


def _warn_of_rank(name: str, rank: int, spatial: int) -> None:
    if rank not in (spatial + 1, spatial + 2):
        warn(
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in "
            "an error in a future release. To retain the behavior and silence this warning, please "
            f"use dropout instead. Note that {name} exists to provide channel-wise dropout on "
            f"inputs with {spatial} spatial dimensions, a channel dimension, and an optional batch "
            f"dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        )


@overridable("input")
def dropout2d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, H, W) dropped (torch.nn.functional.dropout2d).

    The first dimension of a 3-D input counts as the batch, with torch's warning.
    """
    _check_probability(p)
    rank = input.dim()
    _warn_of_rank("dropout2d", rank, 2)
    if rank == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
        )
    return _channels(input, p, training, inplace)


@overridable("input")
def dropout3d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) dropped (torch.nn.functional.dropout3d)."""
    _check_probability(p)
    rank = input.dim()
    _warn_of_rank("dropout3d", rank, 3)
    return _channels(input, p, training, inplace, rank == 5)
