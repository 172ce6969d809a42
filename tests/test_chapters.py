"""Chapters: rules and programs, and a clear error for each kind of mistake."""

import re
from pathlib import Path

import command
import pytest

from conformance.cli import main as conform
from conformance.program.classes import classes_of
from conformance.suite.chapters import ChapterError, read_chapter, read_spec
from conformance.suite.metadata import address


def main(arguments: list[str]) -> int:
    return conform(["check", "--without-history", *arguments])


GOOD = """\
# Seeding backward

What a seed is.

## SEED-01 `backward` needs a seed unless its root is a scalar

The first paragraph.

```python
x = torch.ones(2, requires_grad=True)
x.backward()                 # raises RuntimeError: grad can be implicitly created...
```

Between.

```text
not a program (
```

```python
x = torch.ones(1, requires_grad=True)
x.backward()
x.grad   # tensor([1.])
```

### A remark

## SEED-02 The seed has the shape of its root

```python
y = 1
```
"""


def chapter(tmp_path: Path, text: str, name: str = "03-seeds.md") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rules_and_programs(tmp_path):
    path = chapter(tmp_path, GOOD)
    read = read_chapter(path)
    assert (read.title, read.area, read.prose) == ("Seeding backward", "seeds", "What a seed is.")
    first, second = read.rules
    assert (first.id, first.line) == ("SEED-01", 5)
    assert first.sentence == "`backward` needs a seed unless its root is a scalar"
    assert [p.id for p in read.programs] == ["SEED-01.1", "SEED-01.2", "SEED-02.1"]
    assert "The first paragraph." in first.prose and "### A remark" in first.prose
    assert "not a program" in first.prose and "x.grad" not in first.prose
    program = first.programs[1]
    assert (program.rule, program.area, program.sentence) == ("SEED-01", "seeds", first.sentence)
    lines = GOOD.splitlines()
    for statement in program.statements:
        _, line = program.place(statement.line)
        assert lines[line - 1].startswith(statement.source)
    assert second.line == lines.index("## SEED-02 The seed has the shape of its root") + 1


HEAD = "# Title\n\n## SEED-01 A rule\n\n"
EXAMPLE = "```python\nx = 1\n```\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD + EXAMPLE + "\n## SEED-01 Again\n\n" + EXAMPLE, 9, "SEED-01 is used at line 3"),
        ("# Title\n\n## Some heading\n\n" + EXAMPLE, 3, "not 'ID sentence'"),
        ("# Title\n\n## SEED-01\n\n" + EXAMPLE, 3, "not 'ID sentence'"),
        ("# Title\n\n## seed-01 lower\n\n" + EXAMPLE, 3, "not 'ID sentence'"),
        (HEAD + "prose\n", 3, "SEED-01 has no example"),
        (HEAD + "```\nx = 1\n```\n", 3, "SEED-01 has no example"),
        (HEAD + "```python\nx = 1\ny = (\n```\n", 7, "SEED-01.1: does not parse"),
        (HEAD + "```python\nx = 1  # tensor(\n```\n", 6, "SEED-01.1: cannot be read as a value"),
        (HEAD + "```python\n\n```\n", 6, "SEED-01.1 is empty"),
        (HEAD + EXAMPLE + "\n## TIES-02 Other\n\n" + EXAMPLE, 9, "TIES-02 does not begin as"),
        (HEAD + "```python\nx = 1\n", 5, "fence ```python is not terminated"),
        (HEAD + "```python\nx = 1\n\n## SEED-02 B\n\n" + EXAMPLE, 5, "is not terminated"),
        ("# Title\n\n" + EXAMPLE + "\n## SEED-01 A\n\n" + EXAMPLE, 3, "belongs under a rule"),
        ("## SEED-01 A\n\n" + EXAMPLE, 1, "the title"),
        (HEAD + EXAMPLE + "\n# Another\n", 9, "one title"),
        ("# Title\n", 1, "no rule"),
    ],
)
def test_malformed_chapters_say_where_and_why(tmp_path, text, line, message):
    path = chapter(tmp_path, text)
    with pytest.raises(ChapterError) as caught:
        read_chapter(path)
    assert caught.value.line == line
    assert message in caught.value.message
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_fence_of_four_marks_may_hold_three(tmp_path):
    text = HEAD + "````text\n```python\nnot (\n```\n````\n" + EXAMPLE
    with pytest.raises(ChapterError, match="not terminated"):
        read_chapter(chapter(tmp_path, HEAD + "````text\n```\n" + EXAMPLE))
    assert len(read_chapter(chapter(tmp_path, text)).programs) == 1


def test_a_chapter_that_is_not_utf8(tmp_path):
    path = tmp_path / "01-leaves.md"
    path.write_bytes(b"# T\xff\n")
    with pytest.raises(ChapterError, match="not UTF-8"):
        read_chapter(path)


