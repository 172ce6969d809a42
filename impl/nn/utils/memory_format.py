"""Memory formats of the weights of convolutions."""

from __future__ import annotations

from typing import Any

from impl.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from impl.nn.modules.module import Module


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    """Convert the weights of layers of some kinds, in a module and those below it."""
    if isinstance(module, kinds):
        weight: Any = module.weight
        data = weight.detach().clone(memory_format=memory_format)
        weight.data = data.resize_(data.size(), memory_format=memory_format)
    for child in module.children():
        _convert(child, kinds, memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of `Conv2d` and `ConvTranspose2d` in a module; returns the module
    (torch.nn.utils.convert_conv2d_weight_memory_format)."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of `Conv3d` and `ConvTranspose3d` in a module; returns the module
    (torch.nn.utils.convert_conv3d_weight_memory_format)."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
