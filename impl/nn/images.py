"""Functions on images of `torch.nn.functional`: sampling at points, and sliding blocks."""

from __future__ import annotations

from impl.core.registry import C
from impl.core.warning import warn
from impl.nn.sizes import _pair
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def _number(numbers: dict[str, int], name: object) -> int | None:
    """ATen's number of a mode, None for other objects than the names."""
    return numbers.get(name) if isinstance(name, str) else None


@overridable("input", "grid")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None) -> Tensor:
    """The images (N, C, H, W) or (N, C, D, H, W) at the points of a grid (N, ..., 2 or 3).

    The coordinates, the last dimension's first, go from -1 to 1 between the outermost elements'
    centres (`align_corners`) or outer sides. `mode` is "bilinear", "nearest" or, in two dimensions,
    "bicubic"; outside there are zeros, the nearest element ("border") or the mirror image
    ("reflection"). Raises ValueError for other modes, RuntimeError for sizes that do not fit
    (torch.nn.functional.grid_sample).
    """
    interpolation, outside = _number(_MODES, mode), _number(_PADDINGS, padding_mode)
    if interpolation is None:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if outside is None:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_default()
        align_corners = False
    return C.grid_sampler(input, grid, interpolation, outside, align_corners)


def _warn_of_default() -> None:
    """Warn, as torch does, about the default of `align_corners`."""
    warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
    )


@overridable("theta")
def affine_grid(theta, size, align_corners=None) -> Tensor:
    """The points (N, ..., d) to which matrices `theta` (N, d, d + 1) map those of a regular grid.

    `size` is that of the images, (N, C, H, W) or (N, C, D, H, W); for `align_corners` see
    `grid_sample`. Raises ValueError for another dtype or other shapes
    (torch.nn.functional.affine_grid).
    """
    if align_corners is None:
        _warn_of_default()
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    ndim = len(size) - 2
    if ndim not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.shape[1:] != (ndim, ndim + 1):
        raise ValueError(
            f"Expected a batch of {ndim}D affine matrices of shape Nx{ndim}x{ndim + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if align_corners and min(size[-ndim:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return C.affine_grid_generator(theta, size, align_corners)


@overridable("input")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The sliding blocks of (N, C, H, W) or (C, H, W), as columns of (N, C * kernel, blocks).

    Each setting is a number or a pair; the image is padded with zeros. Raises RuntimeError for
    other ranks and for settings by which not even one block fits (torch.nn.functional.unfold).
    """
    return C.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@overridable("input")
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The image of size `output_size` from the columns of (N, C * kernel, blocks), which are added
    at the positions of `unfold`. Raises RuntimeError for another number of columns or rows
    (torch.nn.functional.fold)."""
    settings = map(_pair, (output_size, kernel_size, dilation, padding, stride))
    return C.col2im(input, *settings)


@overridable("input")
def pad(input, pad, mode="constant", value=None) -> Tensor:
    """The tensor padded in its last dimensions, by two numbers each, the last dimension first.

    `mode` is "constant" (with `value`), "reflect", "replicate" or "circular". Raises RuntimeError
    for sizes that do not fit, NotImplementedError for other modes and ranks
    (torch.nn.functional.pad).
    """
    return C.pad(input, pad, mode, value)
