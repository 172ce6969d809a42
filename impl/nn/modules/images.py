"""Resampling, rearrangement and blocks of images, and distances of vectors, as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from impl.nn import functional as F
from impl.nn.modules.function_layer import layers_of
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor


class Upsample(Module):
    """`functional.interpolate` as a layer (torch.nn.Upsample)."""

    _impl_added_attributes: ClassVar[dict[str, Any]] = {"recompute_scale_factor": True}

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: tuple[float, ...] | float | None = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        settings = self.mode, self.align_corners, self.recompute_scale_factor
        return F.interpolate(input, self.size, self.scale_factor, *settings)

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` to the nearest element (torch.nn.UpsamplingNearest2d)."""

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with bilinear interpolation (torch.nn.UpsamplingBilinear2d)."""

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


_layer = layers_of(__name__)

_BLOCKS = {"dilation": 1, "padding": 0, "stride": 1}
_BLOCKS_TEXT = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"

PixelShuffle = _layer(
    "PixelShuffle", "pixel_shuffle", "upscale_factor", text="upscale_factor={upscale_factor}"
)
PixelUnshuffle = _layer(
    "PixelUnshuffle",
    "pixel_unshuffle",
    "downscale_factor",
    text="downscale_factor={downscale_factor}",
)
ChannelShuffle = _layer("ChannelShuffle", "channel_shuffle", "groups", text="groups={groups}")
Unfold = _layer("Unfold", "unfold", "kernel_size", **_BLOCKS, text=_BLOCKS_TEXT)
Fold = _layer(
    "Fold",
    "fold",
    "output_size",
    "kernel_size",
    **_BLOCKS,
    text="output_size={output_size}, " + _BLOCKS_TEXT,
)
CosineSimilarity = _layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)


class PairwiseDistance(Module):
    """The norm of the difference of vectors (torch.nn.PairwiseDistance)."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
