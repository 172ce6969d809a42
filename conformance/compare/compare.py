"""Comparison of two traces of one program, level by level; the result is a verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from conformance.base.levels import LEVELS
from conformance.compare.closeness import coarser, difference, scalar_dtype
from conformance.compare.unmet import unmet
from conformance.compare.verdict import Divergence, Verdict
from conformance.observe.fields import (
    Comparator,
    Field,
    compared_fields,
    fields_of,
    placing_strides,
)
from conformance.observe.trace import Observation, Step, Trace
from conformance.program.internals import internals
from conformance.program.program import Program, Statement

# The levels at which nothing can agree if one side has a tensor and the other has not.
_TENSOR_LEVELS = tuple(
    level for level in LEVELS if any(field.level == level for field in fields_of("tensor"))
)


def compare(
    expected: Trace,
    got: Trace,
    program: Program,
    stated: bool = True,
    levels: Collection[str] = LEVELS,
    permitting: bool = True,
) -> Verdict:
    """Return the verdict on `got`, with the oracle's trace `expected`.

    `stated` says whether the oracle has to meet the program's comments, which are about float32;
    `levels` are those that the backend claims, all others are not applicable. `permitting` is off
    where two answers of torch are compared, or of `impl`, which has no licence to differ.
    Raises ProgramError for a program whose source does not parse.
    """
    comparison = _Comparison(program, levels, permitting)
    specification = unmet(program, expected) if stated else []
    lack = comparison.run(expected, got)
    verdict = Verdict(
        "conforms",
        {level: comparison.verdict(level) for level in LEVELS},
        dict(sorted(comparison.first.items(), key=lambda item: LEVELS.index(item[0]))),
        dict(sorted(comparison.ulp.items())),
        specification=specification,
        permitted=comparison.permitted,
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
        error = step.error or {}
        if (lack := error.get("lacks")) and not _is_stated(statement, error):
            return Verdict.without_comparison(
                "unsupported", f"line {statement.line}: the backend lacks {lack}"
            )
    levels = {**dict.fromkeys(LEVELS, "not_applicable"), "values": "conforms"}
    open_lines = {
        s.line for s in program.statements if "values" in program.may_differ + s.may_differ
    }
    failures = [failure for failure in unmet(program, got) if failure.line not in open_lines]
    if not failures:
        return Verdict("conforms", levels)
    first = failures[0]
    steps = [s.index for s in program.statements if s.line <= first.line]
    divergence = Divergence(steps[-1], first.line, None, "statement", first.expected, first.got)
    return Verdict("diverges", {**levels, "values": "diverges"}, {"values": divergence})


def _is_stated(statement: Statement, error: dict[str, str]) -> bool:
    """Say whether a comment of the statement says that it raises an error of this class."""
    return any(e.kind == "raises" and e.type == error["type"] for e in statement.expects)


def _raises_too(expected: dict[str, str], got: dict[str, str]) -> bool:
    """Say whether an error about a lacking operation is an ordinary one: the oracle raises it, too.

    An error without message is a port's, which names the operation and has not done the step.
    """
    return "lacks" in expected and bool(got.get("message") or not expected.get("message"))


class _Comparison:
    """The comparison of two traces; keeps the first divergence at each level.

    A difference that the specification permits is no divergence: it is kept by itself, and ends
    the comparison at its level, since what follows may derive from it.
    """

    def __init__(self, program: Program, levels: Collection[str], permitting: bool = True) -> None:
        self.program = program
        self.levels = set(levels)
        self.permitting = permitting
        self.first: dict[str, Divergence] = {}
        self.permitted: dict[str, Divergence] = {}
        self.may_differ: tuple[str, ...] = ()
        self.compared: set[str] = set()
        self.ulp: dict[str, float] = {}
        self.unspecified: set[str] = set()
        self.names: tuple[dict[str, Observation], dict[str, Observation]] = ({}, {})
        # The storages of each side by their names on the other, as far as they were seen.
        self.storages: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self.at = (0, 0)
        self.name: str | None = None
        self.values_count = True
        self.internals: str | None = None
        # The float type with the fewest digits so far: wider values may derive from it.
        self.coarsest = "float64"

    def verdict(self, level: str) -> str:
        if level in self.first:
            return "diverges"
        return "conforms" if level in self.compared else "not_applicable"

    def run(self, expected: Trace, got: Trace) -> str | None:
        """Compare step by step up to an operation that the backend lacks; return its name."""
        statements, unspecified = self.program.statements, self.program.unspecified()
        steps = zip(statements, unspecified, expected.steps, got.steps, strict=False)
        for statement, names, one, other in steps:
            self.at, self.unspecified = (statement.index, statement.line), names
            self.name = None
            lack = (other.error or {}).get("lacks")
            ends = len(got.steps) == statement.index + 1 < len(expected.steps)
            if lack is not None and (ends or not _raises_too(one.error or {}, other.error or {})):
                return f"line {statement.line}: the backend lacks {lack}"
            self.values_count = not statement.unspecified
            self.internals = internals(statement.source)
            self.may_differ = self.program.may_differ + statement.may_differ
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
            # If only one side raised, that divergence is reported already.
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
            levels = (self.internals,) if self.internals else levels
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
            self._fields(path, kinds[0], expected, got)

    def _tensor(self, path: str, expected: Observation, got: Observation) -> None:
        self.coarsest = coarser(self.coarsest, str(expected.get("dtype")))
        self._fields(path, "tensor", expected, got)

    def _gradient(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        one, other = expected[field.name], got[field.name]
        if one is None or other is None or "error" in one or "error" in other:
            self._field("values", path, _presence(one), _presence(other))
            return
        self._count("values")
        self._fields(path, "grad", one, other)

    def _strides(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        one, other = (
            placing_strides(side[field.name], side.get("shape")) for side in (expected, got)
        )
        if one == other:
            self._count(str(field.level))
        else:
            self._exact(field, path, expected, got)

    def _offset(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        if not (0 in expected.get("shape", ()) and 0 in got.get("shape", ())):
            self._exact(field, path, expected, got)

    def _partition(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        """Compare which tensors share storage, whatever the sides call a storage."""
        one, other = expected[field.name], got[field.name]
        if not (isinstance(one, str) and isinstance(other, str)):
            self._exact(field, path, expected, got)
        elif (
            self.storages[0].setdefault(one, other) == other
            and self.storages[1].setdefault(other, one) == one
        ):
            self._count(str(field.level))
        else:
            self._diverge(str(field.level), path, one, self.storages[1].get(other, other))

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

    def _fields(self, path: str, of: str, expected: Observation, got: Observation) -> None:
        """Compare the fields that both sides have, of a kind of value or of a gradient."""
        for field in compared_fields(of):
            has = field.name in expected, field.name in got
            if all(has) or (any(has) and field.comparator is Comparator.OPTIONAL):
                compare_field = _COMPARISONS[field.comparator]
                compare_field(self, field, _joined(path, field.name), expected, got)

    def _exact(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        self._field(self._level(field), path, expected[field.name], got[field.name])

    def _optional(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        one, other = (side.get(field.name, f"not {field.name}") for side in (expected, got))
        self._field(str(field.level), path, one, other)

    def _level(self, field: Field) -> str:
        """The level of a field: of a number or a bool, that of the internals that were read."""
        plain = field.of not in ("tensor", "grad")
        return self.internals if plain and self.internals else str(field.level)

    def _plain(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        if self.values_count:
            self._exact(field, path, expected, got)

    def _field(self, level: str, name: str, expected: Any, got: Any) -> None:
        """Compare one field; where both sides failed to read it, its error's type and message."""
        if _failed(expected) and _failed(got):
            one, other = expected["error"], got["error"]
            if self._same(level, name, one["type"], other["type"]):
                self._same("diagnostics", f"{name} error", one["message"], other["message"])
        else:
            self._same(level, name, expected, got)

    def _elements(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        one, other = expected[field.name], got[field.name]
        if not isinstance(one, list) or not isinstance(other, list):
            self._field("values", path, one, other)
            return
        if not self.values_count or expected["shape"] != got["shape"]:
            return  # the difference in shape is reported already
        if expected["dtype"] != got["dtype"]:
            return
        index = self._first_difference(one, other, expected["dtype"])
        self._count("values")
        if index is not None:
            self._diverge("values", path, one, other, index)

    def _number(self, field: Field, path: str, expected: Observation, got: Observation) -> None:
        if not self.values_count:
            return
        one, other = expected[field.name], got[field.name]
        level = self._level(field)
        if self._first_difference([one], [other], scalar_dtype(one, other)) is None:
            self._count(level)
        else:
            self._diverge(level, path, one, other)

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
        if level not in self.levels or level in self.first:
            return
        found = Divergence(*self.at, self.name, name, expected, got, index)
        if self.permitting and level in self.may_differ:
            self.permitted[level] = found
            self.levels.discard(level)
        else:
            self.first[level] = found


_COMPARISONS: dict[
    Comparator, Callable[[_Comparison, Field, str, Observation, Observation], None]
] = {
    Comparator.EXACT: _Comparison._exact,
    Comparator.TEXT: _Comparison._exact,
    Comparator.PLAIN: _Comparison._plain,
    Comparator.NUMBER: _Comparison._number,
    Comparator.ELEMENTS: _Comparison._elements,
    Comparator.STRIDES: _Comparison._strides,
    Comparator.OFFSET: _Comparison._offset,
    Comparator.PARTITION: _Comparison._partition,
    Comparator.GRADIENT: _Comparison._gradient,
    Comparator.OPTIONAL: _Comparison._optional,
}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _failed(value: Any) -> bool:
    return isinstance(value, dict) and "error" in value


def _presence(grad: Any) -> Any:
    """A gradient that is not compared element by element: None, its error, or "tensor"."""
    return grad if grad is None or _failed(grad) else "tensor"


def _shown_error(error: dict[str, str] | None) -> dict[str, str] | None:
    return None if error is None else {"type": error["type"], "message": error["message"]}


def _still_same(observation: Observation | None, changed: bool) -> Observation | None:
    """An observation that stands since an earlier step has the same gradient as then."""
    if observation is None or changed or not isinstance(observation.get("grad"), dict):
        return observation
    grad = observation["grad"]
    return {**observation, "grad": {**grad, "same": True}} if "same" in grad else observation
