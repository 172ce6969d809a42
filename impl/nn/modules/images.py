"""Resampling, rearrangement and blocks of images, and distances of vectors, as layers."""

from __future__ import annotations

from impl.nn.modules.function_layer import layers_of

_layer = layers_of(__name__)

_NEAREST = {"size": None, "scale_factor": None, "mode": "nearest"}
_BLOCKS = {"dilation": 1, "padding": 0, "stride": 1}

Upsample = _layer(
    "Upsample", "interpolate", **_NEAREST, align_corners=None, recompute_scale_factor=None
)
UpsamplingNearest2d = _layer("UpsamplingNearest2d", "interpolate", **_NEAREST)
UpsamplingBilinear2d = _layer(
    "UpsamplingBilinear2d", "interpolate", **{**_NEAREST, "mode": "bilinear"}, align_corners=True
)
PixelShuffle = _layer("PixelShuffle", "pixel_shuffle", "upscale_factor")
PixelUnshuffle = _layer("PixelUnshuffle", "pixel_unshuffle", "downscale_factor")
ChannelShuffle = _layer("ChannelShuffle", "channel_shuffle", "groups")
Unfold = _layer("Unfold", "unfold", "kernel_size", **_BLOCKS)
Fold = _layer("Fold", "fold", "output_size", "kernel_size", **_BLOCKS)
CosineSimilarity = _layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
PairwiseDistance = _layer("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)
