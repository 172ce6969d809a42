"""The options of a run: one table for `conform run` and for the pytest plugin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import BASELINE
from conformance.isolation.child import START_TIMEOUT
from conformance.settings.arguments import (
    Size,
    count,
    duration,
    number,
    one_line,
    seconds,
    size,
    web_address,
)
from conformance.suite.shard import shard

PREFIX = "conform-"
"""The beginning of each option of the pytest plugin: `--conform-backend`."""

RECORDING = f"recorded:torch-{BASELINE}"
"""The oracle whose traces `conform spec` shows, unless another is given."""

TIMEOUT = 30.0
"""Seconds that one program may take on either side before it counts as hanging."""

MEMORY = Size(8 << 30)
"""Bytes that a process of either side may use, with all that it starts."""

GIVE_UP = 5
"""Programs in a row that end or hang a process before a run is given up."""


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


MANY = {"action": "append", "default": None}

SEED = Option("seed", "where the random numbers of programs begin", {"type": int, "default": 0})

BACKENDS = (
    Option(
        "backend",
        "the backend: impl, torch, torch:DEVICE, recorded:torch-2.6, package.module:attribute, or "
        "'cmd: COMMAND'",
        {"default": "impl", "metavar": "NAME"},
    ),
    Option(
        "oracle",
        "right by definition: torch, torch:DEVICE, recorded:torch-2.15 (needs no torch), or none "
        f"(only the programs' own comments); torch where it is installed, else {RECORDING}",
        {"default": None, "metavar": "NAME"},
    ),
    Option(
        "import",
        "import this module before a backend is looked up (it may register a device); repeatable",
        {**MANY, "metavar": "MODULE"},
    ),
    Option(
        "timeout",
        "seconds that one program may take on the backend, and on the oracle",
        {"type": seconds, "default": TIMEOUT, "metavar": "S"},
    ),
    Option(
        "start-timeout",
        "seconds that the backend's process may take to start, imports included",
        {"type": seconds, "default": START_TIMEOUT, "metavar": "S"},
    ),
    SEED,
    Option(
        "default-dtype",
        "dtype of literals; comments in chapters are about float32, and not checked for others",
        {"choices": ("float32", "float64"), "default": "float32"},
    ),
    Option(
        "isolate",
        "where a port's command runs: in a process, without network where the kernel allows that, "
        "or in a container (Docker or Podman) of the --image, without network",
        {"choices": ("process", "container"), "default": "process"},
    ),
    Option("image", "the image of --isolate container", {"default": None, "metavar": "IMAGE"}),
    Option("network", "let a port's command use the network", {"action": "store_true"}),
    Option(
        "log",
        "write all that a port is sent and answers into files of this folder, one for each process",
        {"default": None, "metavar": "DIR"},
    ),
    Option(
        "no-isolation",
        "run backend and oracle in the same process as the harness (for debuggers; no timeout, and "
        "no protection from what they do)",
        {"action": "store_true"},
    ),
)

ORACLE = tuple(
    option for option in BACKENDS if option.name in ("oracle", "import", "seed", "default-dtype")
)
"""The options of an oracle, for commands that judge no backend."""

SUITE = (
    Option(
        "spec",
        "read the chapters from this folder (their examples are Python, which is run)",
        {"default": None, "metavar": "DIR"},
    ),
    Option(
        "findings",
        "replay what `conform fuzz` wrote to this folder, too (programs are Python, which is run)",
        {"default": None, "metavar": "DIR"},
    ),
)

SELECTION = (
    Option("area", "only this area; repeatable", {**MANY, "metavar": "AREA"}),
    Option("without", "leave this area out; repeatable", {**MANY, "metavar": "AREA"}),
    Option("rule", "only this rule, such as SEED-03; repeatable", {**MANY, "metavar": "ID"}),
    Option("operator", "only this operator's samples; repeatable", {**MANY, "metavar": "OP"}),
    Option("dtype", "only samples of this dtype; repeatable", {**MANY, "metavar": "DTYPE"}),
    Option(
        "class",
        "only programs that need no class of ports but the core and this one; repeatable",
        {**MANY, "metavar": "CLASS"},
    ),
    Option(
        "id", "only programs whose ID this pattern meets; repeatable", {**MANY, "metavar": "GLOB"}
    ),
)

SHARE = (
    Option(
        "failed-in",
        "only programs that diverge or ended in an error in this run file; `conform merge` folds "
        "the run back into that one",
        {"default": None, "metavar": "RUNFILE"},
    ),
    Option(
        "sample",
        "only so many of the selected programs, spread over operators, rules and kinds, and in the "
        "order in which they are drawn; --seed says which",
        {"type": count, "default": None, "metavar": "N"},
    ),
    Option(
        "shard",
        "only this part of the selected programs, such as 2/8; `conform merge` puts runs together",
        {"type": shard, "default": None, "metavar": "K/N"},
    ),
)
"""The options that take a part of a selection."""

COUNTED = (
    Option(
        "level",
        f"only this level counts for pass or fail ({', '.join(LEVELS)}); repeatable, default all",
        {**MANY, "metavar": "LEVEL"},
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
"""The options of files that are made of a run, beside its run file."""

SPEC_URL = Option(
    "spec-url",
    "the address at which the site of the specification (`conform spec`) stands: pages link rules "
    "to it",
    {"type": web_address, "default": None, "metavar": "URL"},
)

ENDING = (
    *FILES,
    Option(
        "known",
        "known divergences (TOML); default: the suite's own list for the backend",
        {"default": None, "metavar": "FILE"},
    ),
    Option(
        "allow-unsupported",
        "operations that the backend lacks do not make the run incomplete (for a growing port)",
        {"action": "store_true"},
    ),
)
"""The options of the end of a run, or of several that are merged."""

OUTPUT = (
    *COUNTED,
    Option("run-file", "write the run here (JSON Lines)", {"default": None, "metavar": "FILE"}),
    Option(
        "name",
        "the name of the backend in reports and on the dashboard, where runs of one name are of "
        "one configuration (default: what a port calls itself, or the backend's)",
        {"type": one_line, "default": None, "metavar": "TEXT"},
    ),
    Option(
        "label",
        "a label for a run that the version does not identify: reports and the dashboard show it "
        "beside the run",
        {"type": one_line, "default": None, "metavar": "TEXT"},
    ),
    Option(
        "revision",
        "the revision of the backend's source, such as $GITHUB_SHA; the dashboard links it with "
        "--commit-url",
        {"type": one_line, "default": None, "metavar": "TEXT"},
    ),
    Option(
        "url",
        "the address at which the run's report will stand, or that of the CI job: pages link it",
        {"type": web_address, "default": None, "metavar": "URL"},
    ),
    SPEC_URL,
    Option(
        "resume",
        "go on with an interrupted run of the same options: programs in this run file are not run "
        "again, unless they ended in an error, and the file is made whole (or --run-file, if that "
        "is given)",
        {"default": None, "metavar": "RUNFILE"},
    ),
    *ENDING,
    Option(
        "exact",
        "count it as a divergence where the backend shows what another version of torch shows",
        {"action": "store_true"},
    ),
    Option(
        "if-available",
        "when the backend's device is missing on this machine, say so and succeed",
        {"action": "store_true"},
    ),
)

LIMITS = (
    Option(
        "memory",
        "memory that a process of the backend or of the oracle may use, with all that it starts, "
        "such as 512M or 2G; a program that takes more is an error",
        {"type": size, "default": MEMORY, "metavar": "SIZE"},
    ),
    Option(
        "maxfail",
        "do not run the rest after so many programs that diverge or are errors",
        {"type": count, "default": None, "metavar": "N"},
    ),
    Option(
        "total-timeout",
        "do not run the rest after this time, such as 90s, 30m or 8h",
        {"type": duration, "default": None, "metavar": "TIME"},
    ),
    Option(
        "give-up",
        "do not run the rest after so many programs in a row that end or hang a process of the "
        "backend or of the oracle (where none hangs, a tenth of those that came through, if that "
        f"is more); 0 for never (default: {GIVE_UP})",
        {"type": number, "default": GIVE_UP, "metavar": "N"},
    ),
)
"""The options that end a program, or a run, which takes too much."""

RUN = (*BACKENDS, *LIMITS, *SUITE, *SELECTION, *SHARE, *OUTPUT)

MUTANT_TIMEOUT = 10.0
"""Seconds that one program may take on a mutant, which may have been made to hang."""

MUTANTS = (
    Option(
        "backend",
        "the backend that mistakes are put into: impl, or package.module:attribute",
        {"default": "impl", "metavar": "NAME"},
    ),
    Option(
        "catalogue",
        "the module whose function `catalogue` returns the mutants; default: the backend's own",
        {"default": None, "metavar": "MODULE"},
    ),
    Option(
        "oracle",
        "right by definition: torch, or a recording of it, for which no torch is needed",
        {"default": RECORDING, "metavar": "NAME"},
    ),
    *(option for option in BACKENDS if option.name == "import"),
    Option(
        "timeout",
        "seconds that one program may take on a mutant; one that takes longer has noticed it",
        {"type": seconds, "default": MUTANT_TIMEOUT, "metavar": "S"},
    ),
    *SUITE,
    Option("mutant", "only this mutant; repeatable", {**MANY, "metavar": "NAME"}),
    Option("area", "only mutants of this area; repeatable", {**MANY, "metavar": "AREA"}),
    Option(
        "shard",
        "only this part of the selected mutants, such as 2/8",
        {"type": shard, "default": None, "metavar": "K/N"},
    ),
    Option(
        "tenth",
        "only a tenth of the selected mutants, another for each number: $(date +%%j) for a day's",
        {"type": number, "default": None, "metavar": "NUMBER"},
    ),
    Option(
        "all",
        "run all programs of rules on every mutant, not only up to the first that notices it",
        {"action": "store_true"},
    ),
    Option(
        "samples",
        "let samples of all operators notice what no rule does, which takes a minute for each; "
        "otherwise only samples of operators that a mutant says it breaks",
        {"action": "store_true"},
    ),
    Option(
        "check",
        "only check that every mutant can be applied, and that its own program shows it",
        {"action": "store_true"},
    ),
    Option("json", "write what is found here", {"type": Path, "default": None, "metavar": "FILE"}),
    Option(
        "report",
        "write an HTML page about it here",
        {"type": Path, "default": None, "metavar": "FILE.html"},
    ),
)
"""The options of an examination of mutants."""


def add_options(
    add: Any, options: tuple[Option, ...] = RUN, prefix: str = "", **keywords: Any
) -> None:
    """Declare ``options`` with ``add`` (an argparse or pytest group's method)."""
    for option in options:
        about = option.about
        if isinstance(default := option.keywords.get("default"), str | float | Size):
            about += f" (default: {default:g})" if isinstance(default, float) else ""
            about += f" (default: {default})" if isinstance(default, str | Size) else ""
        add(
            f"--{prefix}{option.name}",
            dest=f"{prefix}{option.name}".replace("-", "_"),
            help=about,
            **{**option.keywords, **keywords},
        )
