"""A run as JUnit XML, which CI systems read: one test case per program, one suite per area.

The form is the one that the test reporters of Jenkins, GitLab and GitHub share:
`testsuites > testsuite > testcase`, and in a case at most one of `failure`, `error`, `skipped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from conformance.base.outputs import replacing
from conformance.base.torch_versions import ranges
from conformance.output.display import cut
from conformance.output.failure import failure, headline
from conformance.run_files.causes import causes
from conformance.run_files.run import Run
from conformance.run_files.totals import is_known
from conformance.settings.settings import Settings

_ENDING = "the run itself"
_KINDS = ("failure", "error", "skipped")


def write(run: Run, path: Path, settings: Settings) -> None:
    """Write the run to a file; raises OSError. ``settings`` say how a program is shown again."""
    root = Element("testsuites", name="autograd conformance")
    found = causes(run.programs, run.levels)
    keys = {line["id"]: cause.key for cause in found for line in cause.lines}
    for area in dict.fromkeys(line["area"] for line in run.programs):
        suite = _suite(root, area, run)
        for line in run.programs:
            if line["area"] == area:
                _case(suite, line, run, settings, keys)
    _ending(_suite(root, _ENDING, run), run)
    for suite in root:
        _count(suite, [suite])
    _count(root, root)
    indent(root)
    with replacing(path) as file:
        ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def legal(text: str) -> str:
    """The text with characters that XML 1.0 excludes (controls, surrogates) escaped."""
    return "".join(
        char if _is_legal(ord(char)) else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _is_legal(code: int) -> bool:
    # https://www.w3.org/TR/xml/#charsets, less the C1 controls that it discourages.
    return code in (0x9, 0xA) or 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or _is_high(code)


def _is_high(code: int) -> bool:
    return 0xE000 <= code <= 0xFFFD or code >= 0x10000


def _suite(root: Element, name: str, run: Run) -> Element:
    started = run.header["started"]
    return SubElement(root, "testsuite", name=legal(name), timestamp=legal(started))


def _case(
    suite: Element,
    line: Mapping[str, Any],
    run: Run,
    settings: Settings,
    keys: Mapping[str, str],
) -> None:
    """Add the case of a program; ``keys`` are the causes of those that diverge, by their IDs."""
    seconds = sum(filter(None, line["seconds"].values()))
    case = SubElement(
        suite,
        "testcase",
        classname=legal(f"conformance.{line['area']}"),
        name=legal(line["id"]),
        time=f"{seconds:.6f}",
    )
    if line["file"]:
        case.set("file", legal(line["file"]))
        case.set("line", str(line["line"]))
    known = line["known"] or {}
    said = cut(headline(line, run.levels), 400)
    match line["outcome"]:
        case "diverges" if is_known(line):
            _mark(case, "skipped", f"known divergence: {known['reason']}", "known")
        case "unsupported" | "not_run" as outcome:
            _mark(case, "skipped", line["reason"] or outcome, outcome)
        case "error":
            _mark(case, "error", said, "error", failure(line, settings))
        case "diverges":
            _mark(case, "failure", said, legal(keys[line["id"]]), failure(line, settings))
        case "other_version":
            shown = f"the backend shows torch {ranges(line['versions'])}"
            SubElement(case, "system-out").text = legal(f"{shown}: {said}")
        case "conforms" if known.get("stale"):
            message = f"it conforms; remove it from the known divergences ({known['reason']})"
            _mark(case, "failure", message, "known", failure(line, settings))


def _ending(suite: Element, run: Run) -> None:
    """Cases about the run itself: whether it is complete, and which entries are stale."""
    reached = SubElement(
        suite, "testcase", classname="conformance", name="every program was reached", time="0"
    )
    if run.footer is None:
        message = f"interrupted: {len(run.programs)} of {run.header['programs']} programs judged"
        _mark(reached, "error", message, "interrupted")
        return
    entries = SubElement(
        suite, "testcase", classname="conformance", name="known divergences diverge", time="0"
    )
    if stale := run.footer.get("stale"):
        _mark(entries, "failure", stale[0], "known", "\n".join(stale))


def _mark(case: Element, kind: str, message: str, type_: str, text: str = "") -> None:
    marked = SubElement(case, kind, message=legal(cut(message, 600)), type=type_)
    marked.text = legal(text) or None


def _count(element: Element, suites: Iterable[Element]) -> None:
    """Set the totals that readers show; a plural of `skipped` is not in the format."""
    cases = [case for suite in suites for case in suite]
    element.set("tests", str(len(cases)))
    for kind in _KINDS:
        found = sum(case.find(kind) is not None for case in cases)
        element.set(kind if kind == "skipped" else f"{kind}s", str(found))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.6f}")
