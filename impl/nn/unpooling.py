"""Max unpooling of `torch.nn.functional`: values put back at the indices of their maxima."""

from __future__ import annotations

from impl.core.checks import check_with
from impl.core.registry import C
from impl.nn.sizes import _pair, _single, _triple
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _sizes(input, parse, kernel_size, stride, padding, output_size):
    """The output's sizes, the stride and the padding, for each dimension."""
    kernel = parse(kernel_size)
    step = kernel if stride is None else parse(stride)
    pad = parse(padding)
    spatial = input.size()
    default = [
        (spatial[d - len(kernel)] - 1) * step[d] + size - 2 * pad[d]
        for d, size in enumerate(kernel)
    ]
    made = default if output_size is None else _given(output_size, default, step)
    for d in range(len(kernel)):
        check_with(
            ValueError,
            made[d] >= 0,
            lambda d=d: (
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={made[d]}"
            ),
        )
    return made, step, pad


def _given(output_size, default: list[int], step):
    ndim = len(default)
    if len(output_size) == ndim + 2:
        output_size = output_size[2:]
    if len(output_size) != ndim:
        raise ValueError(
            f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it "
            f"has a length of '{len(output_size)}'"
        )
    for d in range(ndim):
        low, high = default[d] - step[d], default[d] + step[d]
        if not low < output_size[d] < high:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
            )
    return output_size


@overridable("input")
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Values put back at the indices that max_pool1d returned, zeros elsewhere.

    Raises RuntimeError for an index outside (torch.nn.functional.max_unpool1d).
    """
    size, _, _ = _sizes(input, _single, kernel_size, stride, padding, output_size)
    size = [*size, 1] if isinstance(size, list) else (*size, 1)
    return C.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)


@overridable("input")
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """As `max_unpool1d`, over two dimensions (torch.nn.functional.max_unpool2d)."""
    size, _, _ = _sizes(input, _pair, kernel_size, stride, padding, output_size)
    return C.max_unpool2d(input, indices, size)


@overridable("input")
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """As `max_unpool1d`, over three dimensions (torch.nn.functional.max_unpool3d)."""
    size, step, pad = _sizes(input, _triple, kernel_size, stride, padding, output_size)
    return C.max_unpool3d(input, indices, size, step, pad)
