"""Notes and comments on versions in chapters, held against the history."""

import re

import pytest
from made_versions import of_version

from conformance.execution.history import History
from conformance.history import check
from conformance.history.notes import notes
from conformance.history.recording import record_version
from conformance.program.expectations import MalformedExpectation, read_former
from conformance.program.program import Program, ProgramError
from conformance.suite.chapters import read_chapter

CHAPTER = """# Made

## MADE-01 A number is a number

It is what it is.{note}

```python
x = torch.tensor(X)
x.sum()                  # tensor(2.)
{former}
```
"""


@pytest.mark.parametrize(
    ("note", "former", "problem"),
    [
        ("\n\n*Changed in 2.14:* it was 3 before.", "# before 2.14: tensor(3.)", None),
        ("\n\n*Fixed in 2.14:* it was 3 before.", "# before 2.14: tensor(3.)", None),
        ("", "", r"made\.md:3: MADE-01: no note says that it changed in 2\.14 \(MADE-01\.1 values"),
        ("\n\n*Changed in 2.15:* no.", "", r":7: MADE-01: the note says changed in 2\.15, where"),
        ("\n\n*New in 2.14.*", "", r":7: MADE-01: the note says new in 2\.14, where the program"),
        ("\n\n*Changed in spring:* no.", "", r":7: MADE-01: \*Changed in spring:\* names no ver"),
        (
            "\n\n*Changed in 2.14:* it was 3.",
            "# before 2.14: tensor(4.)",
            r"MADE-01\.1: torch 2\.13 does not do what the comment says",
        ),
    ],
)
def test_notes_and_comments_are_held_against_the_history(
    history_folder, tmp_path, note, former, problem
):
    path = tmp_path / "01-made.md"
    path.write_text(CHAPTER.format(note=note, former=former))
    found = [str(one) for one in check.problems(read_chapter(path), History(history_folder))]
    if problem is None:
        assert found == []
    else:
        assert any(re.search(problem, one) for one in found), found


def test_a_comment_that_is_not_true_of_the_newest_version_is_a_problem(history_folder, tmp_path):
    path = tmp_path / "01-made.md"
    path.write_text(
        CHAPTER.format(note="\n\n*Changed in 2.14:* x.", former="").replace("2.)", "1.)")
    )
    found = [str(one) for one in check.problems(read_chapter(path), History(history_folder))]
    assert len(found) == 2 and all("expected: tensor(1.)" in one for one in found)
    assert ["torch 2.15" in found[0], "torch 2.14" in found[1]] == [True, True]


@pytest.mark.parametrize(
    ("note", "former", "problem"),
    [
        ("", "", None),
        ("\n\n*Changed in 2.14:* the message.", "# before 2.14: raises ValueError: 3.0", None),
        ("\n\n*New in 2.14.*", "", r":7: MADE-01: the note says new in 2\.14, where the program"),
        ("", "# before 2.14: raises ValueError: 4.0", r"MADE-01\.1: torch 2\.13 does not do what"),
    ],
)
def test_a_change_of_a_text_needs_no_note(tmp_path, note, former, problem):
    made = Program("MADE-01.1", "made", "raise ValueError('X')\n", "", rule="MADE-01")
    for version in ("2.15", "2.14", "2.13"):
        record_version(tmp_path, version, version, [made], of_version(version))
    path = tmp_path / "01-made.md"
    lines = CHAPTER.format(note=note, former=former).replace("x = torch.tensor(X)\n", "")
    comment = "raise ValueError('X')    # raises ValueError: 2.0"
    path.write_text(lines.replace("x.sum()                  # tensor(2.)", comment))
    found = [str(one) for one in check.problems(read_chapter(path), History(tmp_path))]
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1 and re.search(problem, found[0]), found


def test_notes_name_several_versions_and_end_with_their_paragraph(tmp_path):
    path = tmp_path / "01-made.md"
    path.write_text(
        CHAPTER.format(
            note="\n\n*New in 2.1.* *Changed in 2.4, 2.6 and 2.9:* it\nwent up.\n\nMore.", former=""
        )
    )
    (rule,) = read_chapter(path).rules
    found = notes(rule, path.read_text().splitlines())
    assert [(note.kind, note.version, note.text) for note in found] == [
        ("New", "2.1", ""),
        ("Changed", "2.4", "it went up."),
        ("Changed", "2.6", "it went up."),
        ("Changed", "2.9", "it went up."),
    ]


def test_a_comment_on_older_versions_stands_below_its_statement():
    source = "x.sum()   # tensor(2.)\n# before 2.14: tensor(3.)\n# before 2.6: raises ValueError\n"
    (statement,) = Program("A", "made", "x = 1\n" + source, "").statements[1:]
    told = {
        v: [e.text for e in statement.expected(v)] for v in ("2.5", "2.6", "2.13", "2.14", None)
    }
    assert told == {
        "2.5": ["raises ValueError"],
        "2.6": ["tensor(3.)"],
        "2.13": ["tensor(3.)"],
        "2.14": ["tensor(2.)"],
        None: ["tensor(2.)"],
    }
    with pytest.raises(ProgramError, match="stands right below a statement"):
        Program("A", "made", "# before 2.14: tensor(3.)\nx = 1\n", "").statements  # noqa: B018
    with pytest.raises(MalformedExpectation, match="cannot be read"):
        read_former("before 2.14: something else")
    assert read_former("before noon: rest") is None
