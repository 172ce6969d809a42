"""Comparison: two traces of one program into a verdict, level by level."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from conformance.closeness import coarser, difference, scalar_dtype
from conformance.expectations import unmet
from conformance.program import Program
from conformance.runs import LEVELS
from conformance.trace import Observation, Step, Trace
from conformance.verdict import Divergence, Verdict

# Which level a field of a tensor's observation belongs to, in the order in which they are compared.
TENSOR_FIELDS = {
    "shape": "values",
    "dtype": "values",
    "values": "values",
    "grad": "values",
    "requires_grad": "graph",
    "is_leaf": "graph",
    "has_grad_fn": "graph",
    "retains_grad": "graph",
    "output_nr": "graph",
    "storage": "memory",
    "version": "memory",
    "strides": "memory",
    "offset": "memory",
    "is_view": "memory",
    "grad_fn": "diagnostics",
    "graph": "diagnostics",
}
GRAD_FIELDS = {
    "shape": "values",
    "dtype": "values",
    "values": "values",
    "strides": "memory",
    "same": "memory",
}
# Of anything else; `type` of an object is a backend's own affair and stands in no level.
OTHER_FIELDS = {
    "value": "values",
    "shape": "values",
    "dtype": "values",
    "values": "values",
    "name": "diagnostics",
}
# What cannot agree where one side has a tensor and the other has not.
_TENSOR_LEVELS = tuple(dict.fromkeys(TENSOR_FIELDS.values()))


def compare(
    expected: Trace,
    got: Trace,
    program: Program,
    stated: bool = True,
    levels: Collection[str] = LEVELS,
) -> Verdict:
    """Return the verdict on `got`, with the oracle's trace `expected`.

    `stated` says whether the oracle has to meet the program's comments, which are about float32;
    `levels` are those that the backend claims, all others are not applicable.
    Raises ProgramError for a program whose source does not parse.
    """
    comparison = _Comparison(program, levels)
    specification = unmet(program, expected) if stated else []
    lack = comparison.run(expected, got)
    verdict = Verdict(
        "conforms",
        {level: comparison.verdict(level) for level in LEVELS},
        dict(sorted(comparison.first.items(), key=lambda item: LEVELS.index(item[0]))),
        dict(sorted(comparison.ulp.items())),
        specification=specification,
    )
    if comparison.first or specification:
        verdict.outcome = "diverges"
    elif lack is not None:
        verdict.outcome = "unsupported"
        verdict.reason = lack
        verdict.levels = dict.fromkeys(LEVELS, "not_applicable")
    return verdict


def stated(program: Program, got: Trace) -> Verdict:
    """Return the verdict on `got` by the program's own comments, which are about values.

    Raises ProgramError for a program whose source does not parse.
    """
    statements = zip(program.statements, got.steps, strict=False)
    for statement, step in statements:
        if lack := (step.error or {}).get("lacks"):
            return Verdict.without_comparison(
                "unsupported", f"line {statement.line}: the backend lacks {lack}"
            )
    levels = {**dict.fromkeys(LEVELS, "not_applicable"), "values": "conforms"}
    failures = unmet(program, got)
    if not failures:
        return Verdict("conforms", levels)
    first = failures[0]
    steps = [s.index for s in program.statements if s.line <= first.line]
    divergence = Divergence(steps[-1], first.line, None, "statement", first.expected, first.got)
    return Verdict("diverges", {**levels, "values": "diverges"}, {"values": divergence})


class _Comparison:
    """Two traces walked side by side; keeps the first divergence at each level."""

    def __init__(self, program: Program, levels: Collection[str]) -> None:
        self.program = program
        self.levels = levels
        self.first: dict[str, Divergence] = {}
        self.compared: set[str] = set()
        self.ulp: dict[str, float] = {}
        self.unspecified: set[str] = set()
        self.names: tuple[dict[str, Observation], dict[str, Observation]] = ({}, {})
        self.at = (0, 0)
        self.name: str | None = None
        self.values_count = True
        # The float type with the fewest digits so far: what a wider one holds may come from it.
        self.coarsest = "float64"

    def verdict(self, level: str) -> str:
        if level in self.first:
            return "diverges"
        return "conforms" if level in self.compared else "not_applicable"

    def run(self, expected: Trace, got: Trace) -> str | None:
        """Compare step by step; stop, and say so, where the backend lacks what is asked for."""
        statements, unspecified = self.program.statements, self.program.unspecified()
        steps = zip(statements, unspecified, expected.steps, got.steps, strict=False)
        for statement, names, one, other in steps:
            self.at, self.unspecified = (statement.index, statement.line), names
            self.name = None
            lack = (other.error or {}).get("lacks")
            if lack is not None and "lacks" not in (one.error or {}):
                return f"line {statement.line}: the backend lacks {lack}"
            self.values_count = not statement.unspecified
            self._step(one, other)
        self.name = None
        lengths = len(expected.steps), len(got.steps)
        if lengths[0] != lengths[1]:
            self.at = (min(lengths), self.at[1])
            self._same("values", "steps", *lengths)
        return None

    def _step(self, expected: Step, got: Step) -> None:
        self._errors(expected.error, got.error)
        self._names(expected, got)
        if expected.result is not None or got.result is not None:
            self.name = None
            # Where one side raised, that was the divergence.
            if (expected.error is None) == (got.error is None):
                self._observation("result", expected.result, got.result)
        self._warnings(expected.warnings, got.warnings)

    def _errors(self, expected: dict[str, str] | None, got: dict[str, str] | None) -> None:
        types = [None if e is None else e["type"] for e in (expected, got)]
        if types[0] == types[1]:
            self._count("values")
            if expected is not None and got is not None:
                self._same("diagnostics", "error message", expected["message"], got["message"])
        else:
            self._diverge("values", "error", _shown_error(expected), _shown_error(got))

    def _warnings(self, expected: list[dict[str, str]], got: list[dict[str, str]]) -> None:
        if expected or got:
            self.name = None
            self._same(
                "diagnostics",
                "warnings",
                [[w["category"], w["message"]] for w in expected],
                [[w["category"], w["message"]] for w in got],
            )

    def _names(self, expected: Step, got: Step) -> None:
        touched: dict[str, None] = {}
        for side, step in zip(self.names, (expected, got), strict=True):
            side.update(step.changed)
            for name in step.deleted:
                side.pop(name, None)
            touched |= dict.fromkeys((*step.changed, *step.deleted))
        for name in touched:
            self.name = name
            self.values_count = name not in self.unspecified
            one, other = (
                _still_same(side.get(name), name in step.changed)
                for side, step in zip(self.names, (expected, got), strict=True)
            )
            self._observation("", one, other)
        self.name = None
        statement = self.program.statements[self.at[0]]
        self.values_count = not statement.unspecified

    def _observation(
        self, path: str, expected: Observation | None, got: Observation | None
    ) -> None:
        kinds = ["missing" if o is None else str(o.get("kind")) for o in (expected, got)]
        field_name = _joined(path, "kind")
        if kinds[0] != kinds[1]:
            levels = _TENSOR_LEVELS if "tensor" in kinds else ("values",)
            for level in levels:
                self._diverge(level, field_name, kinds[0], kinds[1])
            return
        if expected is None or got is None:
            return
        self._count("values")
        if kinds[0] == "tensor":
            self._tensor(path, expected, got)
        elif "items" in expected:
            self._items(path, expected["items"], got.get("items"))
        else:
            self._other(path, expected, got)

    def _tensor(self, path: str, expected: Observation, got: Observation) -> None:
        self.coarsest = coarser(self.coarsest, str(expected.get("dtype")))
        empty = 0 in expected.get("shape", ()) and 0 in got.get("shape", ())
        # Where a tensor without elements begins is as idle as the strides between them.
        skip = ("values", "grad", "strides", *(("offset",) if empty else ()))
        self._fields(path, TENSOR_FIELDS, expected, got, skip)
        self._strides(_joined(path, "strides"), expected, got)
        self._values(_joined(path, "values"), expected, got)
        self._grad(_joined(path, "grad"), expected, got)

    def _grad(self, path: str, expected: Observation, got: Observation) -> None:
        if "grad" not in got or "grad" not in expected:
            return
        one, other = expected["grad"], got["grad"]
        if one is None or other is None or "error" in one or "error" in other:
            self._field("values", path, _presence(one), _presence(other))
            return
        self._count("values")
        self._fields(path, GRAD_FIELDS, one, other, skip=("values", "strides"))
        self._strides(_joined(path, "strides"), one, other)
        self._values(_joined(path, "values"), one, other)

    def _strides(self, name: str, expected: Observation, got: Observation) -> None:
        """Compare where elements lie. A stride along a dimension of fewer than two elements leads
        nowhere: torch calls it arbitrary, and whether memory is contiguous ignores it."""
        if "strides" not in expected or "strides" not in got:
            return
        one, other, shape = expected["strides"], got["strides"], expected.get("shape")
        if _steps(one, shape) == _steps(other, got.get("shape")):
            self._count("memory")
        else:
            self._field("memory", name, one, other)

    def _items(self, path: str, expected: Any, got: Any) -> None:
        if isinstance(expected, dict) and isinstance(got, dict):
            if not self._same("values", _joined(path, "keys"), list(expected), list(got)):
                return
            pairs: Iterable[tuple[Any, Any, Any]] = (
                (repr(key), expected[key], got[key]) for key in expected
            )
        else:
            if not self._same("values", _joined(path, "length"), len(expected), len(got or ())):
                return
            pairs = ((i, *two) for i, two in enumerate(zip(expected, got, strict=True)))
        for key, one, other in pairs:
            self._observation(f"{path}[{key}]", one, other)

    def _other(self, path: str, expected: Observation, got: Observation) -> None:
        kind = expected["kind"]
        if kind in ("float", "complex"):
            self._scalar(_joined(path, "value"), expected["value"], got["value"])
        elif kind == "array":
            self._fields(path, OTHER_FIELDS, expected, got, skip=("values",))
            self._values(_joined(path, "values"), expected, got)
        elif self.values_count or kind in ("size", "dtype", "node"):
            self._fields(path, OTHER_FIELDS, expected, got)

    def _fields(
        self,
        path: str,
        table: dict[str, str],
        expected: Observation,
        got: Observation,
        skip: tuple[str, ...] = (),
    ) -> None:
        for name, level in table.items():
            if name in expected and name in got and name not in skip:
                self._field(level, _joined(path, name), expected[name], got[name])

    def _field(self, level: str, name: str, expected: Any, got: Any) -> None:
        """Compare one field; where both sides failed to read it, its error's type and message."""
        if _failed(expected) and _failed(got):
            one, other = expected["error"], got["error"]
            if self._same(level, name, one["type"], other["type"]):
                self._same("diagnostics", f"{name} error", one["message"], other["message"])
        else:
            self._same(level, name, expected, got)

    def _values(self, name: str, expected: Observation, got: Observation) -> None:
        one, other = expected.get("values"), got.get("values")
        if "values" not in expected or "values" not in got:
            return
        if not isinstance(one, list) or not isinstance(other, list):
            self._field("values", name, one, other)
            return
        if not self.values_count or expected["shape"] != got["shape"]:
            return  # a shape that differs has been told
        if expected["dtype"] != got["dtype"]:
            return
        dtype = expected["dtype"]
        index = self._first_difference(one, other, dtype)
        self._count("values")
        if index is not None:
            self._diverge("values", name, one, other, index)

    def _scalar(self, name: str, expected: Any, got: Any) -> None:
        if not self.values_count:
            return
        if self._first_difference([expected], [got], scalar_dtype(expected, got)) is None:
            self._count("values")
        else:
            self._diverge("values", name, expected, got)

    def _first_difference(self, expected: list[Any], got: list[Any], dtype: str) -> int | None:
        dtype = coarser(dtype, self.coarsest)
        index, ulp = difference(expected, got, dtype)
        if ulp is not None:
            self.ulp[dtype] = max(self.ulp.get(dtype, 0.0), ulp)
        return index

    def _same(self, level: str, name: str, expected: Any, got: Any) -> bool:
        if expected == got:
            self._count(level)
            return True
        self._diverge(level, name, expected, got)
        return False

    def _count(self, level: str) -> None:
        if level in self.levels:
            self.compared.add(level)

    def _diverge(
        self, level: str, name: str, expected: Any, got: Any, index: int | None = None
    ) -> None:
        self._count(level)
        if level in self.levels and level not in self.first:
            self.first[level] = Divergence(*self.at, self.name, name, expected, got, index)


def _steps(strides: Any, shape: Any) -> Any:
    """The strides that lead from one element to another."""
    if not isinstance(strides, list) or not isinstance(shape, list):
        return strides
    if 0 in shape or len(strides) != len(shape):
        return [] if 0 in shape else strides
    return [stride for stride, size in zip(strides, shape, strict=True) if size > 1]


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _failed(value: Any) -> bool:
    return isinstance(value, dict) and "error" in value


def _presence(grad: Any) -> Any:
    """What can be said of a gradient that cannot be compared element by element."""
    return grad if grad is None or _failed(grad) else "tensor"


def _shown_error(error: dict[str, str] | None) -> dict[str, str] | None:
    return None if error is None else {"type": error["type"], "message": error["message"]}


def _still_same(observation: Observation | None, changed: bool) -> Observation | None:
    """An observation that stands since an earlier step has, by that, the same gradient still."""
    if observation is None or changed or not isinstance(observation.get("grad"), dict):
        return observation
    grad = observation["grad"]
    return {**observation, "grad": {**grad, "same": True}} if "same" in grad else observation
