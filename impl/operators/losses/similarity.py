"""Distances and similarities of tensors, and normalisation by norms."""

from __future__ import annotations

import numpy as np

from impl.core import dtypes
from impl.core.dtypes import FLOATING
from impl.core.grad_mode import no_grad
from impl.core.messages import SUBTRACT_BOOL, SUBTRACT_BOOLS
from impl.core.registry import tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.batching_rules import by_example
from impl.dispatch.definition import Array, function, operator
from impl.kernels.empty_norms import require_identity
from impl.operators.linalg.legacy_norms import norm_dims, require_real_or_complex
from impl.operators.linalg.norms import (
    norm_backward,
    norm_tangent,
    raw_norm,
    refuse_complex_order,
    vector_norm,
)


@operator(promote="arithmetic", fresh=True, layout_sensitive=True)
def dist(self: Array, other: Array, p=2) -> Array:
    """The norm of order p of the difference; shapes broadcast (torch.dist).

    Raises RuntimeError for integers.
    """
    broadcast_shapes(self.shape, other.shape)
    require_real_or_complex(self.dtype)
    difference = self - other
    require_identity(difference, float(p), None)
    return raw_norm(difference, float(p), None, False)


@dist.checked
def _refuse_bools_and_complex_orders(self, other, p) -> None:
    bools = [self.dtype, other.dtype].count(np.dtype(np.bool_))
    if bools:
        raise NotImplementedError(SUBTRACT_BOOLS if bools == 2 else SUBTRACT_BOOL)
    refuse_complex_order("vector_norm", p)


def _negated_distance_gradient(F, grad, difference, p, result):
    gradient = norm_backward(F, grad, difference, float(p), result, (), True)
    if gradient is None:
        raise RuntimeError(
            "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
            "#0 'self'"
        )
    return -gradient


dist.gradient(
    self=lambda F, grad, self, other, p, result: norm_backward(
        F, grad, self - other, float(p), result, (), True
    ),
    other=lambda F, grad, self, other, p, result: _negated_distance_gradient(
        F, grad, self - other, p, result
    ),
)
dist.forward(
    lambda F, self_t, self, other_t, other, p, result: norm_tangent(
        F, self_t - other_t, self - other, float(p), result, (), False
    )
)


@function(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps over the last dimension (torch.nn.functional.pairwise_distance)."""
    difference = x1 - x2
    if difference.dtype.category < FLOATING:
        difference = difference.to(dtypes.get_default_dtype())
    difference = tensor_ops.add_scalar(difference, eps)
    return norm_dims(difference, float(p), (difference._raw.ndim - 1,), keepdim)


@function(method=False)
@by_example
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between two tensors along `dim` (torch.cosine_similarity).

    Norms below `eps` count as `eps`. Raises RuntimeError for integers and shapes that do not
    broadcast.
    """
    common = dtypes.result_dtype((x1._raw, x2._raw))
    if common.category != FLOATING:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + common.legacy
        )
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    x1, x2 = (x.to(common) if x.dtype.category < FLOATING else x for x in (x1, x2))
    if x1._raw.shape != x2._raw.shape:
        shape = broadcast_shapes(x1._raw.shape, x2._raw.shape)
        x1, x2 = (tensor_ops.expand(x, shape) for x in (x1, x2))
    lengths = [vector_norm(x, 2, (dim,), True).clone() for x in (x1, x2)]
    with no_grad():  # the gradient passes as if there were no bound, the tangent does not
        for length in lengths:
            length.clamp_min_(eps)
    second = x2 / lengths[1]
    return ((x1 / lengths[0]) * second).sum((dim,))
