"""Samples of class indices with given weights, with and without replacement: multinomial."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import FLOATING, int64
from impl.core.grad_mode import no_grad
from impl.core.registry import FUNCTIONS
from impl.dispatch import randomness
from impl.dispatch.definition import function
from impl.dispatch.dispatch_modes import Draw
from impl.dispatch.out import store
from impl.factories.draws import draw_exponential
from impl.factories.generator import default_generator
from impl.kernels.reduced_precision import widened
from impl.tensor.allocation import empty_like
from impl.tensor.tensor import Tensor, new
from impl.tensor.torch_dispatch import asks
from impl.tensor.write import resize


def _check_dtype(weights: Tensor) -> None:
    if weights.dtype.category != FLOATING:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            + weights.dtype.legacy
        )


def _check(weights: Tensor, count: int, replacement: bool) -> None:
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights._raw.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )


def _races(weights: Tensor, count: int, generator) -> Tensor:
    """Samples without replacement: the classes with the smallest ratio of an exponential sample
    to the weight."""
    values = weights._raw
    if values.ndim == 2 and not len(values):
        return new(np.empty((0, count), np.int64))
    if not values.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (values.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    with no_grad():
        times = empty_like(weights)
        draw_exponential(times, 1.0, generator)
        speeds = FUNCTIONS["div"](weights.detach(), times)
        if count == 1:
            return speeds.argmax(-1, True)
        return speeds.topk(count)[1]


def _put_back(weights: Tensor, count: int, generator) -> Tensor:
    source = generator or default_generator
    values = widened(weights._raw)
    drawn = np.empty((*values.shape[:-1], count), np.int64)
    for index in np.ndindex(values.shape[:-1]):
        row = values[index]
        if not (row >= 0).all():
            raise RuntimeError(
                "invalid multinomial distribution (encountering probability entry < 0)"
            )
        if not np.isfinite(row).all():
            raise RuntimeError(
                "invalid multinomial distribution (encountering probability entry = infinity or "
                "NaN)"
            )
        total = np.add.accumulate(row, dtype=row.dtype)
        if not (total.size and total[-1] > 0):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        total = total / total[-1]
        total[-1] = 1
        places = source.uniform(count, np.dtype(np.float64))
        drawn[index] = np.searchsorted(total.astype(np.float64), places, side="left")
    return new(drawn)


@function("multinomial", batching="random")
@randomness.of_values
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """`num_samples` class indices (int64) for each row of weights, (n,) or (m, n)
    (torch.multinomial).

    Raises RuntimeError for weights that are negative, not finite or all zero, and for more samples
    than classes without replacement.
    """
    if out is None and asks((input,)):
        return Draw("multinomial", (num_samples, replacement), generator)(input)
    if input._raw.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    _check_dtype(input)
    if out is not None and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    _check(input, num_samples, replacement)
    draw = _put_back if replacement and num_samples > 1 else _races
    result = draw(input, num_samples, generator)
    if out is not None:
        resize(out, result._raw.shape)
    return result if out is None else store("multinomial", out, result)
