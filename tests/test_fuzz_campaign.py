"""Campaigns of random programs: shards as folders, put together without running anything."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from command import conform

from conformance.fuzz.campaign import Asked, Campaign, Finding, merged, read
from conformance.fuzz.causes import Cause
from conformance.fuzz.origins import Origin, located, nodes, origins, spread
from conformance.fuzz.share import Found, Share
from conformance.observe.trace import Step, Trace
from conformance.run.plan import WrongInput
from conformance.suite.shard import Shard

VALUES = ("values", "other values")
FUZZ = (
    *("fuzz", "--backend", "miniature.kinks:relu", "--oracle", "impl", "--level", "values"),
    *("--theme", "pointwise", "--examples", "401", "--no-keep"),
)


def gradient(*names: str) -> Cause:
    return Cause(f"gradient of {', '.join(names)}", *VALUES, names)


def finding(cause: Cause, *statements: str, number=0, count=1) -> Finding:
    line = {"id": "fuzz/1", "sentence": f"a random program: {cause}", "outcome": "diverges"}
    return Finding(
        Share("views", number, 5, 10),
        Found(cause, list(statements), 0, count),
        {**line, "known": None},
    )


def part(number: int, of: int = 2, *findings: Finding, reached=(), seed=0, **more) -> Campaign:
    sides = ({"name": name, "version": "1", "device": "cpu"} for name in ("impl", "torch"))
    asked = Asked("0.1", *sides, seed, "float32", ("values",), ("views",), 10, None)
    made = Campaign(
        asked, [Shard(number, of)], True, 5, {"conforms": 5}, {}, {"views": 0.5}, 9, [], [], []
    )
    return dataclasses.replace(made, reached=list(reached), findings=list(findings), **more)


def written(tmp_path, *parts: Campaign) -> list[str]:
    names = []
    for number, one in enumerate(parts):
        names.append(f"part{number}")
        one.write(tmp_path / names[-1])
    return names


def test_totals_are_added_and_corpora_synchronised(tmp_path):
    first = (["x = 1"], {"a.py": [1, 2]})
    again, new = (["y = 1"], {"a.py": [2]}), (["z = 1"], {"a.py": [2, 3]})
    written(tmp_path, part(2, reached=[again, new]), part(1, reached=[first]))
    both = merged({tmp_path / name: read(tmp_path / name) for name in ("part0", "part1")})
    assert both.reached == [first, new]
    assert (both.drawn, both.outcomes, both.seconds) == (10, {"conforms": 10}, {"views": 1.0})
    assert both.shards == [Shard(1, 2), Shard(2, 2)]
    assert both.complete
    both.write(tmp_path / "all")
    assert read(tmp_path / "all") == both
    assert len(list((tmp_path / "all" / "corpus").glob("*.py"))) == 2


def test_findings_of_shards_collapse_by_origin():
    small = finding(gradient("Sum"), "x.sum().backward()", number=3, count=2)
    large = finding(gradient("Mul", "Sum"), "y = x * 1", "y.sum().backward()")
    other = finding(gradient("Exp"), "x.exp().backward()")
    both = merged({"a": part(1, 2, large, other), "b": part(2, 2, small)})
    assert [(one.found.cause, one.found.count) for one in both.findings] == [
        (small.found.cause, 3),
        (other.found.cause, 1),
    ]
    assert both.findings[0].others == [large.found.cause]
    assert both.findings[0].line == small.line


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (gradient("A"), gradient("A", "B"), True),
        (gradient("A", "B"), gradient("A"), False),
        (gradient("A"), gradient("B"), False),
        (gradient("A"), dataclasses.replace(gradient("A", "B"), field="error"), True),
        (dataclasses.replace(gradient("A"), field="error"), gradient("A", "B"), False),
        (Cause("gradient of m", *VALUES), gradient("A"), False),
        (Cause("sum", *VALUES), Cause("sum", *VALUES), True),
        (Cause("sum", *VALUES), Cause("mean", *VALUES), False),
    ],
)
def test_a_cause_explains_those_whose_graphs_have_its_nodes(one, other, same):
    assert one.explains(other) is same


def test_a_finding_stands_where_the_first_of_its_origin_was_drawn():
    shares = [Share("views", number, 5, 15) for number in range(3)]
    causes = [gradient("A", "B"), gradient("C"), gradient("A")]
    drawn = [Origin(s, Found(c, ["x"], 0)) for s, c in zip(shares, causes, strict=True)]
    assert [one.found.cause for one in origins(drawn)] == [gradient("A"), gradient("C")]


def test_the_nodes_of_a_small_program_name_its_cause():
    graph = ["SumBackward1(#1)", "MulBackward0(#2, -)", "SumBackward0(#3)", "AccumulateGrad x"]
    trace = Trace([Step(0, 1, {"y": {"kind": "tensor", "graph": graph}})])
    assert nodes(trace) == ("Mul", "Sum")
    cause = located(Cause("gradient of -", *VALUES), trace)
    assert str(cause) == "gradient of Mul, Sum: values: other values"
    assert located(Cause("sum", *VALUES), trace) == Cause("sum", *VALUES)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("(x * 2).sum().backward()", ["root_0_0 = (x * 2).sum()", "root_0_0.backward()"]),
        (
            "d = torch.autograd.grad([x.exp(), y], [x])",
            ["output_0_0 = x.exp()", "d = torch.autograd.grad([x.exp(), y], [x])"],
        ),
        ("y.backward()", ["y.backward()"]),
        (
            "h = torch.func.vjp(lambda d: d.log(), d)",
            [
                "h = torch.func.vjp(lambda d: d.log(), d)",
                "applied_0_0 = (lambda d: d.log())(d.detach().requires_grad_())",
            ],
        ),
        ("def f():\n    return x.exp()", ["def f():\n    return x.exp()", "returned_0_0 = f()"]),
        (
            "with torch.no_grad():\n    def f():\n        return x\n    f()",
            [
                "with torch.no_grad():\n\n    def f():\n        return x\n    f()",
                "returned_0_0 = f()",
            ],
        ),
        ("x = (", ["x = ("]),
    ],
)
def test_roots_of_passes_are_named(statement, named):
    assert spread([statement]) == named


def causes(output: str) -> set[str]:
    return set(re.findall(r"fuzz: a random program: (.*)", output))


def test_shards_find_together_what_one_search_finds(tmp_path):
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--campaign", f"c{number}")
        done = conform(*FUZZ, *shard, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stdout + done.stderr
    both = conform("merge", "c2", "c1", "-o", "all", cwd=tmp_path)
    whole = conform(*FUZZ, "--campaign", "whole", cwd=tmp_path)
    assert both.returncode == whole.returncode == 1, both.stdout + both.stderr
    assert causes(both.stdout) == causes(whole.stdout) != set()
    one, two = (
        json.loads((tmp_path / name / "campaign.json").read_text()) for name in ("all", "whole")
    )
    for name in ("drawn", "outcomes", "complete", "lines", "asked"):
        assert one[name] == two[name], name
    paths = list((tmp_path / "all" / "findings").glob("*.json"))
    assert len(paths) == len(causes(both.stdout))
    alone = conform("merge", "c1", "-o", "half", cwd=tmp_path)
    assert alone.returncode == 3, alone.stdout
    assert "missing: shard 2/2" in alone.stderr


def test_shards_with_a_time_draw_different_programs(tmp_path):
    seen = []
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--time", "1s", "--campaign", f"c{number}")
        conform(*FUZZ, *shard, cwd=tmp_path)
        found = json.loads((tmp_path / f"c{number}" / "campaign.json").read_text())["findings"]
        seen.append({one["share"]["number"] % 2 for one in found})
    assert seen[0] <= {0}
    assert seen[1] <= {1}
    assert seen[0] | seen[1]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((part(1), part(2, seed=1)), "part1/campaign.json: it is of another campaign than part0"),
        ((part(1), part(2, seed=1)), '"seed" is 1, not 0'),
        ((part(1), part(1)), "part1 has shard 1/2, which part0 has as well"),
        ((part(1), part(2, of=3)), "part1 has shard 2/3, part0 shard 1/2"),
    ],
)
def test_campaigns_that_do_not_belong_together(tmp_path, parts, message):
    done = conform("merge", *written(tmp_path, *parts), "-o", "all", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "part1/campaign.json: cannot be read: No such file or directory"),
        ("{", "part1/campaign.json: not a campaign: "),
        ("[" * 100_000, "part1/campaign.json: not a campaign: "),
        ('{"type": "run"}', "part1/campaign.json: not a campaign: "),
        ('{"drawn": "many"}', "at `$.drawn`"),
    ],
)
def test_damaged_campaigns(tmp_path, text, message):
    written(tmp_path, part(1), part(2))
    path = tmp_path / "part1" / "campaign.json"
    path.unlink() if text is None else path.write_text(text)
    done = conform("merge", "part0", "part1", "-o", "all", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_campaign_that_cannot_be_written_is_wrong_input(tmp_path):
    (tmp_path / "file").write_text("")
    done = conform(*FUZZ, "--campaign", "file/c", cwd=tmp_path)
    assert done.returncode == 2
    assert "file/c: nothing can be written there" in done.stderr
    with pytest.raises(WrongInput, match="cannot be written"):
        part(1).write(tmp_path / "file")
