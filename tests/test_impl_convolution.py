"""Convolutions over images so large that their windows are taken in blocks, summed by hand."""

import itertools

import numpy as np
import pytest

from impl.operators.layers import im2col
from impl.operators.layers.im2col import Geometry, adjoint, gradients, kernel_gradient

KINDS = {
    "plain": {},
    "padded": {"padding": (1, 2)},
    "stepped": {"stride": (2, 1)},
    "dilated": {"dilation": (2, 3)},
    "grouped": {"groups": 2},
    "everything": {"padding": (2, 0), "stride": (1, 3), "dilation": (2, 1), "groups": 4},
    "one-element": {"kernel": (1, 1)},
}


def case(kernel=(3, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    rng = np.random.default_rng(0)
    image = rng.integers(-3, 4, (2, 8, 20, 17)).astype(np.float64)
    kernels = rng.integers(-3, 4, (4, 8 // groups, *kernel)).astype(np.float64)
    return image, kernels, Geometry((20, 17), kernel, stride, padding, dilation, groups)


def terms(geometry, count, channels):
    """Every product of a correlation: its index in the output, the kernels and the input."""
    each, inputs = count // geometry.groups, channels // geometry.groups
    places = itertools.product(*map(range, geometry.output))
    for (row, column), i, j in itertools.product(
        places, range(geometry.kernel[0]), range(geometry.kernel[1])
    ):
        y = row * geometry.stride[0] + i * geometry.dilation[0] - geometry.padding[0]
        x = column * geometry.stride[1] + j * geometry.dilation[1] - geometry.padding[1]
        if 0 <= y < geometry.size[0] and 0 <= x < geometry.size[1]:
            for group in range(geometry.groups):
                outputs = slice(group * each, (group + 1) * each)
                taken = slice(group * inputs, (group + 1) * inputs)
                yield (row, column), (i, j), (y, x), outputs, taken


@pytest.fixture(params=[160 * 1024, 4096, 1], ids=["one-block", "blocks", "a-row-each"])
def block(request, monkeypatch):
    monkeypatch.setattr(im2col, "_BLOCK", request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_all_three_are_sums_of_the_same_products(kind, block):
    image, kernels, geometry = case(**KINDS[kind])
    count, channels = len(kernels), image.shape[1]
    rng = np.random.default_rng(1)
    gradient = rng.integers(-3, 4, (len(image), count, *geometry.output)).astype(np.float64)
    output = np.zeros_like(gradient)
    back, weights = np.zeros_like(image), np.zeros_like(kernels)
    for (r, c), (i, j), (y, x), outputs, taken in terms(geometry, count, channels):
        part, kernel = image[:, taken, y, x], kernels[outputs, :, i, j]
        output[:, outputs, r, c] += part @ kernel.T
        back[:, taken, y, x] += gradient[:, outputs, r, c] @ kernel
        weights[outputs, :, i, j] += gradient[:, outputs, r, c].T @ part
    assert np.array_equal(im2col.correlation(image, kernels, geometry), output)
    assert np.array_equal(adjoint(gradient, kernels, geometry), back)
    assert np.array_equal(kernel_gradient(image, gradient, kernels.shape, geometry), weights)
    both = gradients(image, gradient, kernels, geometry)
    assert np.array_equal(both[0], back) and np.array_equal(both[1], weights)


@pytest.mark.parametrize("shape", [(0, 8, 20, 17), (2, 0, 20, 17)], ids=["examples", "channels"])
def test_nothing_gives_zeros(shape):
    geometry = Geometry((20, 17), (3, 2), (1, 1), (0, 0), (1, 1), 1)
    image, kernels = np.zeros(shape), np.ones((4, shape[1], 3, 2))
    output = im2col.correlation(image, kernels, geometry)
    assert output.shape == (shape[0], 4, 18, 16) and not output.any()
    back, weights = gradients(image, output, kernels, geometry)
    assert back.shape == shape and not back.any()
    assert weights.shape == kernels.shape and not weights.any()


def test_gradients_own_their_memory():
    """A view would count as aliasing another tensor's memory."""
    image, kernels, geometry = case()
    gradient = np.ones((2, 4, *geometry.output))
    made = [
        adjoint(gradient, kernels, geometry),
        kernel_gradient(image, gradient, kernels.shape, geometry),
        *gradients(image, gradient, kernels, geometry),
    ]
    assert all(array.base is None and array.flags.c_contiguous for array in made)
