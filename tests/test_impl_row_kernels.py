"""Kernels that add rows: in the order of their indices, bit for bit as np.add.at."""

from __future__ import annotations

import numpy as np
import pytest

from impl.kernels.reduced_precision import add_each_at, sums_at
from impl.kernels.vectorized import column_sums, row_sums


@pytest.mark.parametrize("rows", [1, 3, 40, 1000])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 512])
def test_rows_are_added_in_the_order_of_the_indices(rows, count):
    rng = np.random.default_rng(count)
    index = rng.integers(-rows, rows, count)
    values = rng.standard_normal((count, 32)).astype(np.float32)
    values[::3] = -0.0
    expected = np.zeros((rows, 32), np.float32)
    np.add.at(expected, index, values)
    for key in (index, (index,)):
        got = add_each_at(np.zeros((rows, 32), np.float32), key, values)
        assert got.tobytes() == expected.tobytes()
        assert sums_at((rows, 32), key, values).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(40, 64), (40, 8, 4)])
def test_sums_of_chosen_rows(dtype, shape):
    rng = np.random.default_rng(0)
    index = rng.integers(0, 40, 512)
    values = rng.standard_normal((512, *shape[1:])).astype(dtype)
    values[::3] = -0.0
    values[7] = np.inf
    expected = np.zeros(shape, dtype)
    np.add.at(expected, index, values)
    got = sums_at(shape, index, values)
    assert got.dtype == dtype
    assert got.tobytes() == expected.tobytes()


def test_a_number_of_a_row_that_does_not_exist_is_an_error():
    values = np.ones((512, 64), np.float32)
    with pytest.raises(IndexError):
        sums_at((40, 64), np.full(512, 40), values)


@pytest.mark.parametrize("shape", [(0, 3), (4, 1), (2, 3, 5), (7, 600), (3, 0)])
def test_sums_of_rows(shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    assert np.array_equal(row_sums(values), values.sum(-1, keepdims=True))


@pytest.mark.parametrize("shape", [(0, 3), (1, 4), (4, 1), (7, 5), (600, 3)])
def test_sums_of_columns(shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    assert np.array_equal(column_sums(values), values.sum(0))
    assert np.array_equal(column_sums(values.T), values.sum(1))
