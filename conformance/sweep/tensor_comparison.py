"""Comparison of the live results of a statement on two backends, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from conformance.backends import Backend
from conformance.base.tolerances import tolerance
from conformance.observe.fields import Comparator, Field, compared_fields, placing_strides
from conformance.observe.texts import text


class Difference(NamedTuple):
    """An expression that differs, and its values on either side, as texts."""

    field: str
    expected: str
    got: str


Differences = dict[str, Difference]
"""The first difference at each level that has one."""

Truth = Callable[[], Iterator[Any]]
"""The oracle's result in 64 bits (None if it has them already), then results one rounding away,
each computed on demand; fewer where other numbers led to an error."""

# A result further from torch's than the tolerance may still be as accurate: it is if its error,
# measured against the same sample in 64 bits, is at most this many times the largest of torch's own
# error and of the effect of one rounding of the inputs on the result.
AS_GOOD = 4.0

# The fields that a live tensor has an expression for; values first, as a tally counts levels.
_FIELDS = sorted(
    (field for field in compared_fields("tensor") if field.expression is not None),
    key=lambda field: field.level != "values",
)


class TensorComparison:
    """Compares values on the oracle with values on the backend.

    `truth` is called where two results differ by more than the tolerance.
    """

    def __init__(self, oracle: Backend, backend: Backend) -> None:
        self._observers = oracle.observer(), backend.observer()
        self._values = True
        self.close_to_truth = 0  # results beyond the tolerance that are as accurate as torch's

    def differences(
        self,
        name: str,
        expected: Any,
        got: Any,
        truth: Truth | None = None,
        values: bool = True,
    ) -> Differences:
        """Return the first difference at each level; `name` is the expression of both values.

        Without `values` the elements of tensors are not compared.
        """
        found: Differences = {}
        self._values = values
        self._compare(name, expected, got, truth, found)
        return found

    def _compare(self, name: str, expected, got, truth, found: Differences) -> None:
        if self._observers[0].is_tensor(expected):
            if self._observers[1].is_tensor(got):
                self._tensors(name, expected, got, truth, found)
            else:
                _tell(found, "values", name, "a tensor", _kind(got))
        elif isinstance(expected, (tuple, list)):
            if not isinstance(got, (tuple, list)) or len(expected) != len(got):
                _tell(found, "values", name, f"{len(expected)} values", _kind(got))
                return
            for index, (one, other) in enumerate(zip(expected, got, strict=True)):
                inner = None if truth is None else _within(truth, index)
                self._compare(f"{name}[{index}]", one, other, inner, found)
        elif type(expected) is not type(got):
            _tell(found, "values", name, _kind(expected), _kind(got))
        elif isinstance(expected, (bool, int, float, complex, str, type(None))):
            same = expected == got or (expected != expected and got != got)
            if not same and isinstance(expected, (float, complex)):
                same = _first_far(np.asarray(expected), np.asarray(got), "float64") is None
            if not same:
                _tell(found, "values", name, repr(expected), repr(got))

    def _tensors(self, name: str, expected, got, truth, found: Differences) -> None:
        for field in _FIELDS:
            if field.comparator is Comparator.ELEMENTS:
                self._elements(name, expected, got, truth, found)
            elif field.comparator is not Comparator.TEXT or expected.requires_grad:
                same = self._field(field, name, expected, got, found)
                if not same and field.level == "values":
                    return  # of tensors of different shapes or dtypes nothing else is compared

    def _field(self, field: Field, name: str, expected, got, found: Differences) -> bool:
        tensors = expected, got
        one, other = (
            field.read(observer, tensor, None)
            for observer, tensor in zip(self._observers, tensors, strict=True)
        )
        if field.comparator is Comparator.STRIDES:
            shape = tuple(expected.shape)
            one, other = placing_strides(one, shape), placing_strides(other, shape)
        if one == other:
            return True
        expression = str(field.expression)
        if field.comparator is Comparator.TEXT:
            shown = [str(side or "NoneType") for side in (one, other)]
        else:
            shown = [_spelled(tensor, expression) for tensor in tensors]
        _tell(found, str(field.level), f"{name}.{expression}", *shown)
        return False

    def _elements(self, name: str, expected, got, truth, found: Differences) -> None:
        one, other = array(expected), array(got)
        at = _first_far(one, other, str(one.dtype)) if self._values else None
        if at is not None and not self._as_good(one, other, truth):
            place = list(map(int, np.unravel_index(at, one.shape)))
            values = (str(side.reshape(-1)[at]) for side in (one, other))
            _tell(found, "values", f"{name}{place or ''}", *values)

    def _as_good(self, expected: np.ndarray, got: np.ndarray, truth: Truth | None) -> bool:
        if truth is None or expected.dtype.kind not in "fc":
            return False
        results = truth()
        try:
            exact = next(results)
        except StopIteration:
            return False
        right = expected if exact is None else array(exact)
        if right.shape != expected.shape:
            return False
        with np.errstate(all="ignore"):
            finite = np.isfinite(expected) & np.isfinite(right)
            if not np.array_equal(finite, np.isfinite(got) & np.isfinite(right)):
                return False
            error = np.abs(got - right)[finite].max(initial=0.0)
            for side in chain((expected,), map(array, results)):
                if side.shape != right.shape:
                    return False
                if error <= AS_GOOD * np.abs(side - right)[finite].max(initial=0.0):
                    self.close_to_truth += 1
                    return True
        return False


def _spelled(tensor: Any, expression: str) -> str:
    """Return the text of a tensor's attribute, or of the result of a method without arguments."""
    attribute = getattr(tensor, expression.removesuffix("()"))
    return text(attribute() if expression.endswith("()") else attribute)


@cache
def _named(dtype: Any) -> str:
    return text(dtype).rpartition(".")[2]


def _within(truth: Truth, index: int) -> Truth:
    return lambda: (None if result is None else result[index] for result in truth())


def array(tensor: Any) -> np.ndarray:
    """A tensor's values as a NumPy array."""
    tensor = tensor.detach()
    if _named(tensor.dtype) in ("bfloat16", "float16"):
        tensor = tensor.float()
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):  # another device, a lazy conjugate, or no memory
        return tensor.cpu().resolve_conj().resolve_neg().numpy(force=True)


def saved(node: Any) -> dict[str, Any]:
    """A node's saved values by attribute name; the error's class for those that raise."""
    found = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                found[name] = getattr(node, name)
            except Exception as error:
                found[name] = f"raises {type(error).__name__}"
    return found


def _first_far(expected: np.ndarray, got: np.ndarray, dtype: str) -> int | None:
    same = np.asarray(expected == got)
    if same.all():
        return None
    if expected.dtype.kind in "fc":
        allowed = tolerance(dtype)
        with np.errstate(all="ignore"):
            distance = np.abs(got - expected)
            if distance.max() <= allowed.atol:  # never if there is an infinity or a NaN
                return None
            size = np.abs(expected)
            near = distance <= allowed.atol + allowed.rtol * size
        same |= (near & np.isfinite(size)) | ((expected != expected) & (got != got))
        if same.all():
            return None
    return int(np.argmin(same.reshape(-1)))


def _tell(found: Differences, level: str, field: str, expected: str, got: str) -> None:
    found.setdefault(level, Difference(field, expected, got))


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__
