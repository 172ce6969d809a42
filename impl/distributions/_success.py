"""The probability of success of a trial, given as `probs` or as its log-odds, `logits`."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions._parameters import expanded, set_parameters
from impl.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from impl.tensor.tensor import Tensor

_NAMES = ("total_count", "probs", "logits")


def set_success(distribution, probs, logits, **others) -> Size:
    """Set the one of `probs` and `logits` that is not None, broadcast against the others.

    Returns the shape. Raises ValueError where none or both are given.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    if probs is not None:
        return set_parameters(distribution, **others, probs=probs)
    return set_parameters(distribution, **others, logits=logits)


def set_trials(distribution, total_count, probs, logits) -> Size:
    """`set_success` of so many trials, whose number takes the dtype of the parameter given."""
    set_success(distribution, probs, logits, total_count=total_count)
    distribution._param = given(distribution)
    distribution.total_count = distribution.total_count.type_as(distribution._param)
    return distribution._param.size()


def given(distribution) -> Tensor:
    """The parameter that was given: `probs` or `logits`."""
    return vars(distribution)["probs" if "probs" in vars(distribution) else "logits"]


def expanded_success(distribution, cls: type, batch_shape, instance) -> Any:
    """`expanded` for parameters of this module, with `_param` the expanded one last computed."""
    new = expanded(distribution, cls, batch_shape, instance, _NAMES)
    new._param = vars(new)["logits" if "logits" in vars(new) else "probs"]
    return new


def whole_numbers(distribution, end: int, expand: bool) -> Tensor:
    """The values 0 to `end` - 1 along a new first dimension; expanded to the batch if asked."""
    param, batch = distribution._param, distribution._batch_shape
    values = C.arange(end, dtype=param.dtype, device=param.device)
    values = values.view((-1,) + (1,) * len(batch))
    return values.expand((-1, *batch)) if expand else values


@lazy_property
def probs(self):
    """The probability of success."""
    return logits_to_probs(self.logits, is_binary=True)


@lazy_property
def logits(self):
    """The log-odds of success."""
    return probs_to_logits(self.probs, is_binary=True)


def param_shape(self) -> Size:
    """The shape of the parameter that was given."""
    return self._param.size()


def new_tensor(self, *args, **kwargs) -> Tensor:
    """An uninitialized tensor like the given parameter."""
    return self._param.new(*args, **kwargs)
