"""Filling of tensors with random numbers, in the order of their memory, as ATen's kernels draw."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from impl.core import dtypes
from impl.core.registry import FUNCTIONS
from impl.core.warning import warn
from impl.dispatch.not_implemented import not_implemented
from impl.factories.generator import BLOCK, Generator, default_generator
from impl.kernels import libm
from impl.kernels.fused_multiply_add import fused
from impl.kernels.vectorized import largest
from impl.tensor.tensor import Tensor

_DOUBLE = np.dtype(np.float64)


def memory_order(tensor: Tensor) -> np.ndarray:
    """A view of the tensor's array whose row-major order is the memory order."""
    array = tensor._array()
    strides = tensor.stride()
    order = sorted(range(array.ndim), key=lambda d: -strides[d])
    return array.transpose(order)


def fill(tensor: Tensor, numbers: Callable[[int], np.ndarray]) -> None:
    """Write numbers(count), one block after the other, in the order of memory; on the meta device
    none are drawn."""
    if tensor.is_meta:
        return
    target = memory_order(tensor)
    flat = target.reshape(-1)
    narrow = dtypes.BY_NUMPY[flat.dtype] in (dtypes.float16, dtypes.bfloat16)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        drawn = numbers(part.size)
        part[...] = drawn.astype(np.float32) if narrow else drawn  # torch rounds twice
    if not np.may_share_memory(flat, target):  # of a strided tensor it is a copy
        target[...] = flat.reshape(target.shape)


def _put(tensor: Tensor, values: np.ndarray) -> None:
    target = memory_order(tensor)
    target[...] = values.reshape(target.shape)


def _parts(tensor: Tensor) -> Tensor:
    return FUNCTIONS["view_as_real"](tensor.detach())


def _floating(tensor: Tensor, kernel: str) -> np.dtype:
    """The tensor's dtype. Raises NotImplementedError if that is not a floating one, unless no
    number is drawn."""
    d = dtypes.BY_NUMPY[tensor._raw.dtype]
    if tensor._raw.size and not d.is_floating_point:
        raise not_implemented(kernel, d)
    return tensor._raw.dtype


def continuous(distribution: str, d: dtypes.dtype, shown: str) -> None:
    """Raise RuntimeError for samples of a continuous distribution that would be no floats."""
    if not d.is_floating_point:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be "
            f"a floating point but you specified {shown}"
        )


def _check_bounds(d: dtypes.dtype, low: float, high: float) -> None:
    """Raise RuntimeError for a range of uniform numbers that the dtype does not hold or that is
    empty, NotImplementedError for integers."""
    if not d.is_floating_point:
        raise not_implemented("check_uniform_bounds", d)
    most = float(ml_dtypes.finfo(d.numpy).max)
    for name, bound in (("from", low), ("to", high)):
        if not -most <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {d.c_name}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{d.legacy}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def draw_uniform(tensor: Tensor, low: float, high: float, generator: Generator | None) -> None:
    """Fill with uniform numbers from [low, high); real and imaginary parts are drawn separately.

    Raises NotImplementedError for integers, RuntimeError for a range that cannot be drawn from.
    """
    if tensor.is_complex():
        if tensor._raw.size:
            draw_uniform(_parts(tensor), low, high, generator)
        return
    _check_bounds(tensor.dtype, low, high)
    dtype = tensor._raw.dtype
    source = generator or default_generator
    wide = dtype if dtype == np.float64 else np.dtype(np.float32)
    least, most = wide.type(low), wide.type(high)

    def numbers(count: int) -> np.ndarray:
        values = source.uniform(count, dtype)
        if (low, high) != (0, 1):
            values = fused(values, most - least, least)
        values = values.astype(dtype, copy=False)
        # Rounding may reach the upper bound, which is exclusive.
        if largest(values) == dtype.type(high):
            values[values == dtype.type(high)] = least
        return values

    fill(tensor, numbers)


def draw_normal(
    tensor: Tensor, mean: float, std: float, generator: Generator | None, singly: bool = False
) -> None:
    """Fill with normal numbers, in blocks for 16 or more elements if the tensor is contiguous.

    `singly` disables blocks, for a contiguous stand-in of a tensor that is not contiguous. Real
    and imaginary parts have this mean, and half the variance. Raises NotImplementedError for
    integers.
    """
    if tensor.is_complex():
        draw_normal(_parts(tensor), mean, std / math.sqrt(2), generator, singly)
        return
    dtype = _floating(tensor, "normal_kernel_cpu")
    source = generator or default_generator
    count = tensor._raw.size
    if count >= 16 and tensor.is_contiguous() and not (singly or tensor.is_meta):
        computed = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        source.fill_normal_blocks(tensor._array().reshape(-1), computed, mean, std)
    else:
        fill(tensor, lambda n: fused(source.normal_numbers(n), std, mean))


