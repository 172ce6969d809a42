"""Causes: divergences grouped by the difference that one mistake makes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from made_backends import changed

from conformance.backends import find
from conformance.base.levels import LEVELS
from conformance.compare.differences import difference, earliest, kind
from conformance.compare.unmet import contradicted, unmet
from conformance.execution.execute import trace
from conformance.output.causes import cause_lines, excerpt
from conformance.program.program import Program
from conformance.run_files.causes import MANY, causes
from conformance.run_files.shown import PLAIN, SHORT, words
from conformance.settings.settings import Settings

SOURCE = (
    "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\ny = x * 2\ny.sum().backward()\n"
)


def divergence(step: int, name: str | None, field: str, expected: Any, got: Any) -> dict[str, Any]:
    return {
        "step": step,
        "line": step + 2,
        "name": name,
        "field": field,
        "expected": expected,
        "got": got,
    }


def line(identifier: str, area: str, **fields: Any) -> dict[str, Any]:
    rule = identifier.rpartition(".")[0] or None
    return {
        "id": identifier,
        "area": area,
        "rule": rule,
        "operator": None,
        "sentence": f"The rule {rule}",
        "source": SOURCE,
        "outcome": "diverges" if fields.get("divergences") else "conforms",
        "known": None,
        "specification": [],
        "divergences": {},
        **fields,
    }


def lower(step: int = 1) -> dict[str, Any]:
    return {"memory": divergence(step, "y", "version", 1, 0)}


def doubled(step: int = 2) -> dict[str, Any]:
    return {"values": divergence(step, "x", "grad.values", [2.0, 2.0], [4.0, 4.0])}


def sample(operator: str, number: int, **fields: Any) -> dict[str, Any]:
    source = f"import torch\nx = torch.ones(2)\ny = torch.{operator}(x)\n"
    identifier = f"op/{operator}/plain/{number}"
    return line(identifier, "operators", rule=None, operator=operator, source=source, **fields)


def test_earliest_statement_comes_before_the_first_level():
    found = {**doubled(2), **lower(1)}
    assert earliest(found, LEVELS)[0] == "memory"
    assert earliest(found, ("values",))[0] == "values"
    assert earliest({}, LEVELS) is None


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        (1, 0, "lower"),
        (0, 1, "higher"),
        (True, False, "True became False"),
        (None, "tensor", "None became tensor"),
        ([1.0], [2.0], "other values"),
        (
            {"type": "RuntimeError", "message": "size 3 of 'x'"},
            None,
            "RuntimeError: size N of '...' became None",
        ),
        (
            ["MulBackward0(#1)", "AccumulateGrad x"],
            ["DivBackward0(#1)", "AccumulateGrad x"],
            "MulBackward0 became DivBackward0",
        ),
        (
            ["MulBackward0(#1)", "AccumulateGrad x"],
            ["MulBackward0(-)", "AccumulateGrad x"],
            "other edges",
        ),
    ],
)
def test_kind_leaves_out_the_values_of_a_program(expected, got, said):
    assert kind(expected, got) == said


def test_field_of_an_element_or_a_result_is_the_field_itself():
    for field in ("version", "result.version", "result[0].version", "[1]['a'].version"):
        assert difference("memory", divergence(0, None, field, 1, 0)).field == "version"


def test_divergences_of_one_kind_are_one_cause_and_the_largest_is_first():
    run = [line(f"SEED-0{n}.1", "seeds", divergences=lower()) for n in (1, 2, 3)]
    run += [
        line("ACCUM-02.1", "accumulation", divergences=doubled()),
        line("ACCUM-01.1", "accumulation"),
    ]
    first, second = causes(run)
    assert (len(first.lines), first.key) == (3, "memory: version: lower")
    assert (len(second.lines), second.key) == (1, "values: grad.values: other values")
    assert second.words == "a gradient has other values"
    assert first.areas == {"seeds": 3}


def test_rule_shown_is_one_of_which_most_examples_diverge():
    run = [line(f"LEAF-01.{n}", "leaves") for n in range(4)]
    run[3] = line("LEAF-01.3", "leaves", divergences=lower())
    run += [line(f"VERSION-02.{n}", "versions", divergences=lower()) for n in range(3)]
    (only,) = causes(run)
    assert only.shown["id"] == "VERSION-02.0"


def test_program_that_diverges_in_another_way_speaks_for_its_rule_too():
    run = [
        line("LEAF-01.1", "leaves", divergences=lower()),
        line("LEAF-01.2", "leaves", divergences=doubled()),
        line("VERSION-02.1", "versions", divergences=lower()),
    ]
    assert causes(run)[0].shown["id"] == "LEAF-01.1"
    run[1] = line("LEAF-01.2", "leaves")
    assert causes(run)[0].shown["id"] == "VERSION-02.1"


def test_program_that_contradicts_its_comments_is_shown_before_one_that_does_not():
    run = [line("LEAF-01.1", "leaves", divergences=lower(), contradicted=[])]
    run.append(line("VERSION-02.1", "versions", divergences=lower(), contradicted=[3]))
    (only,) = causes(run)
    assert only.shown["id"] == "VERSION-02.1"


def test_of_causes_of_as_many_programs_one_that_contradicts_a_comment_is_first():
    run = [line("LEAF-01.1", "leaves", divergences=lower(), contradicted=[])]
    run.append(line("ACCUM-02.1", "accumulation", divergences=doubled(), contradicted=[4]))
    assert [cause.shown["id"] for cause in causes(run)] == ["ACCUM-02.1", "LEAF-01.1"]


def test_programs_of_rules_whose_comments_hold_do_not_make_a_cause_larger():
    run = [line(f"LEAF-0{n}.1", "leaves", divergences=lower(), contradicted=[]) for n in (1, 2, 3)]
    run.append(line("ACCUM-02.1", "accumulation", divergences=doubled(), contradicted=[4]))
    run += [sample("amax", n, divergences=lower()) for n in (1, 2)]
    assert [cause.operator for cause in causes(run)] == ["amax", None, None]
    assert [cause.shown["id"] for cause in causes(run)][1:] == ["ACCUM-02.1", "LEAF-01.1"]


def test_of_causes_of_as_many_programs_one_with_a_short_program_is_first():
    long = SOURCE.replace("y = x * 2\n", "y = x * 2\n" + "y = y * 1\n" * SHORT)
    at = {"values": divergence(SHORT + 2, "x", "grad.values", [2.0, 2.0], [4.0, 4.0])}
    run = [line("LEAF-01.1", "leaves", source=long, divergences=at)]
    run.append(line("ACCUM-02.1", "accumulation", divergences=lower()))
    assert [cause.shown["id"] for cause in causes(run)] == ["ACCUM-02.1", "LEAF-01.1"]


def test_comments_that_a_trace_contradicts_are_those_that_the_oracle_meets():
    source = "x = torch.ones(2)\nx * 2  # tensor([2., 2.])\nx.sum()  # tensor(3.)\nx + 1\n"
    program = Program("T-01.1", "leaves", source, "", rule="T-01")
    expected = trace(program, find("impl"))
    assert contradicted(program, expected) == [4]
    assert contradicted(program, expected, unmet(program, expected)) == []
    tripled = trace(program, changed(ones=lambda size: torch.full((size,), 3.0)))
    assert contradicted(program, tripled, unmet(program, expected)) == [3]
    refusing = trace(program, changed(ones=None))
    assert contradicted(program, refusing, unmet(program, expected)) == [3]


def test_finding_is_shown_only_where_no_rule_of_another_chapter_tells_it():
    run = [line("FIND-01.1", "findings", divergences=lower())]
    assert causes(run)[0].shown["id"] == "FIND-01.1"
    run.append(line("SEED-01.1", "seeds", divergences=lower(2)))
    assert causes(run)[0].shown["id"] == "SEED-01.1"


def test_example_shown_is_a_short_one():
    long = "import torch\n" + "x = torch.ones(2)\n" * 9 + "y = x * 2\n"
    late = {"memory": {**lower(9)["memory"], "line": 11}}
    run = [
        line("SEED-01.1", "seeds", source=long, divergences=late),
        line("SEED-01.2", "seeds", divergences=lower(1)),
    ]
    (only,) = causes(run)
    assert only.shown["id"] == "SEED-01.2"
    assert excerpt(only) == list(enumerate(SOURCE.splitlines()[:3], 1))


def test_rule_shown_is_of_a_chapter_with_many_programs_of_the_cause():
    run = [line("LEAF-01.1", "leaves", divergences=lower())]
    run.append(line("SEED-01.1", "seeds", divergences=lower()))
    assert causes(run)[0].shown["id"] == "LEAF-01.1"
    run.append(line("SEED-02.1", "seeds", divergences=lower()))
    assert causes(run)[0].shown["id"] == "SEED-01.1"
    run.insert(0, line("LEAF-02.1", "leaves", divergences=lower()))
    run += [line(f"SEED-{n:02}.1", "seeds", divergences=lower()) for n in range(3, 20)]
    run += [sample(f"op{n}", 0, divergences=lower()) for n in range(40)]
    assert causes(run)[0].shown["id"] == "LEAF-02.1"
    run += [line(f"SEED-{n:02}.1", "seeds", divergences=lower()) for n in range(20, 40)]
    assert causes(run)[0].shown["id"] == "SEED-01.1"


def test_program_shown_has_little_in_it():
    mapped = "import torch\nfrom torch.func import vmap\nx = torch.ones(2, dtype=torch.half)\n"
    plain = "import torch\nx = torch.ones(2)\n"
    run = [
        line(
            "SEED-01.1", "seeds", source=mapped + "y = vmap(torch.exp)(x)\n", divergences=lower(2)
        ),
        line("SEED-02.1", "seeds", source=plain + "y = x.exp()\n", divergences=lower(1)),
    ]
    assert [len(words(one)) for one in run] == [7, 3]
    assert causes(run)[0].shown["id"] == "SEED-02.1"
    run[0]["source"] = plain + "z = x.mul(2)\ny = torch.exp(z)\n"
    assert len(words(run[0])) == 4
    assert causes(run)[0].shown["id"] == "SEED-01.1"


def test_long_program_is_not_shown_for_its_few_words():
    long = "import torch\ny = torch.ones(2)\n" + "y = -y\n" * SHORT
    short = "import torch\ny = torch.ones(2, dtype=torch.half, requires_grad=True)\n"
    run = [
        line("SEED-01.1", "seeds", source=long, divergences=lower(SHORT)),
        line("SEED-02.1", "seeds", source=short, divergences=lower(0)),
    ]
    assert len(words(run[0])) < len(words(run[1])) / PLAIN
    assert causes(run)[0].shown["id"] == "SEED-02.1"


def test_words_are_those_of_the_code():
    source = (
        "import torch\nx = torch.ones(2)  # 'quoted words'\ny = x.log() if x else 'no # text'\n"
    )
    assert words(line("SEED-01.1", "seeds", source=source)) == {"torch", "ones", "log"}


def test_samples_of_few_operators_are_apart_and_take_rules_that_name_them():
    run = [sample(name, n, divergences=doubled()) for name in ("cumsum", "amax") for n in range(3)]
    named = "import torch\nx = torch.ones(2)\ny = x.amax()\n"
    run.append(line("TIES-01.1", "ties", source=named, divergences=doubled()))
    run.append(line("LEAF-01.1", "leaves", divergences=doubled()))
    found = {cause.operator: [one["id"] for one in cause.lines] for cause in causes(run)}
    assert set(found) == {"cumsum", "amax", None}
    assert "TIES-01.1" in found["amax"]
    assert found[None] == ["LEAF-01.1"]


def test_samples_of_many_operators_are_one_cause():
    run = [sample(f"op{n}", 0, divergences=lower()) for n in range(10)]
    (only,) = causes(run)
    assert only.operator is None
    assert len(only.lines) == 10


def test_known_divergences_and_levels_that_do_not_count_are_left_out():
    known = {"reason": "as it is", "link": None}
    run = [
        line("SEED-01.1", "seeds", divergences=lower(), known=known),
        line("SEED-02.1", "seeds", divergences={**lower(1), **doubled(2)}),
    ]
    (only,) = causes(run, ("values",))
    assert only.difference.level == "values"


def test_comment_that_the_oracle_does_not_meet_is_a_cause_of_its_own():
    unmet = {"line": 2, "expected": "1", "got": "2"}
    run = [line("SEED-01.1", "seeds", outcome="diverges", specification=[unmet])]
    (only,) = causes(run)
    assert only.difference.level == "specification"
    assert only.place is None
    assert "SEED-01" in "\n".join(cause_lines([only], Settings()))


def test_attribute_that_a_statement_reads_is_the_field():
    source = "import torch\nx = torch.ones(2)\nx._version\n"
    at = {"values": divergence(1, None, "result.value", 1, 0)}
    at["values"]["line"] = 3
    (only,) = causes([line("SEED-01.1", "seeds", source=source, divergences=at)])
    assert only.difference.field == "version"


def test_gradient_that_grad_returns_is_the_same_cause_as_one_that_is_accumulated():
    source = "import torch\nx = torch.ones(2)\ny = x * 2\ntorch.autograd.grad(y.sum(), x)\n"
    at = divergence(2, None, "result[0].values", [2.0], [4.0])
    returned = line("API-01.1", "grad", source=source, divergences={"values": at})
    computed = line(
        "API-02.1",
        "grad",
        source=source.replace("autograd.grad", "add"),
        divergences={"values": at},
    )
    run = [line("SEED-01.1", "seeds", divergences=doubled()), returned, computed]
    first, second = causes(run)
    assert [one["id"] for one in first.lines] == ["SEED-01.1", "API-01.1"]
    assert second.key == "values: values: other values"


def test_convention_of_most_programs_is_said():
    shown = {"situation": "tie", "oracle": "shared", "backend": "the first"}
    run = [
        line(f"op/max/{n}", "conventions", divergences=doubled(), convention=shown)
        for n in range(2)
    ]
    (only,) = causes(run)
    assert only.follows == "the first"
    assert "it follows another convention: the first" in "\n".join(cause_lines([only], Settings()))


def test_lines_tell_the_program_the_place_and_the_next_command():
    run = [
        line(f"SEED-{n:02}.1", "seeds", divergences=lower(), source=SOURCE + "#" * n)
        for n in range(12)
    ]
    run += [sample("amax", 0, divergences=doubled())]
    text = "\n".join(cause_lines(causes(run), Settings(backend="port", oracle="torch")))
    assert text.startswith("2 causes of 13 divergences, those that contradict most comments first:")
    assert "12 x memory: a version counter is lower than expected (seeds 12)" in text
    assert "line 3, y.version: expected 1, got 0" in text
    assert "conform show SEED-00.1 --backend port --oracle torch" in text
    assert list(cause_lines([], Settings())) == []


def test_many_causes_are_cut_and_counted():
    run = []
    for n in range(14):
        at = {"values": divergence(1, "y", f"field{chr(97 + n)}", 1.0, 2.0)}
        run.append(line(f"SEED-{n:02}.1", "seeds", divergences=at))
    text = "\n".join(cause_lines(causes(run), Settings()))
    assert "... and 4 more causes of 4 divergences" in text


def test_text_of_a_backend_is_escaped():
    at = {
        "values": divergence(
            1, None, "error", None, {"type": "E\x1b[31m", "message": "\x1b]0;x\n::error::"}
        )
    }
    text = "\n".join(cause_lines(causes([line("SEED-01.1", "seeds", divergences=at)]), Settings()))
    assert "\x1b" not in text
    assert not any(one.startswith("::") for one in text.splitlines())


def test_every_divergence_is_in_exactly_one_cause():
    run = [sample(f"op{n % 3}", n, divergences=doubled()) for n in range(9)]
    run += [line(f"SEED-{n:02}.1", "seeds", divergences=lower()) for n in range(9)]
    counted = Counter(one["id"] for cause in causes(run) for one in cause.lines)
    assert counted == Counter(one["id"] for one in run)


def test_place_and_excerpt_are_those_of_the_levels_that_count():
    run = [line("SEED-01.1", "seeds", divergences={**lower(1), **doubled(2)})]
    (only,) = causes(run, ("values",))
    assert only.place is not None
    assert only.place[0] == "values"
    assert [number for number, _ in excerpt(only)] == [1, 2, 3, 4]
    (every,) = causes(run)
    assert every.place is not None
    assert every.place[0] == "memory"
    assert [number for number, _ in excerpt(every)] == [1, 2, 3]


def test_excerpt_has_the_whole_statement_that_diverges():
    source = (
        "import torch\nx = torch.ones(2)\nwith torch.no_grad():\n    x.add_(1)\n    x.mul_(2)\nx\n"
    )
    at = {"values": divergence(1, None, "error", None, {"type": "E", "message": ""})}
    (only,) = causes([line("SEED-01.1", "seeds", source=source, divergences=at)])
    assert excerpt(only) == list(enumerate(source.splitlines()[:5], 1))


def test_error_in_most_programs_after_the_first_is_shown_by_the_first():
    error = {"type": "NameError", "message": "name 'seen' is not defined"}
    raised = {"values": divergence(1, None, "error", None, error)}
    run = [line(f"LEAF-{n:02}.1", "leaves") for n in range(50)]
    run.append(line("HOOKS-74.1", "hooks", divergences=raised, contradicted=[3]))
    run += [
        line(f"MODES-{n:02}.1", "modes", divergences=raised, contradicted=[3, 4])
        for n in range(MANY)
    ]
    assert causes(run)[0].shown["id"] == "HOOKS-74.1"
    fewer = run + [line(f"TIES-{n:02}.1", "ties") for n in range(MANY + 5)]
    assert causes(fewer)[0].shown["id"] == "MODES-00.1"
    for one in run[50:]:
        one["divergences"] = lower()
    assert causes(run)[0].shown["id"] == "MODES-00.1"
