"""Notes: the changes between two recordings as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conformance.compare.verdict import Divergence, Verdict
from conformance.output.notes import ALIKE, notes
from conformance.program.program import Program
from conformance.run_files.differences import Differences

SOURCE = "x = torch.ones(2)\ny = x.abs()\ny.tolist()\n"
MISSING = {"type": "AttributeError", "message": "'Tensor' object has no attribute 'grad_dtype'"}


def recording(version: str) -> Any:
    return SimpleNamespace(oracle={"name": "torch", "version": version, "device": "cpu"})


def verdict(**levels: tuple[int, str | None, str, Any, Any]) -> Verdict:
    """A divergence at each level: its statement, name, field, and the two values.

    Line 1 of a pasted program imports torch.
    """
    divergences = {
        level: Divergence(step, step + 2, name, field, before, after)
        for level, (step, name, field, before, after) in levels.items()
    }
    return Verdict("diverges", dict.fromkeys(levels, "diverges"), divergences)


def told(changed: dict[str, Verdict], **fields: Any) -> str:
    suite: Any = {
        name: Program(name, "leaves", SOURCE, "", rule=name.partition(".")[0]) for name in changed
    }
    found = Differences(changed=changed, **fields)
    return "\n".join(notes(found, recording("1"), recording("2"), suite))


def test_a_difference_is_told_under_its_rule():
    text = told({"T-01.1": verdict(values=(1, "y", "values", [1.0], [2.0]))}, unchanged=3)
    assert "Of 4 programs in both, 3 do the same." in text
    assert "## T-01" in text
    assert "- T-01.1, values: after `y = x.abs()`, y.values was `[1.0]` and is `[2.0]`." in text


def test_what_one_side_lacks_is_told_once_for_all_programs():
    lacks = verdict(values=(1, None, "error", MISSING, None))
    text = told({"T-01.1": lacks, "T-02.1": lacks})
    assert "## Not there with torch 1 (cpu)" in text
    line = "'Tensor' object has no attribute 'grad_dtype'` (2 programs: T-01.1, T-02.1)"
    assert text.count("grad_dtype") == 1 and line in text
    assert "## T-01" not in text


def test_what_follows_from_an_error_is_not_told():
    text = told(
        {
            "T-01.1": verdict(
                values=(1, None, "error", {"type": "ValueError", "message": "no"}, None),
                graph=(1, "y", "kind", "missing", "tensor"),
                memory=(2, "y", "version", 0, 1),
                diagnostics=(0, None, "warnings", [], ["UserWarning"]),
            )
        }
    )
    assert "T-01.1, graph" not in text and "T-01.1, memory" not in text
    assert "T-01.1, values" in text and "T-01.1, diagnostics" in text


def test_what_many_programs_show_alike_is_told_once():
    alike = {f"T-{i:02}.1": verdict(memory=(1, "y", "version", 0, 1)) for i in range(ALIKE)}
    other = {"T-90.1": verdict(memory=(1, "x", "version", 5, 6))}
    text = told({**alike, **other})
    assert f"- memory, `version`: `0` before, `1` now ({ALIKE} programs: T-00.1, " in text
    assert text.count("T-01.1") == 1 and "## T-01" not in text
    assert "## T-90" in text


def test_numbers_are_never_alike():
    same = {f"T-{i:02}.1": verdict(values=(1, "y", "values", [1.0], [2.0])) for i in range(ALIKE)}
    assert "alike" not in told(same)


def test_a_text_with_backticks_stays_in_its_code_span():
    text = told({"T-01.1": verdict(values=(1, None, "error message", "`a` is", "`b` is"))})
    assert "was `` '`a` is' `` and" in text or "was ``'`a` is'`` and" in text
