"""Interpolation of images to other sizes: nearest, linear, cubic, antialiased.

All are linear and separable (see `resampling`), and the backward of each is an operator whose
gradient is the operator again (torch's derivatives.yaml).
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, int64
from impl.core.memory_formats import channels_last, formatted_as, suggested_by
from impl.core.registry import NATIVE, tensor_ops
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import operator
from impl.dispatch.not_implemented import not_implemented
from impl.kernels.casting import storable
from impl.kernels.reduced_precision import widened
from impl.operators.images import resampling
from impl.tensor.tensor import Tensor

_AXES = {1: "W", 2: "HW", 3: "DHW"}
_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


class _Mode(NamedTuple):
    """An interpolation mode: its matrix for a dimension, and the properties of torch's operator for
    it."""

    name: str  # of the operator
    node: str
    ndim: int
    matrix: Any  # function of (size, count, align_corners, scale, kind)
    # The selected elements of a nearest mode: as a function of (size, count, scale, kind), and,
    # without `kind`, as the backward and the kernel for small images compute them.
    places: Any
    places_at_once: Any
    loop: str  # torch's name of the kernel, for messages
    bytes: bool  # whether uint8 is supported
    halves: bool  # whether half precision is supported
    formatted: bool  # whether the backward operator keeps the gradient's memory format

    def settings(self) -> tuple[str, ...]:
        corners = () if self.places else ("align_corners",)
        return (*corners, *_SCALES[self.ndim])

    def matrices(self, sizes, counts, settings, kind) -> list:
        """The matrix of each dimension."""
        if self.places_at_once is not None:
            every = zip(sizes, counts, settings, strict=True)
            return [resampling.picking(self.places_at_once(n, m, s), n, kind) for n, m, s in every]
        corners, *scales = settings
        every = zip(sizes, counts, scales, strict=True)
        return [self.matrix(n, m, corners, scale, kind) for n, m, scale in every]

    def picked(self, array, counts, scales, kind) -> np.ndarray:
        """The array with the elements selected along each dimension."""
        channels = array.shape[1] > 3 and suggested_by(array) is channels_last
        at_once = self.ndim == 2 and (sum(counts) <= 128 or channels)
        every = zip(array.shape[2:], counts, scales, strict=True)
        places = [
            self.places_at_once(n, m, s) if at_once else self.places(n, m, s, kind)
            for n, m, s in every
        ]
        return array[(slice(None), slice(None), *np.ix_(*places))]


def _check(raw, size, mode: _Mode) -> None:
    shape, ndim = raw.shape, mode.ndim
    if min(*shape[2:], *size) <= 0:
        before, after = (
            ", ".join(f"{axis}: {n}" for axis, n in zip(_AXES[ndim], sizes, strict=True))
            for sizes in (shape[2:], size)
        )
        between = " and" if ndim == 1 else ""
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({before}){between} output ({after})"
        )
    if 0 in shape[1:]:
        raise RuntimeError(
            f"Non-empty {ndim + 2}D data tensor expected but got a tensor with sizes {[*shape]}"
        )
    kind = BY_NUMPY[raw.dtype]
    supported = kind.category == FLOATING and (mode.halves or kind.itemsize > 2)
    if not supported and not (mode.bytes and kind.name == "uint8"):
        raise not_implemented(mode.loop, kind)


def _interpolated(array, size, settings, mode: _Mode):
    wide = widened(array)
    kind = wide.dtype.type if wide.dtype.kind == "f" else np.float32
    if mode.places is not None:
        return mode.picked(array, size, settings, kind)
    if array.dtype == np.uint8:
        matrices = mode.matrices(array.shape[2:], size, settings, np.float64)
        return resampling.resampled_bytes(array, matrices)
    matrices = mode.matrices(array.shape[2:], size, settings, kind)
    return resampling.resampled(wide, matrices).astype(array.dtype, copy=False)


def _returned(grad, size, input_size, settings, mode: _Mode):
    wide = widened(grad)
    matrices = mode.matrices(input_size[2:], size, settings, wide.dtype.type)
    result = resampling.resampled(wide, [matrix.T.tocsr() for matrix in matrices])
    return result.astype(grad.dtype, copy=result.base is not None)  # a gradient must not be a view


def _signature(*parameters: str) -> inspect.Signature:
    """The signature of a kernel whose first parameter is a tensor."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter(parameters[0], kind, annotation="Array")
    return inspect.Signature([first, *(inspect.Parameter(name, kind) for name in parameters[1:])])


# Modes whose kernels resize their results, which counts as a write.
_RESIZING = ("upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_bilinear2d")


