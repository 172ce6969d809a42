"""Operator samples: the table's guarantees, checked on every program made from it."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product

import pytest

from conformance import backends
from conformance.execution.execute import trace
from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples import OPERATORS, programs
from conformance.samples.drawing import cotangent, shape_and_values
from conformance.samples.forward import forward_programs_of
from conformance.samples.operator import ANY, Domain, Input, Operator, case, unary
from conformance.samples.variants import programs_of

SAMPLES = list(programs())
OF_OPERATOR = {o.name: [p for p in SAMPLES if p.operator == o.name] for o in OPERATORS}
DIGEST = """
import hashlib
from conformance.samples import programs
text = "".join(p.id + p.paste() + p.sentence for p in programs())
print(hashlib.sha256(text.encode()).hexdigest())
"""
# In torch the choice among several equal elements is unspecified for these.
UNPROMISED_TIES = ("topk", "kthvalue", "mode", "sort", "argsort", "msort", "median", "nanmedian")


def test_identifiers_name_operator_variant_and_dtype() -> None:
    for program in SAMPLES:
        match = re.fullmatch(
            r"op/((?:torch\.)?[a-z0-9_]+)/((?:forward/)?[a-z0-9_-]+)/(b?float16|float32|float64|complex64|complex128|int64|bool)",
            program.id,
        )
        assert match, program.id
        assert (match[1], match[3]) == (program.operator, program.dtype)


def test_identifiers_are_unique() -> None:
    repeated = [name for name, n in Counter(p.id for p in SAMPLES).items() if n > 1]
    assert repeated == []


def test_operators_are_listed_once() -> None:
    assert len({operator.name for operator in OPERATORS}) == len(OPERATORS)


def test_samples_do_not_depend_on_their_place_in_the_table() -> None:
    backwards = [
        p
        for operator in reversed(OPERATORS)
        for p in (*forward_programs_of(operator), *programs_of(operator))
    ]
    assert {p.id: p for p in backwards} == {p.id: p for p in SAMPLES}


def test_another_process_with_another_hash_seed_makes_the_same_samples() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_every_sample_parses_and_says_what_it_probes() -> None:
    for program in SAMPLES:
        assert program.statements
        assert program.sentence.startswith(f"{program.operator}: ")
        assert "\n" not in program.sentence
        assert program.area == "operators"


def cotangents(program: Program) -> list[Given]:
    return [g for g in program.givens if g.name in ("v", "w", "u")]


def test_cotangents_are_never_all_alike() -> None:
    for program in SAMPLES:
        for given in cotangents(program):
            magnitudes = [abs(value) for value in given.values]
            assert all(m > 0 and math.isfinite(m) for m in magnitudes)
            if given.strides is None or 0 not in given.strides:
                assert len(set(magnitudes)) == len(magnitudes), program.id
            if len(given.values) > 2:
                signs = {math.copysign(1, complex(value).real) for value in given.values}
                assert signs == {1, -1}, program.id


def test_every_differentiated_sample_is_given_its_cotangent() -> None:
    for program in SAMPLES:
        if "backward(" in program.source:
            assert cotangents(program), program.id


def test_every_operator_with_an_output_that_requires_grad_is_differentiated() -> None:
    for operator in OPERATORS:
        differentiated = [p for p in OF_OPERATOR[operator.name] if "backward(" in p.source]
        assert bool(differentiated) is not operator.unlinked, operator.name


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_torch_runs_every_sample_and_raises_only_what_is_asked_for(operator: Operator) -> None:
    pytest.importorskip("torch")
    oracle = backends.find("torch")
    for program in OF_OPERATOR[operator.name]:
        steps = trace(program, oracle).steps
        if "second-derivative" in program.id:
            # A gradient may be constant, or without a derivative: torch raises in the last line.
            # An input may be unused in the gradient of another.
            steps = steps[:-1]
        errors = [
            step.error
            for step in steps
            if step.error and "not have been used in the graph" not in step.error["message"]
        ]
        if "refused" in program.sentence:
            assert len(errors) == 1, (program.paste(), errors)
        elif "overwritten" in program.id:
            assert len(errors) <= 1, (program.paste(), errors)
            assert all("modified" in error["message"] for error in errors), (
                program.paste(),
                errors,
            )
        else:
            assert errors == [], program.paste()


def outcomes(torch, operator: Operator, rows: list[tuple], dtype: str, repeat: int) -> list[float]:
    """Values and gradients at the last copy of each row, when each is there so often."""
    columns = zip(*(row for row in rows for _ in range(repeat)), strict=True)
    names = [entry.name for entry in operator.inputs]
    given = {
        name: torch.tensor(column, dtype=getattr(torch, dtype), requires_grad=True)
        for name, column in zip(names, columns, strict=True)
    }
    call = operator.call.format_map({name: f"given[{name!r}]" for name in names})
    y = eval(call, {"torch": torch, "given": given})
    tensors = [y.detach()]
    if not operator.unlinked:
        y.backward(torch.full_like(y, -0.75))
        tensors += [tensor.grad for tensor in given.values()]
    return [float(v) for tensor in tensors for v in tensor[repeat - 1 :: repeat]]


@pytest.mark.parametrize("operator", [o for o in OPERATORS if o.pointwise], ids=lambda o: o.name)
def test_what_is_asked_of_special_values_does_not_depend_on_vectorisation(operator) -> None:
    torch = pytest.importorskip("torch")
    rows = [row for columns in operator.points.values() for row in zip(*columns, strict=True)]
    rows += list(product(operator.specials, repeat=len(operator.inputs)))
    for dtype in ("float32", "float64"):
        for row in rows:
            alone = outcomes(torch, operator, [row], dtype, 1)
            for repeat in (3, 33):
                among = outcomes(torch, operator, [row], dtype, repeat)
                assert among == pytest.approx(alone, rel=1e-5, abs=1e-6, nan_ok=True), (dtype, row)


@pytest.mark.parametrize("name", UNPROMISED_TIES)
def test_no_tie_reaches_an_index_that_torch_does_not_promise(name: str) -> None:
    for program in OF_OPERATOR[name]:
        whole_median = name in ("median", "nanmedian") and "indices" not in program.source
        if "stable=True" in program.source or whole_median:
            continue
        for given in program.givens:
            if given.name != "x" or 0 in given.shape:
                continue
            rows = given.shape[-1] if given.strides and 0 in given.strides else len(given.values)
            values = [v for v in given.values[:rows] if v == v]
            assert len(set(values)) == len(values), program.id
            assert sum(v != v for v in given.values) <= 1, program.id


def test_each_subset_of_the_inputs_requires_grad() -> None:
    seen = set()
    for program in OF_OPERATOR["lerp"]:
        if program.id.split("/")[2].startswith(("plain", "requires-")):
            seen.add(frozenset(g.name for g in program.givens if g.requires_grad))
    names = ("a", "b", "weight")
    subsets = {frozenset(n for k, n in enumerate(names) if bits >> k & 1) for bits in range(8)}
    assert seen == subsets


def test_operators_with_an_inplace_spelling_write_to_a_tensor_that_is_no_leaf() -> None:
    for operator in OPERATORS:
        if operator.inplace:
            start = f"op/{operator.name}/in-place/"
            written = [p for p in OF_OPERATOR[operator.name] if p.id.startswith(start)]
            widths = {p.dtype for p in written}
            # And in one half-precision dtype, if the operator has one.
            assert widths == {"float32", "float64", *operator.halves[:1]}, operator.name
            assert all(p.source.startswith("h = ") for p in written)


def test_result_and_inputs_are_overwritten_through_detach() -> None:
    sources = {p.id: p.source for p in OF_OPERATOR["mul"]}
    assert sources["op/mul/result-overwritten/float32"].splitlines()[1] == "y.detach().zero_()"
    assert sources["op/mul/a-overwritten/float32"].splitlines()[1] == "a.detach().zero_()"
    assert sources["op/mul/b-overwritten/float32"].splitlines()[1] == "b.detach().zero_()"


def test_a_domain_draws_distinct_values_of_its_grid() -> None:
    for count in range(len(ANY.grid) + 1):
        values = ANY.draw(count, "seed")
        assert len(set(values)) == count
        assert set(values) <= set(ANY.grid)


def test_a_domain_draws_the_same_for_the_same_seed_only() -> None:
    assert ANY.draw(6, "one") == ANY.draw(6, "one")
    assert len({ANY.draw(6, f"seed {k}") for k in range(20)}) > 15


def test_a_domain_leaves_out_what_it_is_told_to() -> None:
    assert Domain(-1.0, 1.0, 0.5, without=(0.0,)).grid == (-1.0, -0.5, 0.5, 1.0)


def test_a_domain_refuses_to_repeat_itself() -> None:
    with pytest.raises(ValueError, match="4 distinct values"):
        Domain(0.0, 1.0, 0.5).draw(4, "seed")


def test_whole_numbers_of_a_domain_are_integers() -> None:
    grid = Domain(-1.5, 2.5).integers().grid
    assert grid == (-1, 0, 1, 2)
    assert all(isinstance(value, int) for value in grid)


@pytest.mark.parametrize(
    ("spec", "shape", "values"),
    [
        ((2, 3), (2, 3), None),
        ((), (), None),
        (2.5, (), (2.5,)),
        (True, (), (True,)),
        ([1.0, 2.0], (2,), (1.0, 2.0)),
        ([[1.0], [2.0]], (2, 1), (1.0, 2.0)),
        (((0, 3), []), (0, 3), ()),
        (((1, 2), [3.0, 4.0]), (1, 2), (3.0, 4.0)),
    ],
)
def test_a_case_gives_a_shape_or_values(spec, shape, values) -> None:
    assert shape_and_values(spec) == (shape, values)


def test_cotangent_values_read_well_and_differ() -> None:
    given = cotangent("v", (2, 2), "float32")
    assert given.source() == "v = torch.tensor([[0.5, -0.75], [1.0, 1.25]])"
    assert all(abs(a) < abs(b) for a, b in pairwise(given.values))


def test_an_entry_is_enough_for_the_usual_variants() -> None:
    entry = unary("exp", cases=(case("whole", "torch.exp({x}).sum()", ()),))
    labels = {p.id.split("/")[2] for p in programs_of(entry)}
    assert {
        "plain",
        "method",
        "zero-dim",
        "empty",
        "transposed",
        "stepped",
        "expanded",
        "specials",
        "in-place",
        "result-overwritten",
        "x-overwritten",
        "requires-none",
        "integers",
        "backward-twice",
        "second-derivative",
        "whole",
    } <= labels


def test_an_input_of_fixed_type_never_requires_grad() -> None:
    entry = Operator(
        "take",
        (Input("x", shape=(3,)), Input("index", shape=(2,), dtype="int64", values=(2, 0))),
        "torch.take({x}, {index})",
        (2,),
    )
    for program in programs_of(entry):
        given = {g.name: g for g in program.givens}
        assert not given["index"].requires_grad
        assert given["index"].dtype == "int64"
