"""The geometry of pooling windows: their number, their input elements, and torch's checks."""

from __future__ import annotations

import itertools
from operator import index

import numpy as np

from impl.tensor.tensor import Tensor

_WORDS = {2: "two", 3: "three"}
_HALVES = {
    2: "padW = {3}, padH = {2}, kW = {1}, kH = {0}",
    3: "kT: {0} kW: {2} kH: {1} padT: {3} padW: {5} padH: {4}",
}


def is_one_size(value) -> bool:
    """Whether a setting is one integer: Python's, NumPy's or that of a 0-dim tensor."""
    return isinstance(value, int | np.integer) or (isinstance(value, Tensor) and value.dim() == 0)


def _size(value) -> int:
    """A size as a C++ int. Raises RuntimeError for one beyond its range."""
    size = index(value)
    if not -(2**31) <= size < 2**31:
        raise RuntimeError("value cannot be converted to type int without overflow")
    return size


def _several(value, ndim: int, message: str) -> tuple[int, ...]:
    if is_one_size(value):
        return (_size(value),) * ndim
    value = tuple(map(_size, value))
    if len(value) not in (1, ndim):
        raise RuntimeError(message)
    return value


def sizes_for(name: str, ndim: int, kernel_size, stride, padding, dilation):
    """Kernel, stride, padding and dilation as torch stores them: tuples of `ndim` numbers, or of
    one that applies to all dimensions; an empty stride is that of the kernel.

    Raises RuntimeError for a sequence of another length.
    """
    words = f"a single int, or a tuple of {_WORDS[ndim]} ints"
    must = "must" if name == "avg_pool3d" else "must either"
    kernel = _several(kernel_size, ndim, f"{name}: kernel_size {must} be {words}")
    step: tuple[int, ...] = ()
    if is_one_size(stride) or (stride is not None and len(stride)):
        step = _several(stride, ndim, f"{name}: stride {must} be omitted, {words}")
    pad = _several(padding, ndim, f"{name}: padding {must} be {words}")
    gap = _several(dilation, ndim, f"{name}: dilation must be either {words}")
    return kernel, step, pad, gap


def sizes_for_one(name: str, input, kernel_size, stride, padding, dilation):
    """As `sizes_for`, for one dimension that is pooled as the second of two.

    Raises RuntimeError for another rank than 2 or 3, and for several numbers.
    """
    ndim = input._raw.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )

    def single(argument, value):
        if is_one_size(value):
            return _size(value)
        if len(value) != 1:
            raise RuntimeError(
                f"{name}() argument '{argument}' should contain one int (got {len(value)})"
            )
        return _size(value[0])

    kernel = single("kernel_size", kernel_size)
    empty = stride is None or (not is_one_size(stride) and len(stride) == 0)
    step = kernel if empty else single("stride", stride)
    pad, gap = single("padding", padding), single("dilation", dilation)
    return (1, kernel), (1, step), (0, pad), (1, gap)


def check_not_empty(shape, first: int, name: str) -> None:
    """Raise RuntimeError for a dimension without elements, from the `first` one on."""
    for dim in range(first, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {[*shape]} with dimension {dim} being empty"
            )


def check_gradient(shape, name: str) -> None:
    """Raise RuntimeError for a gradient that is empty but for its batch
    (adaptive_pool_empty_output_check)."""
    for dim, n in enumerate(shape[1:], 1):
        if not n:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output to have non-zero size for non-batch "
                f"dimensions, but grad_output has sizes {[*shape]} with dimension {dim} being empty"
            )


def check_sizes(raw, ndim: int, name: str) -> None:
    """Raise RuntimeError for an empty dimension that is not the batch (or a wrong rank)."""
    inner = raw.shape[max(raw.ndim - ndim - 1, 0) :]
    shape = [*raw.shape]
    if ndim == 2:
        if 0 in inner or raw.ndim not in (3, 4):
            raise RuntimeError(
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got:{shape}"
            )
    else:
        check_not_empty(shape, max(raw.ndim - ndim - 1, 0), name)


