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
    body = {
        "name": function,
        "settings": every,
        "__doc__": f"`functional.{function}` as a layer (torch.nn.{name}).",
        "__module__": __name__,
    }
    return type(name, (_Applied,), body)


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

# -- distances and losses -----------------------------------------------------------------------

_REDUCED: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}

CosineSimilarity = _layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
PairwiseDistance = _layer("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)
MSELoss = _layer("MSELoss", "mse_loss", **_REDUCED)
L1Loss = _layer("L1Loss", "l1_loss", **_REDUCED)
SmoothL1Loss = _layer("SmoothL1Loss", "smooth_l1_loss", **_REDUCED, beta=1.0)
HuberLoss = _layer("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
KLDivLoss = _layer("KLDivLoss", "kl_div", **_REDUCED, log_target=False)


def _weighted(name: str, function: str, *buffers: str, **settings) -> type[Module]:
    """A layer some of whose settings are tensors, which are buffers of it."""
    made = _layer(name, function, **settings)

    def __init__(self, *args, **kwargs) -> None:
        super(made, self).__init__(*args, **kwargs)
        for buffer in buffers:
            value = self.__dict__.pop(buffer)
            self.register_buffer(buffer, value)

    made.__init__ = __init__  # type: ignore[method-assign]
    made.extra_repr = lambda self: ""  # type: ignore[method-assign]
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
