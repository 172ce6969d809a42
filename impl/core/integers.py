"""The values that C++ takes for integers."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer, of Python or of NumPy; no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
