"""The checker of prose: forbidden wording in comments and docstrings, and exempt text."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))
prose = importlib.import_module("prose")

PLANTED = {
    "who": "The caller, who holds the tensor, frees it.",
    "whom": "The hook to whom the gradient is passed.",
    "whoever": "Whoever writes to it increments its version.",
    "nobody": "Nobody else holds the array.",
    "somebody": "A view would be of somebody's memory.",
    "anybody": "Freed before anyone reads it.",
    "everybody": "Everyone reads the same storage.",
    "what …": "Returns what it was given.",
    "straight way": "Calls of operators by the straight path.",
    "the short way": "Operators take the short way.",
    "the long way": "Operators take the long way.",
    "the general way": "The node needs the general way.",
    "excused": "The divergence is excused.",
    "likeness": "The likeness of two results.",
    "of its own accord": "The browser asks of its own accord.",
    "goes without saying": "That goes without saying.",
}
FORMS = {
    "module docstring": '"""{}"""\n',
    "function docstring": 'def f():\n    """{}"""\n',
    "class docstring": 'class A:\n    x = 1\n    """{}"""\n',
    "docstring in a branch": 'if x:\n    pass\nelse:\n    y = 1\n    """{}"""\n',
    "comment": "# {}\nx = 1\n",
    "trailing comment": "x = 1  # {}\n",
}


def found(source: str) -> list[tuple[int, str, str]]:
    """The line, word and sentence of every finding in a source."""
    return [(one.line, one.word, one.sentence) for one in prose.findings("a.py", source)]


def words(source: str) -> list[str]:
    return [word for _, word, _ in found(source)]


def check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker as a command."""
    command = [sys.executable, str(ROOT / "tools" / "prose.py"), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_every_forbidden_word_has_a_planted_sentence():
    assert [word for word, _, _ in prose.FORBIDDEN] == list(PLANTED)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("word", PLANTED)
def test_a_planted_sentence_is_found(word, form):
    source = FORMS[form].format(f"It is a sum. {PLANTED[word]}")
    assert [(name, sentence) for _, name, sentence in found(source)] == [(word, PLANTED[word])]


@pytest.mark.parametrize(
    "clean",
    [
        "The saved tensors whose version changed, and what changed them.",
        "What is the gradient at a tie? Half of it.",
        "Whole words only: the whole, a straight line, a long way off, somewhat it.",
        "Text in backticks, `who`, ``nobody's`` and `what is saved`, is a quotation.",
        'So is text in quotes: "somebody said what it was".',
    ],
)
@pytest.mark.parametrize("form", ["function docstring", "comment"])
def test_a_clean_sentence_is_not_found(clean, form):
    assert found(FORMS[form].format(clean)) == []


@pytest.mark.parametrize(
    "sentence", ["What a header holds.", "Says what torch says.", "Saves what was written."]
)
def test_a_noun_phrase_with_what_is_found(sentence):
    assert words(f"# {sentence}\n") == ["what …"]


@pytest.mark.parametrize(
    "source",
    [
        'TEXT = "nobody knows what it is"\n',
        'TEXT = """\n# nobody\n"""\n',
        'def f():\n    return ("who", f"somebody {1}")\n',
        'raise ValueError("someone")\n',
        'x: "nobody" = 1\n',
        'f("""who""")\n',
    ],
)
def test_strings_that_are_no_docstrings_are_ignored(source):
    assert found(source) == []


def test_a_phrase_over_two_lines_is_found_at_its_first_line():
    comment = "x = 1\n# The value, and what\n# is saved with it.\n"
    assert found(comment) == [(2, "what …", "The value, and what is saved with it.")]
    docstring = '"""A sum.\n\nThe value, and\nwhat was saved.\n"""\n'
    assert found(docstring) == [(4, "what …", "The value, and what was saved.")]


def test_comments_apart_are_sentences_apart():
    assert found("x = 1  # the value, and what\ny = 2  # is saved\n") == []
    assert found("# the value, and what\n\n# is saved\n") == []
    assert found('"""The value, and what\n\nis saved.\n"""\n') == []


def test_the_command_names_file_line_word_and_sentence(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.py").write_text('"""A sum."""\n\n# Nobody reads it.\n', "utf-8")
    (tmp_path / "b.py").write_text("# The sum.\n", "utf-8")
    done = check(".", cwd=tmp_path)
    assert done.returncode == 1
    first, hint = done.stdout.splitlines()
    assert first == str(Path("inner", "a.py")) + ":3: nobody: Nobody reads it."
    assert hint.startswith("nobody: use the passive")
    done = check("b.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_whole_programs_are_not_checked(tmp_path):
    folder = tmp_path / "reference" / "programs"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("# Nobody reads it.\n", "utf-8")
    assert check("reference", cwd=tmp_path).returncode == 0


def test_a_missing_path_and_an_invalid_file_are_errors(tmp_path):
    (tmp_path / "a.py").write_text("def f(:\n", "utf-8")
    for path, text in (("nowhere", "no such file or folder"), ("a.py", "not valid Python")):
        done = check(path, cwd=tmp_path)
        assert done.returncode == 2
        assert text in done.stderr and "Traceback" not in done.stderr
