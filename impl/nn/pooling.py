"""Pooling functions of `torch.nn.functional`."""

from __future__ import annotations

import functools
import math
import operator

from impl.core.registry import C
from impl.dispatch.boolean_dispatch import boolean_dispatch
from impl.nn.activation import relu
from impl.nn.sizes import _list_with_default, _pair, _triple
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _named(function, name: str, text: str):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


# -- maxima of windows ----------------------------------------------------------------------------


def _max_pool(ndim: int, text: str):
    """`max_poolNd`, and the function that it calls where indices are wanted."""
    name = f"max_pool{ndim}d"

    def with_indices(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ):
        pool = getattr(C, f"{name}_with_indices")
        stride = [] if stride is None else stride
        if ndim == 3:
            _ = input.is_cuda  # torch asks it, for a deterministic algorithm there
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode)

    def values(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor:
        stride = [] if stride is None else stride
        return getattr(C, name)(input, kernel_size, stride, padding, dilation, ceil_mode)

    _named(with_indices, f"{name}_with_indices", f"The maxima of `{name}`, and their positions.")
    _named(values, f"_{name}", text)
    both = overridable("input")(boolean_dispatch(name, "return_indices", 6, with_indices, values))
    both.__doc__ = f"""{text}

    Windows are `kernel_size` wide with gaps of `dilation`, `stride` apart (by default as wide),
    over an input padded with minus infinity; each is a number, or one for each dimension. With
    `return_indices`, also the positions of the maxima in the unpadded input. Raises RuntimeError
    for other ranks, and for windows that do not fit (torch.nn.functional.{name}).
    """
    return both, with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(
    1, "The maxima of windows over the last dimension of (N, C, L) or (C, L)."
)
max_pool2d, max_pool2d_with_indices = _max_pool(
    2, "The maxima of windows over the last two dimensions of (N, C, H, W) or (C, H, W)."
)
max_pool3d, max_pool3d_with_indices = _max_pool(
    3, "The maxima of windows over the last three dimensions of (N, C, D, H, W) or (C, D, H, W)."
)


# -- windows that are as many as asked for --------------------------------------------------------


def _adaptive_max_pool(ndim: int, text: str):
    name = f"adaptive_max_pool{ndim}d"

    def with_indices(input, output_size, return_indices: bool = False):
        if ndim > 1:
            output_size = _list_with_default(output_size, input.size())
        return getattr(C, name)(input, output_size)

    def values(input, output_size, return_indices: bool = False) -> Tensor:
        return with_indices(input, output_size)[0]

    _named(with_indices, f"{name}_with_indices", f"The maxima of `{name}`, and their positions.")
    _named(values, f"_{name}", text)
    both = overridable("input")(boolean_dispatch(name, "return_indices", 2, with_indices, values))
    both.__doc__ = f"""{text}

    With `return_indices`, also the positions of the maxima in the flattened windows' plane, int64.
    Raises RuntimeError for other ranks, for negative sizes, and for dimensions without elements
    (torch.nn.functional.{name}).
    """
    return both, with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(
    1, "Maxima of as many windows over the last dimension of (N, C, L) or (C, L) as asked for."
)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(
    2,
    "Maxima of as many windows over the last two dimensions as `output_size` says; None keeps a "
    "size.",
)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(
    3, "As `adaptive_max_pool2d`, over the last three dimensions of a 4-D or 5-D tensor."
)


@overridable("input")
def adaptive_avg_pool2d(input, output_size) -> Tensor:
    """Means of `output_size` windows over the last two dimensions; None keeps a size. Raises
    RuntimeError unless 3-D or 4-D, for negative sizes, and for dimensions without elements
    (torch.nn.functional.adaptive_avg_pool2d)."""
    return C.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


@overridable("input")
def adaptive_avg_pool3d(input, output_size) -> Tensor:
    """As `adaptive_avg_pool2d`, over the last three dimensions of a 4-D or 5-D tensor
    (torch.nn.functional.adaptive_avg_pool3d)."""
    return C.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


# -- windows at pseudo-random places --------------------------------------------------------------


def _fractional_max_pool(ndim: int, text: str):
    name = f"fractional_max_pool{ndim}d"

    def with_indices(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples=None,
    ):
        if output_size is None:
            output_size = _size_of_ratio(name, input, ndim, output_ratio)
        samples = _random_samples
        if samples is None:
            batch = 1 if input.dim() == ndim + 1 else input.size(0)
            samples = C.rand(
                batch, input.size(-ndim - 1), ndim, dtype=input.dtype, device=input.device
            )
        return getattr(C, name)(input, kernel_size, output_size, samples)

    def values(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples=None,
    ) -> Tensor:
        return with_indices(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )[0]

    _named(with_indices, f"{name}_with_indices", f"The maxima of `{name}`, and their positions.")
    _named(values, f"_{name}", text)
    both = overridable("input", "_random_samples")(
        boolean_dispatch(name, "return_indices", 4, with_indices, values)
    )
    both.__doc__ = f"{text} (torch.nn.functional.{name})."
    return both, with_indices


def _size_of_ratio(name: str, input, ndim: int, output_ratio) -> list[int]:
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if ndim == 2 and len(output_ratio) > 2:
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints."
        )
    ratios = (_pair if ndim == 2 else _triple)(output_ratio)
    return [int(input.size(i - ndim) * ratios[i]) for i in range(ndim)]


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(
    2,
    """Maxima of windows over the last two dimensions of (N, C, H, W) or (C, H, W).

    As many as `output_size` says, or `output_ratio` relative to the input; where they lie is
    determined by `_random_samples` (N, C, 2) in [0, 1), drawn if not given. With `return_indices`,
    also the maxima's positions in the flattened plane. Raises ValueError without a size, and
    RuntimeError for windows that do not fit""",
)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(
    3, "As `fractional_max_pool2d`, over the last three dimensions"
)


# -- power-average pooling ------------------------------------------------------------------------


def _area(kernel_size) -> tuple:
    height, width = _pair(kernel_size)  # Python refuses another number of them
    return height, width


def _volume(kernel_size) -> tuple:
    depth, height, width = _triple(kernel_size)
    return depth, height, width


def _lp_pool(ndim: int, max_pool, sizes):
    """Power-average pooling over a number of dimensions; `sizes` are those of a window."""
    average = f"avg_pool{ndim}d"

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
        kernel = sizes(kernel_size)
        if isinstance(norm_type, (int, float)):
            if norm_type == 0:
                raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
            if norm_type == math.inf:
                return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
            if norm_type == -math.inf:
                return -max_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        pool, powers = getattr(C, average), input.pow(norm_type)
        if stride is None:
            mean = pool(powers, kernel_size, padding=0, ceil_mode=ceil_mode)
        else:
            mean = pool(powers, kernel_size, stride, 0, ceil_mode)
        count = functools.reduce(operator.mul, kernel)
        return (C.sign(mean) * relu(C.abs(mean))).mul(count).pow(1.0 / norm_type)

    name = f"lp_pool{ndim}d"
    text = f"""The p-norm of each window; p is `norm_type` (torch.nn.functional.{name}).

    The root is taken of the sum's absolute value and has the sum's sign. An infinite p takes the
    greatest absolute value, minus infinity the smallest. Raises ValueError if p is 0.
    """
    return overridable("input")(_named(lp_pool, name, text))


lp_pool1d = _lp_pool(1, max_pool1d, lambda kernel_size: (kernel_size,))
lp_pool2d = _lp_pool(2, max_pool2d, _area)
lp_pool3d = _lp_pool(3, max_pool3d, _volume)