def draw_integers(tensor: Tensor, low: int, high: int, generator: Generator | None) -> None:
    """Fill with integers from [low, high). Raises RuntimeError for an empty range."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if tensor.is_complex():
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    _check_held(tensor.dtype, low, high - 1)
    if tensor.is_floating_point():
        low, high = _representable(tensor.dtype, low, high)
    source = generator or default_generator
    fill(tensor, lambda n: source.integers(low, high, n))


def _check_held(d: dtypes.dtype, first: int, last: int) -> None:
    """Raise RuntimeError for integers that the dtype does not hold."""
    if d is dtypes.bool_:
        least, most = 0, 1
    elif d.is_floating_point:
        most = int(float(ml_dtypes.finfo(d.numpy).max))
        least = -most
    else:
        least, most = int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max)
    for name, value in (("from", first), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {d.c_name}")


def _representable(d: dtypes.dtype, low: int, high: int) -> tuple[int, int]:
    """The ends of a range without the numbers that a floating dtype would round out of it (ATen's
    update_from and update_to), with a warning where it does not hold all. Raises RuntimeError if
    nothing is left."""
    digits = ml_dtypes.finfo(d.numpy).nmant + 1

    def rounded(value: int) -> int:
        return int(float(d.numpy.type(value)))

    def spacing(value: int) -> int:
        return 1 << max(abs(value).bit_length() - digits, 0)

    after, before = rounded(low + 1), rounded(high - 1)
    if after < low:
        low = after + spacing(low + 1)
    if before >= high:
        high = before - spacing(high - 1)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if abs(value) > 1 << digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {d.c_name} can support discrete uniform distribution only within "
                "this range. This warning will become an error in version 1.7 release, please fix "
                "the code in advance",
            )
    if low >= high:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={low} >= to={high}"
        )
    return low, high


_WHOLE = {"f": 2**24, "d": 2**53, "e": 2**11}


def draw_any(tensor: Tensor, generator: Generator | None) -> None:
    """Fill with integers from the dtype's exactly representable range (torch.Tensor.random_)."""
    if not tensor._raw.size:
        return
    if tensor.is_complex():
        raise not_implemented("random_kernel_cpu", tensor.dtype)
    source = generator or default_generator
    long = tensor.dtype in (dtypes.float64, dtypes.int64)
    span = np.uint64(largest_exact(tensor) + 1)
    fill(tensor, lambda n: (source.long_words(n) if long else source.words(n)) % span)


def largest_exact(tensor: Tensor) -> int:
    """The largest integer below which the tensor's dtype holds all exactly."""
    d = tensor.dtype
    if d is dtypes.bool_:
        return 1
    if d.is_floating_point:
        return 2**8 if d is dtypes.bfloat16 else _WHOLE[d.numpy.char]
    return int(np.iinfo(d.numpy).max)


def draw_exponential(tensor: Tensor, rate: float, generator: Generator | None) -> None:
    """Fill with exponentially distributed numbers, by inversion of float64 uniforms."""
    if not tensor._raw.size:
        return
    continuous("Exponential", tensor.dtype, tensor.dtype.legacy)
    source = generator or default_generator
    fill(tensor, lambda n: -1.0 / rate * libm.log1p(-source.uniform(n, _DOUBLE)))


def draw_bernoulli(tensor: Tensor, p: float, generator: Generator | None) -> None:
    """Fill with ones with probability `p` and zeros otherwise, each from a float64 uniform."""
    source = generator or default_generator
    fill(tensor, lambda n: source.uniform(n, _DOUBLE) < p)


def draw_slopes(noise: Tensor, input: Tensor, low: float, high: float) -> None:
    """Fill with uniform slopes from [low, high) where the input is not positive, else with ones.

    Each slope is made of a float64 uniform (ATen's rrelu_with_noise).
    """
    if not noise.is_floating_point() or noise.dtype is dtypes.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", noise.dtype)
    drawn = np.ravel(input._raw <= 0)
    uniforms = default_generator.uniform(int(drawn.sum()), _DOUBLE)
    slopes = np.ones(drawn.shape)
    slopes[drawn] = fused(uniforms, high - low, low)
    _put(noise, slopes)
