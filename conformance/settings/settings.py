"""The settings of a run, read from a command line."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.isolation.child import START_TIMEOUT
from conformance.settings.options import GIVE_UP, MEMORY, RECORDING, TIMEOUT
from conformance.suite.suite import Selection


class WrongOptions(ValueError):
    """Options that do not go together; the message says which."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run, from the command line of `conform` or of pytest."""

    backend: str = "impl"
    oracle: str = "torch"
    imports: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    start_timeout: float = START_TIMEOUT
    seed: int = 0
    default_dtype: str = "float32"
    isolation: bool = True
    image: str | None = None
    network: bool = False
    log: Path | None = None
    memory: int | None = MEMORY
    maxfail: int | None = None
    total_timeout: float | None = None
    give_up: int = GIVE_UP
    spec: Path | None = None
    findings: Path | None = None
    selection: Selection = field(default_factory=Selection)
    run_file: Path | None = None
    name: str | None = None
    label: str | None = None
    revision: str | None = None
    url: str | None = None
    spec_url: str | None = None
    resume: Path | None = None
    report: Path | None = None
    junit: Path | None = None
    summary: Path | None = None
    known: Path | None = None
    exact: bool = False
    if_available: bool = False
    allow_unsupported: bool = False

    @property
    def outputs(self) -> list[Path]:
        """The files that are made of the run, beside its run file."""
        return [path for path in (self.report, self.junit, self.summary) if path is not None]


def default_oracle() -> str:
    """The oracle unless another is given: torch, or where it is not installed its traces."""
    return "torch" if importlib.util.find_spec("torch") else RECORDING


def read_settings(namespace: argparse.Namespace, prefix: str = "") -> Settings:
    """The settings in a parsed command line whose options have that prefix.

    Raises WrongOptions.
    """

    def value(name: str, default: Any = None) -> Any:
        return getattr(namespace, f"{prefix}{name}".replace("-", "_"), default)

    def many(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value(name) or ()))

    def path(name: str) -> Path | None:
        return Path(value(name)) if value(name) else None

    return Settings(
        backend=value("backend", "impl"),
        oracle=value("oracle") or default_oracle(),
        imports=many("import"),
        timeout=value("timeout", TIMEOUT),
        start_timeout=value("start-timeout", START_TIMEOUT),
        seed=value("seed", 0),
        default_dtype=value("default-dtype", "float32"),
        isolation=not value("no-isolation", False),
        image=_image(value("isolate"), value("image")),
        network=bool(value("network", False)),
        log=path("log"),
        memory=value("memory", MEMORY),
        maxfail=value("maxfail"),
        total_timeout=value("total-timeout"),
        give_up=value("give-up", GIVE_UP),
        spec=path("spec"),
        findings=path("findings"),
        selection=Selection(
            areas=many("area"),
            without=many("without"),
            rules=many("rule"),
            operators=many("operator"),
            dtypes=many("dtype"),
            classes=many("class"),
            ids=many("id"),
            failed_in=value("failed-in"),
            sample=value("sample"),
            shard=value("shard"),
            levels=many("level") or LEVELS,
        ),
        run_file=path("run-file") or path("resume"),
        name=value("name"),
        label=value("label"),
        revision=value("revision"),
        url=value("url"),
        spec_url=value("spec-url"),
        resume=path("resume"),
        report=path("report"),
        junit=path("junit"),
        summary=path("summary"),
        known=path("known"),
        exact=bool(value("exact", False)),
        if_available=bool(value("if-available", False)),
        allow_unsupported=bool(value("allow-unsupported", False)),
    )


def _image(isolate: str | None, image: str | None) -> str | None:
    """The image of the container that a port runs in, if it does; raises WrongOptions."""
    if (isolate == "container") != (image is not None):
        raise WrongOptions("--isolate container and --image IMAGE belong together.")
    return image


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
    if set(settings.selection.levels) != set(LEVELS):
        words += [part for level in settings.selection.levels for part in ("--level", level)]
    if settings.spec:
        words += ["--spec", shlex.quote(str(settings.spec))]
    if settings.findings:
        words += ["--findings", shlex.quote(str(settings.findings))]
    return " ".join(words)
