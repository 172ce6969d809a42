"""Divergences KL(p ‖ q) of multivariate normal distributions, of full and of low rank.

With L and M the Cholesky factors of the covariances of p and q, and d the difference of their
means, the divergence is log |M| - log |L| + (|M⁻¹ L|² + |M⁻¹ d|² - n) / 2 in Frobenius norms; for
covariances W Wᵀ + D by the Woodbury matrix identity and the matrix determinant lemma.
"""

from __future__ import annotations

from typing import Any

from impl import linalg
from impl.core.registry import C
from impl.distributions._scale_matrix import half_log_det
from impl.distributions.kl import register_kl
from impl.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_mahalanobis,
    _weighted_factor,
)
from impl.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from impl.functional import broadcast_shapes
from impl.tensor.tensor import Tensor


def _batch_trace_XXT(bmat: Any) -> Any:
    """The traces of X Xᵀ for matrices X (..., m, n): their squared Frobenius norms."""
    m, n = bmat.shape[-2:]
    return bmat.reshape(-1, m * n).pow(2).sum(-1).reshape(bmat.shape[:-2])


def _check_events(p, q, kind: str) -> None:
    """Raise ValueError for events of different shapes."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {kind} with" + " " * 26 + "different event shapes cannot "
            "be computed"
        )


def _solved(factor: Tensor, right: Tensor) -> Tensor:
    return linalg.solve_triangular(factor, right, upper=False)


def _lowrank_distance(p, q) -> Any:
    """The squared Mahalanobis distance of the means, for q of low rank."""
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor,
        q._unbroadcasted_cov_diag,
        q.loc - p.loc,
        q._capacitance_tril,
    )


def _lowrank_projection(q) -> Any:
    """C⁻¹ Wᵀ D⁻¹, C the Cholesky factor of the capacitance matrix of q."""
    weighted = _weighted_factor(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag)
    return _solved(q._capacitance_tril, weighted)


def _halved(log_dets: Any, traces: Any, distance: Any, p) -> Tensor:
    return 0.5 * (log_dets + traces + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _normal(p, q):
    _check_events(p, q, "Multivariate Normals")
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_dets = half_log_det(q_factor) - half_log_det(p_factor)
    batch = broadcast_shapes(q_factor.shape[:-2], p_factor.shape[:-2])
    n = p.event_shape[0]
    ratios = _solved(q_factor.expand((*batch, n, n)), p_factor.expand((*batch, n, n)))
    distance = _batch_mahalanobis(q_factor, q.loc - p.loc)
    return log_dets + 0.5 * (_batch_trace_XXT(ratios) + distance - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _lowrank(p, q):
    _check_events(p, q, "Low Rank Multivariate Normals")
    log_dets = q._log_det() - p._log_det()
    distance = _lowrank_distance(p, q)
    projection = _lowrank_projection(q)
    W, D = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    q_diag = q._unbroadcasted_cov_diag
    traces = (
        (D / q_diag).sum(-1)
        + _batch_trace_XXT(W * q_diag.rsqrt().unsqueeze(-1))
        - _batch_trace_XXT(projection * D.sqrt().unsqueeze(-2))
        - _batch_trace_XXT(projection.matmul(W))
    )
    return _halved(log_dets, traces, distance, p)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_lowrank(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor = p._unbroadcasted_scale_tril
    log_dets = q._log_det() - 2 * half_log_det(factor)
    distance = _lowrank_distance(p, q)
    projection = _lowrank_projection(q)
    scaled = factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    traces = _batch_trace_XXT(scaled) - _batch_trace_XXT(projection.matmul(factor))
    return _halved(log_dets, traces, distance, p)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _lowrank_normal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    q_factor, W = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_factor
    log_dets = 2 * half_log_det(q_factor) - p._log_det()
    distance = _batch_mahalanobis(q_factor, q.loc - p.loc)
    batch = broadcast_shapes(q_factor.shape[:-2], W.shape[:-2])
    n = p.event_shape[0]
    deviations = C.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    q_factor = q_factor.expand((*batch, n, n))
    traces = [
        _batch_trace_XXT(_solved(q_factor, right.expand((*batch, *right.shape[-2:]))))
        for right in (W, deviations)
    ]
    return _halved(log_dets, traces[0] + traces[1], distance, p)
