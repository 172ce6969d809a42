"""The options of a run: one table for `conform run` and for the pytest plugin."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.isolate import START_TIMEOUT
from conformance.runs import LEVELS
from conformance.shard import shard
from conformance.suite import Selection
from conformance.themes import EXAMPLES, THEMES

TIMEOUT = 30.0
"""Seconds that one program may take on the backend before it counts as hanging."""


def seconds(text: str) -> float:
    """A positive number of seconds; raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


def one_line(text: str) -> str:
    """A short text without line breaks; raises ArgumentTypeError for any other."""
    if len(text.splitlines()) > 1 or len(text) > 200:
        raise argparse.ArgumentTypeError("a label is one line of at most 200 characters")
    return text


def count(text: str) -> int:
    """A positive whole number; raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


@dataclass(frozen=True)
class Option:
    """One option: its name without dashes, where it goes in help, and argparse's keywords."""

    name: str
    about: str
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def destination(self) -> str:
        """The option's attribute in a namespace, without a prefix."""
        return self.name.replace("-", "_")


_MANY = {"action": "append", "default": None}

BACKENDS = (
    Option(
        "backend",
        "what to judge: impl, torch, torch:DEVICE, package.module:attribute, or 'cmd: COMMAND'",
        {"default": "impl", "metavar": "NAME"},
    ),
    Option(
        "oracle",
        "what is right by definition: torch, torch:DEVICE, or none (only what programs state)",
        {"default": "torch", "metavar": "NAME"},
    ),
    Option(
        "import",
        "import this module before a backend is looked up (it may register a device); repeatable",
        {**_MANY, "metavar": "MODULE"},
    ),
    Option(
        "timeout",
        "seconds that one program may take on the backend",
        {"type": seconds, "default": TIMEOUT, "metavar": "S"},
    ),
    Option(
        "start-timeout",
        "seconds that the backend's process may take to start, imports included",
        {"type": seconds, "default": START_TIMEOUT, "metavar": "S"},
    ),
    Option("seed", "where the random numbers of programs begin", {"type": int, "default": 0}),
    Option(
        "default-dtype",
        "what literals become; comments in chapters are about float32, and not checked for others",
        {"choices": ("float32", "float64"), "default": "float32"},
    ),
    Option(
        "no-isolation",
        "run the backend in the same process as the harness (for debuggers; no timeout)",
        {"action": "store_true"},
    ),
)

ORACLE = tuple(
    option for option in BACKENDS if option.name in ("oracle", "import", "seed", "default-dtype")
)
"""What there is to say of an oracle where nothing is judged."""

SUITE = (
    Option("spec", "read the chapters from this folder", {"default": None, "metavar": "DIR"}),
    Option(
        "findings",
        "replay what `conform fuzz` wrote to this folder, too",
        {"default": None, "metavar": "DIR"},
    ),
)

SELECTION = (
    Option("area", "only this area; repeatable", {**_MANY, "metavar": "AREA"}),
    Option("without", "leave this area out; repeatable", {**_MANY, "metavar": "AREA"}),
    Option("rule", "only this rule, such as SEED-03; repeatable", {**_MANY, "metavar": "ID"}),
    Option("operator", "only this operator's samples; repeatable", {**_MANY, "metavar": "OP"}),
    Option("dtype", "only samples of this dtype; repeatable", {**_MANY, "metavar": "DTYPE"}),
    Option(
        "id", "only programs whose ID this pattern meets; repeatable", {**_MANY, "metavar": "GLOB"}
    ),
)

SHARE = (
    Option(
        "failed-in",
        "only programs that diverge or ended in an error in this run file",
        {"default": None, "metavar": "RUNFILE"},
    ),
    Option(
        "shard",
        "only this part of the selected programs, such as 2/8; `conform merge` puts runs together",
        {"type": shard, "default": None, "metavar": "K/N"},
    ),
)
"""What is left of a selection."""

COUNTED = (
    Option(
        "level",
        f"only this level counts for pass or fail ({', '.join(LEVELS)}); repeatable, default all",
        {**_MANY, "metavar": "LEVEL"},
    ),
)

FILES = (
    Option("report", "write an HTML report of the run here", {"default": None, "metavar": "FILE"}),
    Option("junit", "write the run as JUnit XML here", {"default": None, "metavar": "FILE.xml"}),
    Option(
        "summary",
        "write a short page of Markdown about the run here, such as $GITHUB_STEP_SUMMARY",
        {"default": None, "metavar": "FILE.md"},
    ),
)
"""What is made of a run, beside its run file."""

ENDING = (
    *FILES,
    Option(
        "known",
        "known divergences (TOML); default: the suite's own list for the backend",
        {"default": None, "metavar": "FILE"},
    ),
    Option(
        "allow-unsupported",
        "what the backend lacks does not make the run incomplete (for a port that grows)",
        {"action": "store_true"},
    ),
)
"""What is decided, and made, at the end of a run, or of several that are merged."""

