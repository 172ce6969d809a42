"""Kernels that add rows: in the order of their indices, bit for bit as np.add.at."""

from __future__ import annotations

import numpy as np
import pytest

from impl.kernels.reduced_precision import add_each_at
from impl.kernels.vectorized import row_sums


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


@pytest.mark.parametrize("shape", [(0, 3), (4, 1), (2, 3, 5), (7, 600), (3, 0)])
def test_sums_of_rows(shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    assert np.array_equal(row_sums(values), values.sum(-1, keepdims=True))
