"""Clipping of gradients in place, by their total norm or by value."""

from __future__ import annotations

import types

from impl.core import messages
from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.warning import deprecated, warn
from impl.factories.creation import tensor as unpack_tensor
from impl.tensor.tensor import Tensor


def _listed(tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@no_grad()
def _get_total_norm(
    tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector, computed from the norms of each.

    Raises RuntimeError for an infinite or undefined norm if `error_if_nonfinite`.
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return unpack_tensor(0.0)
    _ = tensors[0].device  # torch groups the tensors by it
    if foreach is False:
        norms = [C.linalg_vector_norm(t, norm_type) for t in tensors]
    else:
        norms = C._foreach_norm(tensors, norm_type)
    norms = C.stack(norms)
    total = C.linalg_vector_norm(norms, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grad_norm_(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that their total norm is at most `max_norm`; returns the total
    norm before (torch.nn.utils.clip_grad_norm_)."""
    generated = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if generated and not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    gradients = _gradients(parameters)
    total = _get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(parameters, max_norm, total)
    return total


@deprecated(
    "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
    "`torch.nn.utils.clip_grad_norm_`."
)
def clip_grad_norm(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` by its old name, deprecated (torch.nn.utils.clip_grad_norm)."""
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def _clip_grads_with_norm_(
    parameters, max_norm: float, total_norm, foreach: bool | None = None
) -> None:
    """Scale gradients in place by max_norm / total_norm, a 0-dim tensor, if that is below 1
    (torch.nn.utils.clip_grads_with_norm_)."""
    gradients = _gradients(parameters)
    max_norm = float(max_norm)
    if gradients:
        factor = C.clamp(max_norm / (total_norm + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp the elements of gradients in place to [-clip_value, clip_value]
    (torch.nn.utils.clip_grad_value_).

    Raises RuntimeError without gradients.
    """
    clip_value = float(clip_value)
    gradients = _gradients(parameters)
    if not gradients:
        raise RuntimeError(messages.expected("!nested_tensorlist[0].empty()"))
    for gradient in gradients:
        if foreach is False:
            gradient.clamp_(-clip_value, clip_value)
        else:  # two writes, as PyTorch's foreach operators make
            gradient.clamp_min_(-clip_value).clamp_max_(clip_value)