def _define(mode: _Mode) -> None:
    """The operator of a mode and its backward, each the other's gradient."""

    def forward(self, output_size, *settings):
        _check(self, output_size, mode)
        return formatted_as(_interpolated(self, output_size, settings, mode), self)

    def backward(grad_output, output_size, input_size, *settings):
        result = _returned(grad_output, output_size, input_size, settings, mode)
        return formatted_as(result, grad_output if mode.formatted else result[..., 0])

    settings, passed = mode.settings(), ", ".join(mode.settings())
    forward.__name__, backward.__name__ = mode.name, f"{mode.name}_backward"
    forward.__signature__ = _signature("self", "output_size", *settings)  # type: ignore
    backward.__signature__ = _signature(  # type: ignore
        "grad_output", "output_size", "input_size", *settings
    )
    options: dict[str, Any] = {"function": False, "method": False, "fresh": True}
    options["batching"] = "fallback" if "exact" in mode.name else "merged"
    writes = int(mode.name in _RESIZING)
    operator(node=f"{mode.node}Backward0", writes=writes, **options)(forward).gradient(
        self=f"F.{mode.name}_backward(grad, output_size, self_shape, {passed})"
    ).forward("linear")
    operator(node=f"{mode.node}BackwardBackward0", **options)(backward).gradient(
        grad_output=f"F.{mode.name}(grad, output_size, {passed})"
    ).forward("linear")


# -- the modes ----------------------------------------------------------------------------------


def _modes():
    nearest = (resampling.nearest_places, resampling.nearest_places_at_once)
    exact = (resampling.exact_places, resampling.exact_places_at_once)
    for ndim in (1, 2, 3):
        loop = (
            "upsample_nearest2d_channels_last" if ndim == 2 else "compute_indices_weights_nearest"
        )
        name, node = f"upsample_nearest{ndim}d", f"UpsampleNearest{ndim}D"
        yield _Mode(name, node, ndim, None, *nearest, loop, True, True, ndim < 3)
        name, node = f"_upsample_nearest_exact{ndim}d", f"UpsampleNearestExact{ndim}D"
        yield _Mode(name, node, ndim, None, *exact, loop, True, True, ndim < 3)
    linear, cubic = resampling.linear, resampling.cubic
    for word, ndim, loop in (
        ("linear", 1, "compute_indices_weights_linear"),
        ("bilinear", 2, "upsample_bilinear2d_channels_last"),
        ("trilinear", 3, "compute_indices_weights_linear"),
    ):
        name, node = f"upsample_{word}{ndim}d", f"Upsample{word.capitalize()}{ndim}D"
        yield _Mode(name, node, ndim, linear, None, None, loop, ndim == 2, True, True)
    loop = "compute_indices_weights_cubic"
    yield _Mode(
        "upsample_bicubic2d", "UpsampleBicubic2D", 2, cubic, None, None, loop, True, True, False
    )
    for word in resampling.FILTERS:
        name, node = f"_upsample_{word}2d_aa", f"Upsample{word.capitalize()}2DAa"
        matrix = partial(resampling.antialiased, word)
        loop = "compute_index_ranges_weights"
        yield _Mode(name, node, 2, matrix, None, None, loop, True, False, word == "bilinear")


def _publish(name: str, has_corners: bool) -> None:
    """Make the overload for sizes or factors of the input's sizes a function of `NATIVE`."""

    def with_corners(input, output_size, align_corners, scale_factors) -> Tensor:
        return _upsampled(name, input, output_size, scale_factors, align_corners)

    def plain(input, output_size, scale_factors) -> Tensor:
        return _upsampled(name, input, output_size, scale_factors)

    call = with_corners if has_corners else plain
    call.__name__ = name
    NATIVE[name] = RULES["composed_fallback"](call) if "exact" in name else call


def _upsampled(name: str, input: Tensor, size, scale_factors, *corners) -> Tensor:
    """The operator `name` applied, for sizes or for factors of the input's sizes.

    Raises RuntimeError for both, neither, or another number than the input has.
    """
    if (size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    spatial = input._raw.shape[2:]
    if scale_factors is None:
        return getattr(tensor_ops, name)(input, tuple(size), *corners, *(None,) * len(spatial))
    scales = tuple(float(scale) for scale in scale_factors)
    pairs = zip(spatial, scales, strict=True)
    made = tuple(storable(n * scale, int64.numpy).item() for n, scale in pairs)
    return getattr(tensor_ops, name)(input, made, *corners, *scales)


for _mode in _modes():
    _define(_mode)
    _publish(_mode.name, "nearest" not in _mode.name)
