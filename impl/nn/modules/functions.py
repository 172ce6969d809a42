"""Layers that only call a function of `torch.nn.functional` with settings they were made with."""

from __future__ import annotations

from typing import Any

from impl.nn import functional as F
from impl.nn.modules.module import Module

_REQUIRED = object()


class _Applied(Module):
    """Calls the function `name` with its inputs and then its settings, by their names."""

    name: str
    settings: dict[str, Any]

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()
        if len(args) > len(self.settings):
            raise TypeError(
                f"{type(self).__name__}.__init__() takes from 1 to {len(self.settings) + 1} "
                f"positional arguments but {len(args) + 1} were given"
            )
        given = dict(zip(self.settings, args, strict=False))
        for key, value in kwargs.items():
            if key not in self.settings:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{key}'"
                )
            given[key] = value
        for key, default in self.settings.items():
            value = given.get(key, default)
            if value is _REQUIRED:
                raise TypeError(
                    f"{type(self).__name__}.__init__() missing 1 required positional argument: "
                    f"'{key}'"
                )
            setattr(self, key, value)

    def forward(self, *inputs):
        settings = {key: getattr(self, key) for key in self.settings}
        return getattr(F, self.name)(*inputs, **settings)

    def extra_repr(self) -> str:
        shown = [
            f"{key}={getattr(self, key)}"
            for key, default in self.settings.items()
            if default is _REQUIRED or getattr(self, key) != default
        ]
        return ", ".join(shown)


def _layer(name: str, function: str, /, *required: str, **settings) -> type[Module]:
    every = {**dict.fromkeys(required, _REQUIRED), **settings}
    body: dict[str, Any] = {
        "name": function,
        "settings": every,
        "__doc__": f"`functional.{function}` as a layer (torch.nn.{name}).",
        "__module__": __name__,
    }
    if name.endswith("Loss"):  # which torch shows without their settings
        body["extra_repr"] = lambda self: ""
    return type(name, (_Applied,), body)


def _keyed(name: str, function: str, /, **settings) -> type[Module]:
    """A layer whose settings are given by name only."""
    made = _layer(name, function, **settings)

    def __init__(self, **kwargs) -> None:
        super(made, self).__init__(**kwargs)

    made.__init__ = __init__  # type: ignore[method-assign]
    return made


# -- activations --------------------------------------------------------------------------------

