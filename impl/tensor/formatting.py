"""A tensor as errors of ATen's C++ code print it (ATen/core/Formatting.cpp)."""

from __future__ import annotations

import itertools
import math

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY
from impl.core.warning import warn_once

_LINE = 80


def tensor_text(raw) -> str:
    """A tensor's elements and sizes."""
    if raw.size and raw.dtype.kind == "c":
        warn_once(messages.DISCARDED)
    values = np.real(raw).astype(np.float64)
    sizes, kind = ",".join(map(str, raw.shape)), messages.tensor_type(BY_NUMPY[raw.dtype])
    return f"{_elements(values) if values.size else ''}[ {kind}{{{sizes}}} ]"


def _elements(values) -> str:
    if values.ndim == 0:
        return f"{float(values):g}\n"
    if values.ndim == 1:
        write, _, scale = _format(values)
        return _scale_text(scale, 0) + "".join(f"{write(value)}\n" for value in values)
    if values.ndim == 2:
        return _matrix(values, 0)
    blocks = []
    for place in itertools.product(*map(range, values.shape[-3::-1])):  # the first one fastest
        key = place[::-1]
        head = ",".join(str(index + 1) for index in key)
        blocks.append(f"({head},.,.) = \n{_matrix(values[key], 1)}")
    return "\n".join(blocks)


def _matrix(values, indent: int) -> str:
    write, width, scale = _format(values)
    rows, columns = values.shape
    in_line = (_LINE - indent) // (width + 1)
    margin = " " * (indent + (scale != 1))
    blocks = []
    for first in range(0, columns, in_line):
        last = min(first + in_line, columns)
        head = f"Columns {first + 1} to {last}{' ' * indent}" if in_line < columns else ""
        lines = [" ".join(map(write, values[row, first:last])) for row in range(rows)]
        blocks.append(head + _scale_text(scale, indent) + f"\n{margin}".join(lines) + "\n")
    return "\n".join(blocks)


def _scale_text(scale: float, indent: int) -> str:
    return "" if scale == 1 else f"{scale:g} *\n{' ' * indent}"


def _format(values):
    """The function that writes one element, its width, and the factor taken out of all."""
    finite = np.abs(values[np.isfinite(values)])
    least, most = (_digits(finite.min()), _digits(finite.max())) if finite.size else (1, 1)
    kind, scale = ".4f", 1.0
    if np.all(finite == np.ceil(finite)):
        kind, width = (".4e", 11) if most > 9 else ("g", most + 1)
    elif most - least > 4:
        kind, width = ".4e", 11 + (max(abs(most), abs(least)) > 99)
    elif 0 <= most <= 5:
        width = most + 6 if most else 7
    else:
        width, scale = 7, 10.0 ** (most - 1)
    return (lambda value: f"{value / scale:{width}{kind}}"), width, scale


def _digits(magnitude: float) -> int:
    """The number of digits before the point, negative for zeros behind it."""
    return math.floor(math.log10(magnitude)) + 1 if magnitude else 1