def test_ids_are_unique_over_chapters(tmp_path):
    chapter(tmp_path, GOOD, "01-a.md")
    chapter(tmp_path, GOOD, "02-b.md")
    with pytest.raises(ChapterError, match=r"SEED-01 is used at .*01-a\.md:5") as caught:
        read_spec(tmp_path)
    assert caught.value.file.endswith("02-b.md")
    chapter(tmp_path, HEAD.replace("SEED-01", "SEED-07") + EXAMPLE, "02-b.md")
    with pytest.raises(ChapterError, match="SEED- belongs to"):
        read_spec(tmp_path)
    with pytest.raises(ChapterError, match="no chapter"):
        read_spec(tmp_path / "nowhere")


def test_chapters_come_in_the_order_of_their_files(tmp_path):
    chapter(tmp_path, GOOD, "02-b.md")
    chapter(tmp_path, GOOD.replace("SEED", "TIES"), "01-a.md")
    assert [c.area for c in read_spec(tmp_path)] == ["a", "b"]


def test_the_projects_own_chapters_are_read():
    areas = [chapter.area for chapter in read_spec()]
    assert len(areas) == len(set(areas)) and "leaves" in areas


def test_checking_a_chapter(tmp_path, capsys):
    path = chapter(tmp_path, GOOD)
    assert main([str(path)]) == 0
    assert "2 rules, 3 examples, 2 normative comments, 0 problems" in capsys.readouterr().out
    wrong = chapter(tmp_path, GOOD.replace("tensor([1.])", "tensor([2.])"), "04-wrong.md")
    assert main([str(wrong), "--prose"]) == 1
    out = capsys.readouterr().out
    at = wrong.read_text().splitlines().index("x.grad   # tensor([2.])") + 1
    assert f"04-wrong.md:{at}: SEED-01.2" in out
    assert "expected: tensor([2.])" in out and "got:      tensor([1.])" in out
    broken = chapter(tmp_path, HEAD + "prose\n" + GOOD.partition("\n\n")[2], "05-broken.md")
    assert main([str(broken)]) == 1
    assert "has no example" in capsys.readouterr().out
    assert main([str(tmp_path / "none.md")]) == 2
    assert main([str(path), "--oracle", "no.such:thing"]) == 2
    assert "no.such cannot be imported" in capsys.readouterr().err


def test_the_check_is_a_command(tmp_path):
    path = chapter(tmp_path, GOOD)
    done = command.conform("check", "--without-history", path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


METADATA = """\
# A chapter

> class: complex

Its intro.

## AA-01 A rule

> contradicts: torch.Tensor.retain_grad, notes/autograd#saving-tensors; device: cpu;
> informative; may differ: memory, diagnostics

Its prose.

```python
x = torch.ones(1)
```

## AA-02 Another rule

```python
x = torch.ones(1)
```
"""


def test_metadata_of_rules(tmp_path: Path) -> None:
    (tmp_path / "01-a.md").write_text(METADATA)
    chapter = read_chapter(tmp_path / "01-a.md")
    first, second = chapter.rules
    assert (chapter.prose, first.prose) == ("Its intro.", "Its prose.")
    found = first.metadata
    assert (found.standing, found.device, found.normative) == ("contradicts", "cpu", False)
    assert [address(place) for place in found.places] == [
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html",
        "https://docs.pytorch.org/docs/stable/notes/autograd.html#saving-tensors",
    ]
    assert first.programs[0].may_differ == ("memory", "diagnostics")
    assert (second.metadata.standing, second.metadata.of_class) == ("observed", "complex")
    assert classes_of(second.programs[0]) == ("complex",)


@pytest.mark.parametrize(
    ("place", "page"),
    [
        ("torch.grad", "generated/torch.grad.html"),
        ("torch.inference_mode", "generated/torch.autograd.grad_mode.inference_mode.html"),
        ("torch.nn.Module.to", "generated/torch.nn.Module.html#torch.nn.Module.to"),
        ("torch.library.custom_op", "library.html#torch.library.custom_op"),
        ("torch.overrides#a.is_tensor_like", "torch.overrides.html#a.is_tensor_like"),
        ("notes/autograd", "notes/autograd.html"),
    ],
)
def test_addresses_of_places(place: str, page: str) -> None:
    assert address(place) == f"https://docs.pytorch.org/docs/stable/{page}"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("clas: core", "not metadata of a rule: 'clas: core'"),
        ("class: nothing", "class: 'nothing' is none of core, complex"),
        ("documented: somewhere", "not a public name"),
        ("may differ: colours", "may differ: 'colours' is none of values"),
    ],
)
def test_metadata_that_cannot_be_read(tmp_path: Path, field: str, message: str) -> None:
    (tmp_path / "01-a.md").write_text(METADATA.replace("class: complex", field))
    with pytest.raises(ChapterError, match=rf"01-a.md:3: {re.escape(message)}"):
        read_chapter(tmp_path / "01-a.md")
