"""The form of a run file's lines, as types: the published schema says the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from msgspec import Meta

from conformance.base import classes, levels
from conformance.base.forms import Count, Minor, SavedTensors

Class = Literal[
    "core",
    "complex",
    "forward",
    "func",
    "modules",
    "sparse",
    "autocast",
    "device",
    "threads",
    "extension",
    "serialisation",
    "distributions",
]
Level = Literal["values", "graph", "memory", "diagnostics"]
Outcome = Literal["conforms", "other_version", "diverges", "unsupported", "error", "not_run"]
LevelVerdict = Literal["conforms", "other_version", "diverges", "not_applicable"]
assert get_args(Class) == tuple(classes.CLASSES)
assert get_args(Level) == levels.LEVELS and get_args(Outcome) == levels.OUTCOMES
assert get_args(LevelVerdict) == levels.LEVEL_VERDICTS

LineNumber = Annotated[int, Meta(ge=1, le=2**62)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Name = Annotated[str, Meta(min_length=1)]
Classes = Annotated[list[Class], Meta(min_length=1)]
Versions = Annotated[list[Minor], Meta(min_length=1)]


Kind = Literal[
    "tensor",
    "none",
    "bool",
    "int",
    "float",
    "complex",
    "str",
    "list",
    "tuple",
    "dict",
    "dtype",
    "size",
    "node",
    "array",
    "object",
]


class Space(TypedDict):
    """How many of torch's public names one space of a backend's namespace has."""

    space: str
    public: Count
    present: Count
    out_of_scope: Count
    missing: list[str]


class Backend(TypedDict):
    """A backend or an oracle."""

    name: str
    version: str | None
    device: str | None
    title: NotRequired[Name]
    names: NotRequired[list[Space]]


class Header(TypedDict):
    """The first line."""

    type: Literal["header"]
    schema: int
    run: Name
    started: str
    suite: str
    label: NotRequired[Name]
    revision: NotRequired[Name]
    url: NotRequired[Name]
    spec_url: NotRequired[Name]
    backend: Backend
    oracle: Backend
    host: dict[str, str]
    seed: int
    default_dtype: NotRequired[Literal["float32", "float64"]]
    programs: Count
    selected: NotRequired[Count]
    allowed: NotRequired[list[Literal["unsupported"]]]
    selection: dict[str, list[str]]


class Error(TypedDict):
    """An exception."""

    type: str
    message: str


class Warned(TypedDict):
    """A warning."""

    category: str
    message: str


class Observation(TypedDict):
    """One value as it was observed; an object in place of a field is an error of reading it."""

    kind: Kind
    shape: NotRequired[list | dict]
    dtype: NotRequired[str | dict]
    values: NotRequired[list | dict]
    grad: NotRequired[dict | None]
    requires_grad: NotRequired[bool | dict]
    is_leaf: NotRequired[bool | dict]
    has_grad_fn: NotRequired[bool | dict]
    retains_grad: NotRequired[bool | dict]
    output_nr: NotRequired[int | dict]
    strides: NotRequired[list | dict]
    offset: NotRequired[int | dict]
    version: NotRequired[int | dict]
    is_view: NotRequired[bool | dict]
    storage: NotRequired[int | str | dict]
    grad_fn: NotRequired[str | dict | None]
    graph: NotRequired[list | dict]
    value: NotRequired[bool | int | float | str | list]
    name: NotRequired[str]
    type: NotRequired[str]
    items: NotRequired[list[Observation] | dict[str, Observation]]


class Step(TypedDict):
    """The changes that one statement made."""

    statement: Count
    line: NotRequired[int | None]
    changed: NotRequired[dict[str, Observation]]
    deleted: NotRequired[list[str]]
    result: NotRequired[Observation]
    error: NotRequired[Error]
    warnings: NotRequired[list[Warned]]


class Trace(TypedDict):
    """A trace."""

    steps: list[Step]


class Divergence(TypedDict):
    """The first divergence at a level."""

    step: Count
    line: int | None
    name: str | None
    field: str
    expected: Any
    got: Any
    sample: NotRequired[str]


class Unmet(TypedDict):
    """A comment that the oracle does not meet."""

    line: int | None
    expected: Any
    got: Any


class Since(TypedDict):
    """A change of the oracle since the newest recorded version."""

    version: Minor
    levels: Annotated[list[Level], Meta(min_length=1)]


class Convention(TypedDict):
    """The conventions that both sides follow at a tie or a kink."""

    situation: str
    oracle: str | None
    backend: str | None


class Column(TypedDict):
    """A column of an entry of the sweep."""

    samples: Count
    lacking: Count
    diverging: dict[Level, LineNumber]


class Known(TypedDict):
    """The entry of a known divergence."""

    reason: Name
    link: str | None
    stale: NotRequired[bool]


class Times(TypedDict):
    """The seconds that each side took."""

    oracle: Seconds | None
    backend: Seconds | None


class Program(TypedDict):
    """The line of a program. Its traces are left out by readers that need none."""

    type: Literal["program"]
    id: Name
    area: str
    rule: str | None
    operator: str | None
    sentence: str | None
    dtype: str | None
    classes: NotRequired[Classes]
    file: str | None
    line: LineNumber | None
    source: str
    outcome: Outcome
    levels: dict[Level, LevelVerdict]
    divergences: dict[Level, Divergence]
    permitted: NotRequired[dict[Level, Divergence]]
    specification: list[Unmet]
    contradicted: NotRequired[list[LineNumber]]
    ulp: dict[str, Annotated[float, Meta(ge=0, le=1.7e308)] | Literal["inf"]]
    versions: NotRequired[Versions]
    since: NotRequired[Since]
    convention: NotRequired[Convention]
    sweep: NotRequired[
        dict[Literal["forward", "backward", "double", "inplace", "out", "saved", "errors"], Column]
    ]
    reason: str | None
    known: Known | None
    expected: NotRequired[Trace | None]
    got: NotRequired[Trace | None]
    saved: NotRequired[dict[Literal["expected", "got"], SavedTensors]]
    seconds: Times


class Totals(TypedDict):
    """How many programs had each outcome."""

    conforms: Count
    other_version: NotRequired[Count]
    diverges: Count
    unsupported: Count
    error: Count
    not_run: Count


class LevelTotals(TypedDict):
    """How many programs had each verdict at a level."""

    conforms: Count
    other_version: NotRequired[Count]
    diverges: Count
    not_applicable: Count


class Levels(TypedDict):
    """The totals of each level."""

    values: LevelTotals
    graph: LevelTotals
    memory: LevelTotals
    diagnostics: LevelTotals


class Footer(TypedDict):
    """The last line."""

    type: Literal["footer"]
    finished: str
    totals: Totals
    known: Count
    stale: list[str]
    levels: Levels
    claims: NotRequired[dict[Level, Versions]]
    exit: Literal[0, 1, 3]
    sha256: NotRequired[str]


FORMS: dict[str, type] = {"header": Header, "program": Program, "footer": Footer}
