"""`torch.testing.assert_close`: the assertion that values are close."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
    comparison = _Comparison(rtol, atol, equal_nan, check_dtype, check_stride)
    said = comparison.difference(actual, expected)
    if said is not None:
        raise AssertionError(msg(said) if callable(msg) else msg or said)


class _Comparison(NamedTuple):
    """The options of one assertion; each method returns the message about a difference, or None."""

    rtol: float | None  # without tolerances, those of the dtypes
    atol: float | None
    equal_nan: bool
    check_dtype: bool
    check_stride: bool

    def difference(self, actual: Any, expected: Any) -> str | None:
        """Of two values, or of two containers of them."""
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
            return self._of_values(actual, expected)
        for key, one, other in parts:
            try:
                said = self.difference(one, other)
            except TypeError as error:
                raise TypeError(_at(str(error), key)) from None
            if said is not None:
                return _at(said, key)
        return None

    def _of_values(self, actual: Any, expected: Any) -> str | None:
        """None and booleans are the same or not; numbers and tensors may be close."""
        if actual is None or expected is None:
            return None if actual is expected else f"None mismatch: {actual} is not {expected}"
        if _are((actual, expected), (bool, np.bool_)):
            same = bool(actual) is bool(expected)
            return None if same else f"Booleans mismatch: {bool(actual)} is not {bool(expected)}"
        if _are((actual, expected), (int, float, complex, np.number)):
            return self._of_numbers(actual, expected)
        pair = [actual, expected]
        if _are(pair, np.ndarray):
            pair = [as_tensor(value) for value in pair]
        if not _are(pair, Tensor):
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and "
                f"{type(expected)}."
            )
        one, other = (value.detach() for value in pair)
        return self._of_metadata(one, other) or self._of_elements(one, other)

    def _of_numbers(self, actual: Any, expected: Any) -> str | None:
        if bool in (type(actual), type(expected)):
            raise RuntimeError(
                _UNEXPECTED.format(type(actual).__name__, actual, type(expected).__name__, expected)
            )
        one, other = (v.item() if isinstance(v, np.number) else v for v in (actual, expected))
        if self.check_dtype and type(one) is not type(other):
            return f"The (d)types do not match: {type(one)} != {type(other)}."
        return self._of_elements(_scalar(one), _scalar(other), (one, other))

    def _of_metadata(self, one: Tensor, other: Tensor) -> str | None:
        compared: list[tuple[str, Any, Any]] = [("shape", one.shape, other.shape)]
        if self.check_dtype:
            compared.append(("dtype", one.dtype, other.dtype))
        if self.check_stride:
            compared.append(("stride()", one.stride(), other.stride()))
        for name, mine, theirs in compared:
            if mine != theirs:
                return f"The values for attribute '{name}' do not match: {mine} != {theirs}."
        return None

    def _of_elements(self, one: Tensor, other: Tensor, numbers: tuple = ()) -> str | None:
        if self.rtol is None or self.atol is None:
            rtol, atol = _tolerances(one, other)
        else:
            rtol, atol = self.rtol, self.atol
        if one.dtype != other.dtype:
            wide = promote_types(one.dtype, other.dtype)
            one, other = one.to(wide), other.to(wide)
        close = FUNCTIONS["isclose"](one, other, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if bool(close.all()):
            return None
        if one.dim() == 0:
            actual, expected = numbers or (one.item(), other.item())
            return _of_scalars(actual, expected, (rtol, atol))
        return _of_tensors(one, other, np.asarray(close.tolist()), (rtol, atol))


def _are(values: Sequence, kinds: Any) -> bool:
    return all(isinstance(value, kinds) for value in values)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _at(said: str, key: Any) -> str:
    """The message with the item of the container; in nested containers, the path to it."""
    text, _, path = said.partition("\n\nThe failure occurred for item ")
    return f"{text}\n\nThe failure occurred for item [{key!r}]{path}"


def _scalar(value: Any) -> Tensor:
    """A Python number as a tensor of double precision."""
    wide = {float: np.float64, complex: np.complex128}.get(type(value))
    return as_tensor(wide(value) if wide else value)


def _tolerances(one: Tensor, other: Tensor) -> tuple[float, float]:
    each = [_TOLERANCES.get(str(t.dtype).partition(".")[2], (0.0, 0.0)) for t in (one, other)]
    return max(rtol for rtol, _ in each), max(atol for _, atol in each)


def _of_scalars(actual: Any, expected: Any, tolerances: tuple[float, float]) -> str:
    """The message about two numbers that are not close."""
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected else float("inf")
    lines = [
        f"Scalars are not {_word(tolerances)}!\n",
        f"Expected {expected} but got {actual}.",
        f"Absolute difference: {absolute}{_allowed(1, tolerances)}",
        f"Relative difference: {relative}{_allowed(0, tolerances)}",
    ]
    return "\n".join(lines)


def _of_tensors(one: Any, other: Any, close: np.ndarray, tolerances: tuple[float, float]) -> str:
    """The message about tensors whose elements are not all close."""
    with no_grad():
        one, other = (t.to(int64) if t.dtype is bool_ else t for t in (one, other))
        gap = one - other
        each = gap.abs(), gap.abs() / other.abs()
    absolute, relative = (np.where(close, 0, np.asarray(t.tolist())) for t in each)
    wrong = int((~close).sum())
    lines = [
        f"Tensor-likes are not {_word(tolerances)}!\n",
        f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
    ]
    for kind, values, which in (("absolute", absolute, 1), ("relative", relative, 0)):
        at = tuple(map(int, np.unravel_index(int(np.argmax(values)), values.shape)))
        end = _allowed(which, tolerances)
        lines.append(f"Greatest {kind} difference: {values[at]} at index {at}{end}")
    return "\n".join(lines)


def _word(tolerances: tuple[float, float]) -> str:
    return "close" if any(tolerances) else "equal"


def _allowed(which: int, tolerances: tuple[float, float]) -> str:
    return f" (up to {tolerances[which]} allowed)" if any(tolerances) else ""
