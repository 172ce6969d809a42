"""The table of fields, and the texts and schemas that have to agree with it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from conformance.backends import find
from conformance.base.levels import LEVELS
from conformance.base.schemas import schema
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.observe import fields, observer
from conformance.observe.fields import (
    FIELDS,
    KINDS,
    Comparator,
    Field,
    compared_fields,
    documented_fields,
    fields_of,
    observation_schema,
)
from conformance.program.program import Program

ROOT = Path(__file__).parents[1]
PROGRAM = Program("T-01.1", "leaves", "x = torch.ones(2, requires_grad=True)\ny = x * 2", "So.")


def test_the_schema_of_run_files_has_the_fields():
    assert schema("run")["$defs"]["observation"] == observation_schema()
    assert schema("run")["$defs"]["level"]["enum"] == list(LEVELS)


def test_the_documentation_has_the_fields():
    text = (ROOT / "docs" / "porting.md").read_text("utf-8")
    assert "\n\n" + "\n".join(documented_fields()) + "\n\n" in text


def test_each_row_is_of_a_kind_and_a_level_and_named_once():
    names = [(field.of, field.name) for field in FIELDS]
    assert len(set(names)) == len(names)
    assert {field.of for field in FIELDS} <= {*KINDS, "grad"}
    assert {field.level for field in FIELDS} == {*LEVELS, None}
    assert all((f.level is None) == (f.comparator is Comparator.SHOWN) for f in FIELDS)


def test_a_trace_has_the_fields_in_the_order_of_the_table():
    seen = trace(PROGRAM, find("impl")).steps[0].changed["x"]
    rows = [row for row in fields_of("tensor") if row.comparator is not Comparator.OPTIONAL]
    names = [row.name for row in rows]
    assert list(seen) == ["kind", *names]


@pytest.mark.parametrize("level", LEVELS)
def test_the_order_of_comparison_at_each_level(level):
    """A run file names the first divergence of a level, so this order is part of its content."""
    order = [field.name for field in compared_fields("tensor") if field.level == level]
    assert (
        order
        == {
            "values": ["shape", "dtype", "sparse", "on_cpu", "values", "grad"],
            "graph": ["requires_grad", "is_leaf", "has_grad_fn", "retains_grad", "output_nr"],
            "memory": ["storage", "version", "offset", "is_view", "strides"],
            "diagnostics": ["grad_fn", "graph"],
        }[level]
    )


def test_a_new_field_is_one_row(monkeypatch):
    def number_of_elements(observer, tensor, name):
        return int(tensor.numel())

    row = Field(
        *("numel", "tensor", "memory", number_of_elements, Comparator.EXACT, (int,)),
        "how many elements it has",
    )
    rows = (*fields_of("tensor"), row)
    monkeypatch.setitem(fields._OF, "tensor", rows)
    monkeypatch.setitem(fields._COMPARED, "tensor", (*compared_fields("tensor"), row))
    readers = tuple((field.name, field.read) for field in rows)
    monkeypatch.setattr(observer, "_TENSOR_READERS", readers)
    expected, got = (trace(PROGRAM, find("impl")) for _ in range(2))
    assert expected.steps[0].changed["x"]["numel"] == 2
    got.steps[0].changed["x"]["numel"] = 3
    verdict = compare(expected, got, PROGRAM)
    assert json.loads(json.dumps(verdict.to_json()))["divergences"]["memory"]["field"] == "numel"
    assert dataclasses.asdict(verdict.divergences["memory"])["got"] == 3