ReLU = _layer("ReLU", "relu", inplace=False)
ReLU6 = _layer("ReLU6", "relu6", inplace=False)
LeakyReLU = _layer("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
ELU = _layer("ELU", "elu", alpha=1.0, inplace=False)
SELU = _layer("SELU", "selu", inplace=False)
CELU = _layer("CELU", "celu", alpha=1.0, inplace=False)
GELU = _layer("GELU", "gelu", approximate="none")
SiLU = _layer("SiLU", "silu", inplace=False)
Mish = _layer("Mish", "mish", inplace=False)
Sigmoid = _layer("Sigmoid", "sigmoid")
Tanh = _layer("Tanh", "tanh")
LogSigmoid = _layer("LogSigmoid", "logsigmoid")
Hardtanh = _layer("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _layer("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = _layer("Hardswish", "hardswish", inplace=False)
Softplus = _layer("Softplus", "softplus", beta=1.0, threshold=20.0)
Softsign = _layer("Softsign", "softsign")
Tanhshrink = _layer("Tanhshrink", "tanhshrink")
Softshrink = _layer("Softshrink", "softshrink", lambd=0.5)
Hardshrink = _layer("Hardshrink", "hardshrink", lambd=0.5)
Threshold = _layer("Threshold", "threshold", "threshold", "value", inplace=False)
GLU = _layer("GLU", "glu", dim=-1)
Softmax = _layer("Softmax", "softmax", dim=None)
LogSoftmax = _layer("LogSoftmax", "log_softmax", dim=None)
Softmin = _layer("Softmin", "softmin", dim=None)

# -- pooling ------------------------------------------------------------------------------------

_WINDOW: dict[str, Any] = {"stride": None, "padding": 0}
_MAXIMA: dict[str, Any] = {
    **_WINDOW,
    "dilation": 1,
    "return_indices": False,
    "ceil_mode": False,
}
_MEANS: dict[str, Any] = {**_WINDOW, "ceil_mode": False, "count_include_pad": True}

MaxPool1d = _layer("MaxPool1d", "max_pool1d", "kernel_size", **_MAXIMA)
MaxPool2d = _layer("MaxPool2d", "max_pool2d", "kernel_size", **_MAXIMA)
MaxPool3d = _layer("MaxPool3d", "max_pool3d", "kernel_size", **_MAXIMA)
AvgPool1d = _layer("AvgPool1d", "avg_pool1d", "kernel_size", **_MEANS)
AvgPool2d = _layer("AvgPool2d", "avg_pool2d", "kernel_size", **_MEANS, divisor_override=None)
AvgPool3d = _layer("AvgPool3d", "avg_pool3d", "kernel_size", **_MEANS, divisor_override=None)
AdaptiveAvgPool1d = _layer("AdaptiveAvgPool1d", "adaptive_avg_pool1d", "output_size")
AdaptiveAvgPool2d = _layer("AdaptiveAvgPool2d", "adaptive_avg_pool2d", "output_size")

AdaptiveAvgPool3d = _layer("AdaptiveAvgPool3d", "adaptive_avg_pool3d", "output_size")
AdaptiveMaxPool1d = _layer(
    "AdaptiveMaxPool1d", "adaptive_max_pool1d", "output_size", return_indices=False
)
AdaptiveMaxPool2d = _layer(
    "AdaptiveMaxPool2d", "adaptive_max_pool2d", "output_size", return_indices=False
)
AdaptiveMaxPool3d = _layer(
    "AdaptiveMaxPool3d", "adaptive_max_pool3d", "output_size", return_indices=False
)
_FRACTIONAL: dict[str, Any] = {
    "output_size": None,
    "output_ratio": None,
    "return_indices": False,
    "_random_samples": None,
}
FractionalMaxPool2d = _layer(
    "FractionalMaxPool2d", "fractional_max_pool2d", "kernel_size", **_FRACTIONAL
)
FractionalMaxPool3d = _layer(
    "FractionalMaxPool3d", "fractional_max_pool3d", "kernel_size", **_FRACTIONAL
)

# -- images -------------------------------------------------------------------------------------

Upsample = _layer(
    "Upsample",
    "interpolate",
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
)
UpsamplingNearest2d = _layer(
    "UpsamplingNearest2d", "interpolate", size=None, scale_factor=None, mode="nearest"
)
UpsamplingBilinear2d = _layer(
    "UpsamplingBilinear2d",
    "interpolate",
    size=None,
    scale_factor=None,
    mode="bilinear",
    align_corners=True,
)
PixelShuffle = _layer("PixelShuffle", "pixel_shuffle", "upscale_factor")
PixelUnshuffle = _layer("PixelUnshuffle", "pixel_unshuffle", "downscale_factor")
ChannelShuffle = _layer("ChannelShuffle", "channel_shuffle", "groups")
_BLOCKS: dict[str, Any] = {"dilation": 1, "padding": 0, "stride": 1}
Unfold = _layer("Unfold", "unfold", "kernel_size", **_BLOCKS)
Fold = _layer("Fold", "fold", "output_size", "kernel_size", **_BLOCKS)
LocalResponseNorm = _layer(
    "LocalResponseNorm", "local_response_norm", "size", alpha=1e-4, beta=0.75, k=1.0
)

# -- distances and losses -----------------------------------------------------------------------

_REDUCED: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}

CosineSimilarity = _layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
PairwiseDistance = _layer("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)
MSELoss = _layer("MSELoss", "mse_loss", **_REDUCED)
L1Loss = _layer("L1Loss", "l1_loss", **_REDUCED)
SmoothL1Loss = _layer("SmoothL1Loss", "smooth_l1_loss", **_REDUCED, beta=1.0)
HuberLoss = _layer("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
KLDivLoss = _layer("KLDivLoss", "kl_div", **_REDUCED, log_target=False)

_MARGIN: dict[str, Any] = {"margin": 0.0, **_REDUCED}
SoftMarginLoss = _layer("SoftMarginLoss", "soft_margin_loss", **_REDUCED)
MultiLabelMarginLoss = _layer("MultiLabelMarginLoss", "multilabel_margin_loss", **_REDUCED)
MarginRankingLoss = _layer("MarginRankingLoss", "margin_ranking_loss", **_MARGIN)
CosineEmbeddingLoss = _layer("CosineEmbeddingLoss", "cosine_embedding_loss", **_MARGIN)
HingeEmbeddingLoss = _layer(
    "HingeEmbeddingLoss", "hinge_embedding_loss", **{**_MARGIN, "margin": 1.0}
)
TripletMarginLoss = _layer(
    "TripletMarginLoss",
    "triplet_margin_loss",
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    **_REDUCED,
)
PoissonNLLLoss = _layer(
    "PoissonNLLLoss",
    "poisson_nll_loss",
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
)
GaussianNLLLoss = _keyed(
    "GaussianNLLLoss", "gaussian_nll_loss", full=False, eps=1e-6, reduction="mean"
)
TripletMarginWithDistanceLoss = _keyed(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
)
CTCLoss = _layer("CTCLoss", "ctc_loss", blank=0, reduction="mean", zero_infinity=False)


def _weighted(name: str, function: str, *buffers: str, **settings) -> type[Module]:
    """A layer some of whose settings are tensors, which are buffers of it."""
    made = _layer(name, function, **settings)

    def __init__(self, *args, **kwargs) -> None:
        super(made, self).__init__(*args, **kwargs)
        for buffer in buffers:
            value = self.__dict__.pop(buffer)
            self.register_buffer(buffer, value)

    made.__init__ = __init__  # type: ignore[method-assign]
    return made


_CLASSES: dict[str, Any] = {
    "weight": None,
    "size_average": None,
    "ignore_index": -100,
    "reduce": None,
    "reduction": "mean",
}
CrossEntropyLoss = _weighted(
    "CrossEntropyLoss", "cross_entropy", "weight", **_CLASSES, label_smoothing=0.0
)
NLLLoss = _weighted("NLLLoss", "nll_loss", "weight", **_CLASSES)
BCELoss = _weighted("BCELoss", "binary_cross_entropy", "weight", weight=None, **_REDUCED)
BCEWithLogitsLoss = _weighted(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    "weight",
    "pos_weight",
    weight=None,
    **_REDUCED,
    pos_weight=None,
)
MultiLabelSoftMarginLoss = _weighted(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "weight", weight=None, **_REDUCED
)
MultiMarginLoss = _weighted(
    "MultiMarginLoss", "multi_margin_loss", "weight", p=1, margin=1.0, weight=None, **_REDUCED
)
