"""A made history of three versions of torch over two made chapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.execution.history import History
from conformance.history.recording import record_version
from conformance.observe.trace import Step, Trace
from conformance.program.program import Program
from conformance.suite.chapters import Chapter, read_chapter

FIRST = """# Kept

## KEPT-01 A number stays as it was

It always was so.

```python
n = 1
```

## KEPT-02 A text is worded anew

```python
raise ValueError("old")
```
"""
SECOND = """# Moved

## MOVE-01 A number is another one

See KEPT-01. *Changed in 2.14:* it is *two*; before, it was `one`.

```python
n = 2
```

```python
m = 2
```

## MOVE-02 A name is new

*New in 2.14.*

```python
torch.name
```

## MOVE-03 A number went away and came back

*Changed in 2.14 and 2.15:* it was zero in 2.14 alone.

```python
k = 3
```
"""
VERSIONS = ("2.15", "2.14", "2.13")
HOSTILE = "<script>window.hacked = 1</script>\u202e"


def chapters(folder: Path) -> list[Chapter]:
    """The two chapters, written into a folder."""
    for name, text in (("01-kept.md", FIRST), ("02-moved.md", SECOND)):
        (folder / name).write_text(text)
    return [read_chapter(path) for path in sorted(folder.glob("*.md"))]


def shown(program: Program, version: str) -> Trace:
    """The trace of a program in a made version of torch."""
    error: dict[str, str] | None = None
    seen: dict[str, Any] = {}
    match program.id:
        case "KEPT-01.1":
            seen["n"] = 1
        case "KEPT-02.1":
            message = "old" if version == "2.13" else HOSTILE
            error = {"type": "ValueError", "message": message}
        case "MOVE-01.1":
            seen["n"] = 1 if version == "2.13" else 2
        case "MOVE-01.2":
            seen["m"] = 2
        case "MOVE-02.1" if version == "2.13":
            error = {"type": "AttributeError", "message": "no name", "lacks": "torch.name"}
        case "MOVE-03.1":
            seen["k"] = 0 if version == "2.14" else 3
    changed = {name: {"kind": "int", "value": value} for name, value in seen.items()}
    statement = program.statements[-1]
    return Trace([Step(statement.index, statement.line, changed, error=error)])


def history(folder: Path, of: list[Chapter]) -> History:
    """The history of the versions over these chapters' programs."""
    programs = [program for chapter in of for program in chapter.programs]
    for version in VERSIONS:
        record_version(
            folder / "cpu",
            version,
            f"{version}.1",
            programs,
            lambda program, version=version: shown(program, version),
        )
    return History(folder / "cpu")
