"""The modules in which torch has the layers, where they are not the files of this package.

A layer is shown, pickled and imported by its module: `torch.nn.modules.flatten.Flatten`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_MODULES = {
    "activation": ("MultiheadAttention",),
    "batchnorm": ("LazyBatchNorm{}d",),
    "channelshuffle": ("ChannelShuffle",),
    "container": ("ParameterDict", "ParameterList"),
    "conv": ("LazyConv{}d", "LazyConvTranspose{}d"),
    "distance": ("CosineSimilarity", "PairwiseDistance"),
    "flatten": ("Flatten", "Unflatten"),
    "fold": ("Fold", "Unfold"),
    "instancenorm": ("_InstanceNorm", "InstanceNorm{}d", "LazyInstanceNorm{}d"),
    "linear": ("LazyLinear",),
    "pixelshuffle": ("PixelShuffle", "PixelUnshuffle"),
    "rnn": ("GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"),
    "upsampling": ("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"),
}


def place_layers(package: str, layers: dict[str, Any]) -> None:
    """Put the layers into their modules in torch, those that there are and new ones."""
    for name, patterns in _MODULES.items():
        module = _module(f"{package}.{name}")
        vars(sys.modules[package])[name] = module
        for layer in [pattern.format(n) for pattern in patterns for n in _numbers(pattern)]:
            layers[layer].__module__ = module.__name__
            setattr(module, layer, layers[layer])


def _module(name: str) -> ModuleType:
    return sys.modules.setdefault(name, ModuleType(name, f"`torch{name.partition('.')[2]}`."))


def _numbers(pattern: str) -> str:
    return "123" if "{}" in pattern else "1"
