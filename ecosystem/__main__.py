"""The runner: `python -m ecosystem [PROGRAM ...] [--table docs/ecosystem.md]`.

Exit codes: 0 if every case that torch runs has the same results on impl, or is a known failure; 1
if one has not, or a known failure is gone; 2 for wrong usage; 3 if a package is not installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
TIMEOUT = 300
# In float64; but packages compute parts in float32, and solvers take steps by their own errors.
RELATIVE, ABSOLUTE = 1e-4, 1e-6

HEAD = """\
# Packages of other people on impl

`tox run -e ecosystem` wrote this page. It runs programs over packages from the index
(`ecosystem/programs`, a few dozen lines each, over the package's public names) on torch, and on
impl bound as torch (`impl.run`), and compares values and gradients, in float64 where the package
has it. The versions stand in `ecosystem/pins.txt`.

"""


@dataclass
class Outcome:
    """A package's program: the cases that ran on torch, and those of them that agree on impl."""

    program: str
    package: str
    version: str
    about: str
    on_torch: list[str] = field(default_factory=list)
    on_impl: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    broken: str | None = None

    @property
    def first(self) -> str:
        """The first reason why a case fails."""
        return next(iter(self.failures.values()), self.broken or "")


def main() -> int:
    """Run the programs that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m ecosystem", description=__doc__)
    every = sorted(path.stem for path in (ROOT / "programs").glob("*.py"))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(every))
    parser.add_argument("--table", type=Path, help="write the results to this page")
    options = parser.parse_args()
    for name in options.programs:
        if name not in every:
            parser.error(f"there is no program {name!r}; there are: {', '.join(every)}")
    outcomes = []
    for name in options.programs or every:
        outcomes.append(run(name))
        print(_line(outcomes[-1]), flush=True)
    if options.table:
        options.table.write_text(table(outcomes), "utf-8")
    return _exit_code(outcomes)


def run(name: str) -> Outcome:
    """Run a program on both sides and compare."""
    package, version = _pinned(name)
    about = (ROOT / "programs" / f"{name}.py").read_text("utf-8").split('"""')[1].partition(": ")[2]
    outcome = Outcome(name, package, version, about.rstrip("."))
    if _installed(package) is None:
        outcome.broken = "not installed"
        return outcome
    expected, got = _answer("torch", name), _answer("impl", name)
    if "import" in expected:
        outcome.broken = f"on torch: {expected['import']}"
        return outcome
    for case, result in expected["cases"].items():
        if "error" in result:
            outcome.broken = f"on torch: {result['error']}"
            continue
        outcome.on_torch.append(case)
        if "import" in got:
            outcome.failures[case] = got["import"]
        elif (said := _difference(result, got["cases"].get(case, {"error": "no answer"}))) is None:
            outcome.on_impl.append(case)
        else:
            outcome.failures[case] = said
    return outcome


def _pinned(name: str) -> tuple[str, str]:
    """The distribution and version that a program's package is pinned to."""
    for line in (ROOT / "pins.txt").read_text("utf-8").splitlines():
        match = re.fullmatch(r"([\w.-]+)==(\S+)  # (\w+)", line)
        if match and match[3] == name:
            return match[1], match[2]
    raise SystemExit(f"ecosystem/pins.txt has no line for {name}")


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _answer(side: str, name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "ecosystem.worker", side, name, str(file)]
        path = os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
            )
        except subprocess.TimeoutExpired:
            return {"import": f"no answer within {TIMEOUT} s"}
        if not file.exists():
            said = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            return {"import": f"the process died: {said}"}
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def _difference(expected: dict[str, Any], got: dict[str, Any]) -> str | None:
    """Why two results of a case are not the same, or None."""
    if "error" in got:
        return str(got["error"])
    if len(expected["values"]) != len(got["values"]):
        return f"{len(got['values'])} tensors instead of {len(expected['values'])}"
    for number, (one, other) in enumerate(zip(expected["values"], got["values"], strict=True)):
        if one["shape"] != other["shape"]:
            return f"tensor {number} has shape {other['shape']} instead of {one['shape']}"
        for a, b in zip(one["numbers"], other["numbers"], strict=True):
            same = a == b or (math.isnan(a) and math.isnan(b))
            if not same and not math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
                return f"tensor {number} has {b!r} instead of {a!r}"
    return None


def _known() -> dict[str, str]:
    """The known failures, `program` or `program.case`, with the reason of each."""
    listed: dict[str, str] = tomllib.loads((ROOT / "known.toml").read_text("utf-8"))["known"]
    return listed


def _exit_code(outcomes: list[Outcome]) -> int:
    known, code = _known(), 0
    for outcome in outcomes:
        for case in outcome.failures:
            if outcome.program not in known and f"{outcome.program}.{case}" not in known:
                print(f"ecosystem: {outcome.program}.{case} fails: {outcome.failures[case]}")
                code = 1
        for name in known:
            program, _, case = name.partition(".")
            if program == outcome.program and outcome.on_torch:
                still = case in outcome.failures if case else outcome.failures
                if not still:
                    print(f"ecosystem: {name} is a known failure and passes; remove its entry")
                    code = 1
    missing = [outcome.program for outcome in outcomes if not outcome.on_torch]
    if missing:
        print(f"ecosystem: nothing ran of: {', '.join(missing)}")
    return code or (3 if missing else 0)


def _line(outcome: Outcome) -> str:
    counts = f"{len(outcome.on_impl)} of {len(outcome.on_torch)}"
    text = f"{outcome.package} {outcome.version}: {counts}"
    return f"{text}  {outcome.first}" if outcome.first else text


def table(outcomes: list[Outcome]) -> str:
    """The page, in Markdown."""
    ran = sum(len(outcome.on_torch) for outcome in outcomes)
    passed = sum(len(outcome.on_impl) for outcome in outcomes)
    whole = sum(1 for o in outcomes if o.on_torch and len(o.on_impl) == len(o.on_torch))
    lines = [
        f"{passed} of the {ran} cases that torch runs agree; "
        f"{whole} of {len(outcomes)} packages agree in every case.",
        "",
        "| package | version | what is run | on torch | on impl | first reason of a failure |",
        "|---|---|---|---:|---:|---|",
    ]
    for o in sorted(outcomes, key=lambda o: (len(o.on_impl) < len(o.on_torch), o.package)):
        reason = o.first.replace("|", "\\|").replace("`", "'")
        cell = f"`{reason[:157]}...`" if len(reason) > 160 else f"`{reason}`" if reason else ""
        cells = (o.package, o.version, o.about, len(o.on_torch), len(o.on_impl), cell)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
