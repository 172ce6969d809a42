"""`torch.testing`: the assertion that values are close."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impl.core.dtypes import bool_, int64, promote_types
from impl.core.grad_mode import no_grad
from impl.core.registry import FUNCTIONS
from impl.factories.creation.from_data import as_tensor
from impl.tensor.tensor import Tensor

__all__ = ["assert_close"]

# The tolerances (relative, absolute) of each dtype; others are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


_UNEXPECTED = (
    "Originating a NumberPair() at item  with\n\n{}(): {}\n\nand\n\n{}(): {}\n\nresulted in the "
    "unexpected exception above. If you are a user and see this message during normal operation "
    "please file an issue at https://github.com/pytorch/pytorch/issues. If you are a developer and "
    "working on the comparison functions, please except the previous error and raise an expressive "
    "`ErrorMeta` instead."
)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless tensors, numbers, or containers of them are close
    (torch.testing.assert_close)."""
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    said = _difference(actual, expected, (rtol, atol), equal_nan, (check_dtype, check_stride))
    if said is not None:
        raise AssertionError(msg(said) if callable(msg) else msg or said)


def _difference(actual: Any, expected: Any, given, equal_nan: bool, checks) -> str | None:
    """The message about a difference between two values, or None."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(expected.keys() - actual.keys())
            additional = sorted(actual.keys() - expected.keys())
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {additional}"
            )
        parts: Any = [(key, actual[key], expected[key]) for key in expected]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        parts = [(i, a, b) for i, (a, b) in enumerate(zip(actual, expected, strict=True))]
    else:
        return _of_values(actual, expected, given, equal_nan, checks)
    for key, one, other in parts:
        said = _difference(one, other, given, equal_nan, checks)
        if said is not None:
            return said if "\n\nThe failure occurred" in said else _at(said, key)
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _at(said: str, key: Any) -> str:
    return f"{said}\n\nThe failure occurred for item [{key!r}]"


def _of_values(actual: Any, expected: Any, given, equal_nan: bool, checks) -> str | None:
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if all(isinstance(value, (bool, np.bool_)) for value in (actual, expected)):
        same = bool(actual) is bool(expected)
        return None if same else f"Booleans mismatch: {bool(actual)} is not {bool(expected)}"
    actual, expected = (
        value.item() if isinstance(value, np.number) else value for value in (actual, expected)
    )
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and isinstance(actual, np.ndarray):
        actual, expected = as_tensor(actual), as_tensor(expected)
    kinds = {isinstance(value, Tensor) for value in (actual, expected)}
    numbers = all(isinstance(value, (int, float, complex)) for value in (actual, expected))
    if numbers and any(isinstance(value, bool) for value in (actual, expected)):
        raise RuntimeError(
            _UNEXPECTED.format(type(actual).__name__, actual, type(expected).__name__, expected)
        )
    if kinds != {True} and not numbers:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and "
            f"{type(expected)}."
        )
    if numbers and checks[0] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    scalars = kinds == {False}
    one, other = (v.detach() if isinstance(v, Tensor) else _scalar(v) for v in (actual, expected))
    check_dtype, check_stride = checks
    if one.shape != other.shape:
        return f"The values for attribute 'shape' do not match: {one.shape} != {other.shape}."
    if check_dtype and one.dtype != other.dtype and not scalars:
        return f"The values for attribute 'dtype' do not match: {one.dtype} != {other.dtype}."
    if check_stride and one.stride() != other.stride():
        return (
            f"The values for attribute 'stride()' do not match: {one.stride()} != {other.stride()}."
        )
    rtol, atol = _tolerances(one, other) if given[0] is None else given
    if one.dtype != other.dtype:
        wide = promote_types(one.dtype, other.dtype)
        one, other = one.to(wide), other.to(wide)
    close = FUNCTIONS["isclose"](one, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(close.all()):
        return None
    return _told(one, other, np.asarray(close.tolist()), (rtol, atol), scalars)


def _scalar(value: Any) -> Tensor:
    return as_tensor(np.float64(value) if type(value) is float else value)


def _tolerances(one: Tensor, other: Tensor) -> tuple[float, float]:
    each = [_TOLERANCES.get(str(t.dtype).partition(".")[2], (0.0, 0.0)) for t in (one, other)]
    return max(rtol for rtol, _ in each), max(atol for _, atol in each)


def _told(one: Any, other: Any, close: np.ndarray, tolerances, scalars: bool) -> str:
    """The message about elements that are not close."""
    rtol, atol = tolerances
    exact = not rtol and not atol
    with no_grad():
        one, other = (t.to(int64) if t.dtype is bool_ else t for t in (one, other))
        gap = one - other
        each = gap.abs(), gap.abs() / other.abs()
    absolute, relative = (np.where(close, 0, np.asarray(t.tolist())) for t in each)
    word = "equal" if exact else "close"
    if scalars or one.dim() == 0:
        lines = [
            f"Scalars are not {word}!\n",
            f"Expected {other.item()} but got {one.item()}.",
        ]
        for kind, value, allowed in (("Absolute", absolute, atol), ("Relative", relative, rtol)):
            end = "" if exact else f" (up to {allowed} allowed)"
            lines.append(f"{kind} difference: {value.item()}{end}")
        return "\n".join(lines)
    wrong = int((~close).sum())
    lines = [
        f"Tensor-likes are not {word}!\n",
        f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
    ]
    for kind, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        at = tuple(map(int, np.unravel_index(int(np.argmax(values)), values.shape)))
        end = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {kind} difference: {values[at]} at index {at}{end}")
    return "\n".join(lines)
