"""`assert_close` of each two of thirty values, with each of its options, printed."""

import numpy as np
import torch
from torch.testing import assert_close

ones = torch.ones
VALUES = [
    *(None, True, False, np.bool_(True), 1, 2, 1.0, 1.0000001, 2.5, 1j, np.float32(1), np.int64(1)),
    *("a", np.ones(2), np.ones(3), ones(2), ones(2, dtype=torch.float64), ones(3)),
    *(torch.tensor([1, 2.0]), torch.tensor(1.0), torch.tensor(1), torch.tensor(True)),
    *(
        torch.tensor([float("nan"), 1]),
        ones(2, 3).t(),
        ones(3, 2),
        [[1, 2], [3, 4]],
        [[1, 2], [3, 5]],
    ),
    *([1, 2], [1, 2.0], [1], {"a": 1}, {"b": 1}, {"a": ones(2)}, {"a": [ones(2)]}),
]
OPTIONS = [
    *({}, {"equal_nan": True}, {"check_dtype": False}, {"check_stride": True}),
    {"rtol": 0.0, "atol": 2.0},
]
for i, actual in enumerate(VALUES):
    for j, expected in enumerate(VALUES):
        for options in OPTIONS:
            try:
                assert_close(actual, expected, **options)
            except Exception as error:
                print(i, j, options, type(error).__name__, error)