class Windows:
    """The windows over an input's last dimensions, of sizes `size`."""

    def __init__(self, size, kernel, stride, padding, dilation, ceil_mode: bool) -> None:
        self.size, self.kernel, self.stride = tuple(size), kernel, stride
        self.padding, self.dilation = padding, dilation
        self.ndim = len(self.size)
        self.output = tuple(
            _output_size(*numbers, ceil_mode)
            for numbers in zip(size, kernel, stride, padding, dilation, strict=True)
        )

    @classmethod
    def of(cls, raw, ndim: int, kernel, stride, padding, dilation, ceil_mode) -> Windows:
        """The windows over a raw value, of sizes as `sizes_for` gives them.

        Raises RuntimeError for numbers that torch rejects.
        """
        kernel, stride, padding, dilation = (
            numbers * ndim if len(numbers) == 1 else numbers
            for numbers in (kernel, stride or kernel, padding, dilation)
        )
        for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
            if s == 0:
                raise RuntimeError("stride should not be zero")
            if p < 0:
                raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
            if p > int(((k - 1) * d + 1) / 2):
                raise RuntimeError(
                    "pad should be at most half of effective kernel size, but got "
                    f"pad={p}, kernel_size={k} and dilation={d}"
                )
        axes = "THW"[3 - ndim :]
        for what, numbers in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
            if any(n <= 0 for n in numbers):
                short = {"kernel size": "k", "stride": "d", "dilation": "dilation"}[what]
                listed = " ".join(f"{short}{a}: {n}" for a, n in zip(axes, numbers, strict=True))
                raise RuntimeError(f"{what} should be greater than zero, but got {listed}")
        return cls(raw.shape[raw.ndim - ndim :], kernel, stride, padding, dilation, ceil_mode)

    def check_output(self, shape) -> None:
        """Raise RuntimeError for padding beyond half of the kernel, and when no window fits."""
        if any(p > k // 2 for k, p in zip(self.kernel, self.padding, strict=True)):
            listed = _HALVES[self.ndim].format(*self.kernel, *self.padding)
            raise RuntimeError(
                f"pad should be smaller than or equal to half of kernel size, but got {listed}"
            )
        if all(n >= 1 for n in self.output):
            return
        planes = shape[len(shape) - self.ndim - 1]
        given = "x".join(map(str, (planes, *self.size)))
        computed = "x".join(map(str, (planes, *self.output)))
        raise RuntimeError(
            f"Given input size: ({given}). Calculated output size: ({computed}). Output size is "
            "too small"
        )

    def check_kernel_fits(self) -> None:
        """Raise RuntimeError when the input, without padding, is smaller than the window
        (avg_pool3d)."""
        if all(n >= k for n, k in zip(self.size, self.kernel, strict=True)):
            return
        axes = "THW"
        given = " ".join(f"{a}: {n}" for a, n in zip(axes, self.size, strict=True))
        kernel = " ".join(f"k{a}: {n}" for a, n in zip(axes, self.kernel, strict=True))
        raise RuntimeError(f"input image ({given}) smaller than kernel size ({kernel})")

    def _positions(self, axis: int, offset: int):
        """The coordinate along `axis` of element number `offset` of each window."""
        start = np.arange(self.output[axis]) * self.stride[axis] - self.padding[axis]
        return start + offset * self.dilation[axis]

    def steps(self):
        """For each element of a window in scan order: (places, inside, index).

        `places` are flat positions in the unpadded input, `inside` is true where these exist, and
        `index` selects the elements there from an array.
        """
        for offsets in itertools.product(*map(range, self.kernel)):
            positions = [self._positions(a, k) for a, k in enumerate(offsets)]
            inside = self._grid(
                [(p >= 0) & (p < n) for p, n in zip(positions, self.size, strict=True)], True
            )
            clipped = [np.clip(p, 0, n - 1) for p, n in zip(positions, self.size, strict=True)]
            yield self._flat(clipped), inside, (..., *np.ix_(*clipped))

    def overhang(self) -> list[tuple[int, int]]:
        """The number of elements by which the windows extend beyond each side of the input."""
        result = []
        for axis, size in enumerate(self.size):
            reach = (self.kernel[axis] - 1) * self.dilation[axis]
            end = (self.output[axis] - 1) * self.stride[axis] + reach + 1 - self.padding[axis]
            result.append((self.padding[axis], max(end - size, 0)))
        return result

    def slices(self):
        """For each element of a window in scan order, its positions in all windows, as slices of
        the input padded by `overhang`."""
        for offsets in itertools.product(*map(range, self.kernel)):
            yield tuple(
                slice(k * d, k * d + s * (n - 1) + 1, s)
                for k, d, s, n in zip(offsets, self.dilation, self.stride, self.output, strict=True)
            )

    def first_offsets(self):
        """The flat position of each window's first element, inside the input or not."""
        return self._flat([self._positions(axis, 0) for axis in range(self.ndim)])

    def offsets_in_plane(self) -> np.ndarray:
        """The flat distance of each element of a window, in scan order, from the first one."""
        steps = []
        for offsets in itertools.product(*map(range, self.kernel)):
            place = 0
            for k, d, n in zip(offsets, self.dilation, self.size, strict=True):
                place = place * n + k * d
            steps.append(place)
        return np.array(steps, np.intp)

    def first_places(self):
        """The flat position of each window's first element that is not padding."""
        starts = []
        for axis in range(self.ndim):
            start = self._positions(axis, 0)
            gap = self.dilation[axis]
            starts.append(np.where(start < 0, start + -(start // gap) * gap, start))
        return self._flat(starts)

    def counts(self, include_pad: bool, divisor):
        """The divisor of each window's sum."""
        if divisor is not None:
            return np.full(self.output, divisor)
        numbers = []
        for axis in range(self.ndim):
            start = self._positions(axis, 0)
            size, pad = self.size[axis], self.padding[axis]
            end = np.minimum(start + self.kernel[axis], size + pad)
            if not include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, size)
            numbers.append(end - start)
        result = numbers[0]
        for n in numbers[1:]:
            result = np.multiply.outer(result, n)
        return result

    def _flat(self, positions):
        result = np.zeros((), np.int64)
        for p, n in zip(positions, self.size, strict=True):
            result = result[..., None] * n + p
        return result

    @staticmethod
    def _grid(masks, start):
        result = np.array(start)
        for mask in masks:
            result = result[..., None] & mask
        return result


def _output_size(size, kernel, stride, padding, dilation, ceil_mode) -> int:
    extent = size + 2 * padding - dilation * (kernel - 1) - 1
    result = (extent + (stride - 1 if ceil_mode else 0)) // stride + 1
    # The last window must begin inside the input or its left padding.
    if ceil_mode and (result - 1) * stride >= size + padding:
        result -= 1
    return result
