"""Losses as layers."""

from __future__ import annotations

from typing import Any

from impl.nn.modules.function_layer import _FunctionLayer, layers_of
from impl.nn.modules.images import PairwiseDistance
from impl.nn.modules.module import check_buffer
from impl.nn.reduction import string_of
from impl.tensor.tensor import Tensor

_OLD = ("size_average", "reduce")


class _Loss(_FunctionLayer):
    """Old names of the reduction, which warn, are not kept."""

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        flags = [settings.pop(name) for name in _OLD if name in settings]
        if flags:
            settings["reduction"] = string_of(settings["reduction"], *flags)
        return settings


class _HuberLoss(_Loss):
    """Raises TypeError for a `delta` that is no Python number."""

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        delta = settings["delta"]
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        return settings


class _WeightedLoss(_Loss):
    _buffer_names = ("weight", "pos_weight")


class _TripletLoss(_Loss):
    """Raises ValueError for a margin that is not positive."""

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        settings = super()._kept(settings)
        if settings["margin"] <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got "
                f"{settings['margin']} instead"
            )
        return settings


class _DistanceLoss(_TripletLoss):
    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        given = super()._kept(settings)["distance_function"]
        return {**settings, "distance_function": PairwiseDistance() if given is None else given}


class _MultiMarginLoss(_WeightedLoss):
    """Raises ValueError for an exponent other than 1 and 2, and for weights that are no vector."""

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        settings = super()._kept(settings)
        check_buffer("weight", settings["weight"])
        if settings["p"] not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        weight = settings["weight"]
        if isinstance(weight, Tensor) and weight.dim() != 1:  # no other value is kept
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.dim()}D instead"
            )
        return settings


_loss = layers_of(__name__, _Loss)
_weighted = layers_of(__name__, _WeightedLoss)

_REDUCED: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}
_WEIGHTED = {"weight": None, **_REDUCED}
_CLASSES: dict[str, Any] = {
    "weight": None,
    "size_average": None,
    "ignore_index": -100,
    "reduce": None,
    "reduction": "mean",
}

MSELoss = _loss("MSELoss", "mse_loss", **_REDUCED)
L1Loss = _loss("L1Loss", "l1_loss", **_REDUCED)
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", **_REDUCED, beta=1.0)
HuberLoss = layers_of(__name__, _HuberLoss)("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
KLDivLoss = _loss("KLDivLoss", "kl_div", **_REDUCED, log_target=False)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", **_REDUCED)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss", **_REDUCED)
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", margin=0.0, **_REDUCED)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0.0, **_REDUCED)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0, **_REDUCED)
TripletMarginLoss = layers_of(__name__, _TripletLoss)(
    "TripletMarginLoss", "triplet_margin_loss", margin=1.0, p=2.0, eps=1e-6, swap=False, **_REDUCED
)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss",
    "poisson_nll_loss",
    inputs=("log_input", "target"),
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
)
CTCLoss = _loss("CTCLoss", "ctc_loss", blank=0, reduction="mean", zero_infinity=False)

GaussianNLLLoss = _loss(
    "GaussianNLLLoss",
    "gaussian_nll_loss",
    keyword_only=True,
    full=False,
    eps=1e-6,
    reduction="mean",
)
TripletMarginWithDistanceLoss = layers_of(__name__, _DistanceLoss)(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    keyword_only=True,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
)

CrossEntropyLoss = _weighted("CrossEntropyLoss", "cross_entropy", **_CLASSES, label_smoothing=0.0)
NLLLoss = _weighted("NLLLoss", "nll_loss", **_CLASSES)
BCELoss = _weighted("BCELoss", "binary_cross_entropy", **_WEIGHTED)
BCEWithLogitsLoss = _weighted(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", **_WEIGHTED, pos_weight=None
)
MultiLabelSoftMarginLoss = _weighted(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", **_WEIGHTED
)
MultiMarginLoss = layers_of(__name__, _MultiMarginLoss)(
    "MultiMarginLoss", "multi_margin_loss", p=1, margin=1.0, **_WEIGHTED
)
