"""`torch.nn.functional.interpolate`, and its deprecated variants."""

from __future__ import annotations

import numpy as np

from impl.core.registry import C
from impl.core.warning import warn
from impl.nn.pooling import adaptive_avg_pool2d, adaptive_avg_pool3d
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor

_PICKING = ("nearest", "area", "nearest-exact")
_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}  # spatial dimensions
_RANKS = {"bicubic": 2, "lanczos": 2} | _LINEAR


@overridable("input")
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
) -> Tensor:
    """The images (N, C, ...) at another size, over one, two or three dimensions.

    `size` is the new size or `scale_factor` its ratio to the old size, a number or one for each
    dimension. `mode` is "nearest", "nearest-exact" or "area", or depends on the dimensions:
    "linear", "bilinear", "bicubic", "trilinear". `align_corners` keeps the outermost elements in
    place; `antialias` widens the filter where images shrink ("bilinear", "bicubic" and
    "lanczos"). Raises ValueError for options that exclude each other and for a wrong number of
    sizes, NotImplementedError for a mode that does not support the number of dimensions
    (torch.nn.functional.interpolate).
    """
    if mode in _PICKING:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    ndim = input.dim() - 2
    size, factors = _sizes(input, ndim, size, scale_factor, recompute_scale_factor)
    if factors is not None and (recompute_scale_factor or mode == "area"):
        size = [int(input.size(d + 2) * factors[d]) for d in range(ndim)]
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if ndim in (1, 2, 3):
        if mode == "area":
            pools = (C.adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
            return pools[ndim - 1](input, size)
        if mode in _PICKING:
            name = "upsample_nearest" if mode == "nearest" else "_upsample_nearest_exact"
            return getattr(C, f"{name}{ndim}d")(input, size, factors)
        if _RANKS.get(mode) == ndim:
            operator = getattr(C, _operator(mode, ndim, align_corners, antialias))
            return operator(input, size, align_corners, factors)
    raise NotImplementedError(_refusal(mode, ndim + 2))


def _operator(mode: str, ndim: int, align_corners: bool, antialias: bool) -> str:
    if mode == "lanczos":
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    return f"_upsample_{mode}2d_aa" if antialias else f"upsample_{mode}{ndim}d"


def _refusal(mode: str, rank: int) -> str:
    if mode in _LINEAR and rank in (3, 4, 5):
        return f"Got {rank}D input, but {mode} mode needs {_LINEAR[mode] + 2}D input"
    return (
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


def _is_integer(value) -> bool:
    if isinstance(value, Tensor):
        return not value.is_floating_point()
    return isinstance(value, int | np.integer)


def _sizes(input, ndim: int, size, scale_factor, recompute):
    """Sizes and factors of all dimensions; one of the two is None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is None:
        if not isinstance(scale_factor, (list, tuple)):
            return None, [scale_factor] * ndim
        if len(scale_factor) != ndim:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(input.shape[2:])} and scale_factor of "
                f"shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format and scale_factor in (s1, s2, ...,sK) format."
            )
        return None, scale_factor
    if not isinstance(size, (list, tuple)):
        size = [size] * ndim
    elif len(size) != ndim:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please "
            "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, "
            "o2, ...,oK) format."
        )
    elif not all(map(_is_integer, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
            f"int, int], but got size with types {[type(n) for n in size]}"
        )
    if recompute:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    return size, None


def _deprecated(name: str) -> None:
    warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None) -> Tensor:
    """`interpolate` under its deprecated name (torch.nn.functional.upsample)."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` in mode "nearest"; deprecated (torch.nn.functional.upsample_nearest)."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners; deprecated
    (torch.nn.functional.upsample_bilinear)."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
