"""Likeness: what two results of a statement have in common, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from conformance.backends import Backend
from conformance.observe import text
from conformance.tolerances import tolerance


class Difference(NamedTuple):
    """What differs (an expression), and what it is on either side, as texts."""

    field: str
    expected: str
    got: str


Differences = dict[str, Difference]
"""The first difference at each level that has one."""

Truth = Callable[[], Iterator[Any]]
"""The oracle's result in 64 bits (None: that is what it is), then results a rounding away, each
made when it is asked for; fewer where other numbers led to an error."""

# A result that is further from torch's than the tolerance may still be as good: it is if its error,
# measured against the same sample in 64 bits, is at most this many times the largest of torch's own
# error and of what one rounding of the inputs does to the result.
AS_GOOD = 4.0


class Likeness:
    """Compares what names are bound to on the oracle with what they are bound to on the backend.

    `truth` is asked where two results are too far from one another.
    """

    def __init__(self, oracle: Backend, backend: Backend) -> None:
        self._sees = oracle.observer().is_tensor, backend.observer().is_tensor
        self._values = True
        self.close_to_truth = 0  # how often a result was as good as torch's, and not near it

    def differences(
        self,
        name: str,
        expected: Any,
        got: Any,
        truth: Truth | None = None,
        values: bool = True,
    ) -> Differences:
        """Where the two differ; `name` is the expression that leads to them.

        Without `values` only what tensors look like is compared.
        """
        found: Differences = {}
        self._values = values
        self._compare(name, expected, got, truth, found)
        return found

    def _compare(self, name: str, expected, got, truth, found: Differences) -> None:
        if self._sees[0](expected):
            if self._sees[1](got):
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
        if tuple(expected.shape) != tuple(got.shape):
            _tell(found, "values", f"{name}.shape", text(expected.shape), text(got.shape))
            return
        words = _spelled(expected.dtype), _spelled(got.dtype)
        if words[0].rpartition(".")[2] != words[1].rpartition(".")[2]:
            _tell(found, "values", f"{name}.dtype", *words)
            return
        one, other = array(expected), array(got)
        at = _first_far(one, other, str(one.dtype)) if self._values else None
        if at is not None and not self._as_good(one, other, truth):
            place = list(map(int, np.unravel_index(at, one.shape)))
            values = (str(side.reshape(-1)[at]) for side in (one, other))
            _tell(found, "values", f"{name}{place or ''}", *values)
        for field in ("requires_grad", "is_leaf"):
            _field(found, "graph", name, expected, got, field)
        if expected.requires_grad:
            names = type(expected.grad_fn).__name__, type(got.grad_fn).__name__
            if names[0] != names[1]:
                _tell(found, "diagnostics", f"{name}.grad_fn", *names)
        _field(found, "memory", name, expected, got, "_version")
        _same(found, "memory", f"{name}._is_view()", expected._is_view(), got._is_view())
        if one.size:
            steps = [_steps(t.stride(), one.shape) for t in (expected, got)]
            if steps[0] != steps[1]:
                both = (str(tuple(t.stride())) for t in (expected, got))
                _tell(found, "memory", f"{name}.stride()", *both)

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


@cache
def _spelled(dtype: Any) -> str:
    return text(dtype)


def _within(truth: Truth, index: int) -> Truth:
    return lambda: (None if result is None else result[index] for result in truth())


def array(tensor: Any) -> np.ndarray:
    """A tensor's values as a NumPy array."""
    tensor = tensor.detach()
    if _spelled(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):  # on another device, to be conjugated, or without memory
        return tensor.cpu().resolve_conj().resolve_neg().numpy(force=True)


def saved(node: Any) -> dict[str, Any]:
    """What a node saved, by attribute name; what cannot be read stands as the error's class."""
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


def _field(found: Differences, level: str, name: str, expected, got, field: str) -> None:
    _same(found, level, f"{name}.{field}", getattr(expected, field), getattr(got, field))


def _same(found: Differences, level: str, field: str, expected: object, got: object) -> None:
    if expected != got:
        _tell(found, level, field, str(expected), str(got))


def _tell(found: Differences, level: str, field: str, expected: str, got: str) -> None:
    found.setdefault(level, Difference(field, expected, got))


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__


def _steps(strides: Any, shape: tuple[int, ...]) -> list[int]:
    """The strides that lead from one element to another."""
    return [int(s) for s, n in zip(strides, shape, strict=True) if n > 1]
