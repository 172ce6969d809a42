"""Each torch that is installed beside the project, held against the chapters and the history.

    python tools/installed_versions.py [FOLDER]

FOLDER holds environments called record-2.6 and the like, as tox makes them (default: .tox). In each
the comments of the chapters that are about its version are checked, and its traces of rules and
whole programs compared with the recorded ones. Exits with 1 if any of this differs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SELECTED = [
    f"--without={area}"
    for area in ("operators", "signatures", "sweep", "docstrings", "laws", "conventions")
]


def differs(python: Path, version: str) -> bool:
    """Whether the torch of an environment contradicts chapters or history."""
    print(f"torch {version}", flush=True)
    against = ["--backend", "torch", "--oracle", f"recorded:torch-{version}", "--exact"]
    commands = (["check", "--without-history"], ["run", *against, *SELECTED])
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = [
        subprocess.run(
            [python, "-m", "conformance.cli", *command], cwd=ROOT, env=environment, check=False
        ).returncode
        for command in commands
    ]
    return any(done)


def main(folder: Path) -> int:
    """Check every environment in the folder; returns the exit code."""
    found = {
        path.parents[1].name.removeprefix("record-"): path
        for path in sorted(folder.glob("record-*/bin/python"))
    }
    if not found:
        print(f"{folder}: no torch is installed here (tox run -e record-2.6 installs one)")
    wrong = [version for version, python in found.items() if differs(python, version)]
    if wrong:
        print(f"not as stated or recorded: torch {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / ".tox"))
