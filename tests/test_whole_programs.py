"""Whole programs, one per file, and a clear error with file and line for each kind of mistake."""

from pathlib import Path

import pytest

from conformance.run.plan import WrongInput, one_paragraph
from conformance.suite.suite import read_suite
from conformance.suite.whole_programs import (
    WholeProgramError,
    read_whole_program,
    read_whole_programs,
)

GOOD = '''"""What the program shows, in a sentence.

And more about it.
"""

import torch


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2


x = torch.ones(2, requires_grad=True)
for _ in range(2):
    Twice()(x).sum().backward()

x.grad  # tensor([4., 4.])
x.numpy()  # raises RuntimeError
'''


def written(folder: Path, text: str, name: str = "twice.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_a_program(tmp_path):
    path = written(tmp_path, GOOD)
    program = read_whole_program(path)
    assert (program.id, program.area) == ("program/twice", "programs")
    assert program.sentence == "What the program shows, in a sentence."
    assert program.rule is None and program.operator is None
    sources = [statement.source.split("\n")[0] for statement in program.statements]
    assert sources == [
        "import torch",
        "class Twice(torch.nn.Module):",
        "x = torch.ones(2, requires_grad=True)",
        "for _ in range(2):",
        "x.grad",
        "x.numpy()",
    ]


def test_lines_are_those_of_the_file(tmp_path):
    path = written(tmp_path, GOOD)
    program = read_whole_program(path)
    lines = GOOD.split("\n")
    for statement in program.statements:
        file, line = program.place(statement.line)
        assert file == path.as_posix()
        assert lines[line - 1].startswith(statement.source.split("\n")[0])


def test_what_is_pasted_runs_and_says_nothing_twice(tmp_path):
    program = read_whole_program(written(tmp_path, GOOD))
    assert program.paste().count("import torch\n") == 1
    assert "What the program shows" not in program.paste()


def test_without_an_import_there_is_one(tmp_path):
    program = read_whole_program(written(tmp_path, '"""Says."""\nx = torch.ones(1)\n'))
    assert program.paste() == "import torch\nx = torch.ones(1)\n"
    assert program.place(program.statements[0].line)[1] == 2


def test_files_come_by_name(tmp_path):
    for name in ("b.py", "a.py", "notes.txt"):
        written(tmp_path, '"""Says."""\nx = 1\n', name)
    assert [program.id for program in read_whole_programs(tmp_path)] == ["program/a", "program/b"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "begins with a docstring"),
        ("x = 1\n", 1, "begins with a docstring"),
        ('"""   \nMore."""\nx = 1\n', 1, "says what the program shows"),
        ('"""Says."""\n', 1, "no statement below the docstring"),
        ('"""Says."""\n\n# Only this.\n', 2, "no statement below the docstring"),
        ('"""Says."""; x = 1\n', 1, "on a line of its own"),
        ('"""Says."""\nx = 1\ny = (\n', 3, "does not parse"),
        ('"""Says."""\n\nx = 1\nreturn x\n', 4, "does not compile"),
    ],
)
def test_what_is_no_program_is_refused_with_its_line(tmp_path, text, line, message):
    path = written(tmp_path, text)
    with pytest.raises(WholeProgramError, match=message) as caught:
        read_whole_program(path)
    assert str(caught.value).startswith(f"{path.as_posix()}:{line}: ")


def test_a_malformed_comment_is_refused_with_its_line(tmp_path):
    path = written(tmp_path, '"""Says."""\n\nx = 1\nx  # raises RuntimeErr or: so\n')
    with pytest.raises(WholeProgramError) as caught:
        read_whole_program(path)
    assert caught.value.line == 4


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "bytes.py"
    path.write_bytes(b'"""\xff"""\n')
    with pytest.raises(WholeProgramError, match="not UTF-8"):
        read_whole_program(path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(WholeProgramError, match="no such folder"):
        read_whole_programs(tmp_path / "none")


def test_the_command_takes_it_for_wrong_input(tmp_path):
    with pytest.raises(WrongInput, match="begins with a docstring"), one_paragraph():
        read_whole_program(written(tmp_path, "x = 1\n"))


def test_the_suite_holds_the_projects_own():
    programs = [program for program in read_suite().programs if program.area == "programs"]
    assert [program.id for program in programs] == [program.id for program in read_whole_programs()]
    assert len(programs) >= 12
    for program in programs:
        assert 50 <= program.source.count("\n") <= 200, program.id
        assert program.file == f"reference/programs/{program.id.removeprefix('program/')}.py"