OUTPUT = (
    *COUNTED,
    Option("run-file", "write the run here (JSON Lines)", {"default": None, "metavar": "FILE"}),
    Option(
        "label",
        "what was run, where a version does not say it, such as $GITHUB_SHA: reports and the "
        "dashboard show it beside the run",
        {"type": one_line, "default": None, "metavar": "TEXT"},
    ),
    Option(
        "resume",
        "go on with an interrupted run of the same options: what this run file has is not run "
        "again, and the file is made whole (or --run-file, if that is given)",
        {"default": None, "metavar": "RUNFILE"},
    ),
    *ENDING,
    Option(
        "if-available",
        "when the backend's device is missing on this machine, say so and succeed",
        {"action": "store_true"},
    ),
)

RUN = (*BACKENDS, *SUITE, *SELECTION, *SHARE, *OUTPUT)

DRAWING = (
    Option(
        "examples",
        f"random programs to draw of each theme (default: {EXAMPLES})",
        {"type": count, "default": EXAMPLES, "metavar": "N"},
    ),
    Option(
        "theme",
        f"only programs of this theme ({', '.join(THEMES)}); repeatable, default all",
        {**_MANY, "metavar": "THEME"},
    ),
    Option(
        "keep-in",
        "write what random programs find to this folder (default: the suite's, or ./findings)",
        {"default": None, "metavar": "DIR"},
    ),
    Option(
        "no-keep",
        "do not write what is found to a file",
        {"action": "store_true"},
    ),
)


@dataclass(frozen=True)
class Settings:
    """What was asked for, from whichever command line."""

    backend: str = "impl"
    oracle: str = "torch"
    imports: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    start_timeout: float = START_TIMEOUT
    seed: int = 0
    default_dtype: str = "float32"
    isolation: bool = True
    spec: Path | None = None
    findings: Path | None = None
    selection: Selection = field(default_factory=Selection)
    run_file: Path | None = None
    label: str | None = None
    resume: Path | None = None
    report: Path | None = None
    junit: Path | None = None
    summary: Path | None = None
    known: Path | None = None
    if_available: bool = False
    allow_unsupported: bool = False

    @property
    def outputs(self) -> list[Path]:
        """The files that are made of the run, beside its run file."""
        return [path for path in (self.report, self.junit, self.summary) if path is not None]


def add_options(
    add: Any, options: tuple[Option, ...] = RUN, prefix: str = "", **keywords: Any
) -> None:
    """Declare ``options`` with ``add`` (an argparse or pytest group's method)."""
    for option in options:
        about = option.about
        if isinstance(default := option.keywords.get("default"), str | float):
            about += f" (default: {default:g})" if isinstance(default, float) else ""
            about += f" (default: {default})" if isinstance(default, str) else ""
        add(
            f"--{prefix}{option.name}",
            dest=f"{prefix}{option.name}".replace("-", "_"),
            help=about,
            **{**option.keywords, **keywords},
        )


def read_settings(namespace: argparse.Namespace, prefix: str = "") -> Settings:
    """The settings in a parsed command line whose options have that prefix."""

    def value(name: str, default: Any = None) -> Any:
        return getattr(namespace, f"{prefix}{name}".replace("-", "_"), default)

    def many(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value(name) or ()))

    def path(name: str) -> Path | None:
        return Path(value(name)) if value(name) else None

    return Settings(
        backend=value("backend", "impl"),
        oracle=value("oracle", "torch"),
        imports=many("import"),
        timeout=value("timeout", TIMEOUT),
        start_timeout=value("start-timeout", START_TIMEOUT),
        seed=value("seed", 0),
        default_dtype=value("default-dtype", "float32"),
        isolation=not value("no-isolation", False),
        spec=path("spec"),
        findings=path("findings"),
        selection=Selection(
            areas=many("area"),
            without=many("without"),
            rules=many("rule"),
            operators=many("operator"),
            dtypes=many("dtype"),
            ids=many("id"),
            failed_in=value("failed-in"),
            shard=value("shard"),
            levels=many("level") or LEVELS,
        ),
        run_file=path("run-file") or path("resume"),
        label=value("label"),
        resume=path("resume"),
        report=path("report"),
        junit=path("junit"),
        summary=path("summary"),
        known=path("known"),
        if_available=bool(value("if-available", False)),
        allow_unsupported=bool(value("allow-unsupported", False)),
    )


def command(settings: Settings, program: str) -> str:
    """The shell command that shows one program again."""
    words = ["conform", "show", shlex.quote(program), "--backend", shlex.quote(settings.backend)]
    words += ["--oracle", shlex.quote(settings.oracle)]
    for module in settings.imports:
        words += ["--import", shlex.quote(module)]
    if settings.seed:
        words += ["--seed", str(settings.seed)]
    if settings.default_dtype != "float32":
        words += ["--default-dtype", settings.default_dtype]
    if settings.spec:
        words += ["--spec", shlex.quote(str(settings.spec))]
    if settings.findings:
        words += ["--findings", shlex.quote(str(settings.findings))]
    return " ".join(words)
