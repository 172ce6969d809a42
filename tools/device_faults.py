"""The table of docs/devices.md: which rule first notices each fault of the device `pretend`.

`python tools/device_faults.py` runs the chapters once for each fault, up to the first program that
shows it, and writes the table. With names of faults it runs those only, and keeps the other rows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from conformance.run_files.reading import read_run

ROOT = Path(__file__).parent.parent
DEVICE = ROOT / "examples/device"
PAGE = ROOT / "docs/devices.md"
# The mistake that each makes, and the rule about such mistakes.
FAULTS = {
    "no_sync": ("a stream does not wait for the event that another has recorded", "ACCEL-10"),
    "view_copies": ("`view` returns a copy", "ALIAS-13"),
    "no_bump": ("an operator in place does not bump the version", "INPLACE-13"),
    "tie": ("`amax` sends its gradient to the first of equal maxima", "TIES-13"),
    "gradient_on_host": ("the gradient of `tanh` is left on the host", "LIMIT-16"),
    "torch_fallback": (
        "the fallback copies arguments and results: what they share is lost",
        "INPLACE-30",
    ),
    "clamped_index": (
        "`index_select` and `gather` take an index that is too large for the last",
        "INDEX-12",
    ),
    "hang": ("the kernel of `cumsum` does not end", "ACCUM-40"),
    "abort": ("the kernel of `cumsum` ends the process", "ACCUM-40"),
}
_TABLE = re.compile(r"(?<=<!-- faults -->\n).*?(?=<!-- end of faults -->)", re.DOTALL)
_HEAD = """\
| `PRETEND_FAULT` | what the device does | first noticed by | level | rule about it |
|---|---|---|---|---|
"""
_NO_CHAPTERS = ("programs", "operators", "conventions", "laws", "sweep", "docstrings", "fuzz")
_SHOWING = ("diverges", "error")


def run_with(fault: str, folder: Path, *options: str) -> list[dict[str, Any]]:
    """The lines of a run on the device with this fault that show it, in the suite's order."""
    written = folder / f"{fault}.jsonl"
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", "torch:pretend"]
    command += ["--import", "pretend_device", "--oracle", "torch"]
    command += ["--known", str(DEVICE / "known.toml"), "--run-file", str(written), *options]
    path = os.pathsep.join((str(ROOT), str(DEVICE)))
    environment = {**os.environ, "PRETEND_FAULT": fault, "PYTHONPATH": path}
    subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    lines = read_run(written, torn=True).programs
    return [line for line in lines if line["outcome"] in _SHOWING and not line["known"]]


def row(fault: str, lines: list[dict[str, Any]]) -> str:
    """The row of a fault, with the first program of the chapters that shows it."""
    what, about = FAULTS[fault]
    if not lines:
        return f"| `{fault}` | {what} | none | | {about} |\n"
    first = lines[0]
    level = next(iter(first["divergences"]), "error")
    return f"| `{fault}` | {what} | {first['rule']} | {level} | {about} |\n"


def rows() -> dict[str, str]:
    """The rows of the page, by fault."""
    found = _TABLE.search(PAGE.read_text("utf-8"))
    lines = found[0].splitlines(keepends=True)[2:] if found else []
    return {line.split("`")[1]: line for line in lines}


def main(names: list[str]) -> None:
    table = rows()
    with tempfile.TemporaryDirectory() as folder:
        for fault in names or FAULTS:
            options = [word for area in _NO_CHAPTERS for word in ("--without", area)]
            table[fault] = row(fault, run_with(fault, Path(folder), "-x", *options))
            print(table[fault], end="")
    text = _HEAD + "".join(table[fault] for fault in FAULTS if fault in table)
    PAGE.write_text(_TABLE.sub(lambda _: text, PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
