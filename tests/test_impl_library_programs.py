"""Programs that define operators, on impl and on torch: lists that hold tensors and None, fake
kernels, and the writes and views of schemas."""

from __future__ import annotations

import pytest
from made_transforms import answers

PROGRAMS = {
    "the context of a fake kernel": """
        @torch.library.custom_op("given::sized", mutates_args=())
        def sized(x: torch.Tensor) -> torch.Tensor:
            return x * 2
        @sized.register_fake
        def _(x):
            torch.library.get_ctx()
            return torch.empty_like(x)
        sized(torch.ones(2, device="meta"))
    """,
    "writes and views": """
        lib = torch.library.Library("given_schemas", "DEF")
        schemas = (
            "a(Tensor(a) x) -> Tensor(a)", "b(Tensor(a!) x) -> Tensor(a!)", "c(Tensor x) -> Tensor",
            "d(Tensor(a!) x) -> ()", "e(Tensor(a) x) -> (Tensor(a), Tensor)",
            "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        )
        for schema in schemas:
            lib.define(schema)
            op = getattr(torch.ops.given_schemas, schema[0]).default
            show(schema, op.is_view, op._schema.is_mutable)
        for op in (torch.ops.aten.detach.default, torch.ops.aten.t.default):
            show(op.is_view, op._schema.is_mutable)
    """,
    "an alias in a list": """
        @torch.library.custom_op("given::first", mutates_args=(), schema="(Tensor?[] xs) -> Tensor")
        def first(xs):
            return xs[0]
        try:
            first([torch.ones(1), None])
        except RuntimeError as error:
            show(str(error)[:10])
    """,
}
LISTS = {
    "recorded": "show(total([None, leaf]))",
    "for each example": "show(func.vmap(lambda x: total([None, x]))(torch.ones(2, 1)))",
    "on the meta device": "total([None, torch.ones(1, device='meta')])",
    "with a formula": """
        torch.library.register_autograd("{space}::total", lambda ctx, g: [g], lib=lib)
        show(total([None, leaf]).requires_grad, total([leaf, leaf]).requires_grad)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_defined_operator_is_as_in_torch(name: str):
    mine, theirs = answers(PROGRAMS[name])
    assert mine == theirs


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", LISTS)
def test_tensors_are_found_in_a_list_beside_none(name: str):
    space = f"given_lists{[*LISTS].index(name)}"
    define = f"""
lib = torch.library.Library("{space}", "DEF")
lib.define("total(Tensor?[] xs) -> Tensor")
lib.impl("total", lambda xs: sum((x * 1 for x in xs if x is not None), torch.zeros(1)), "CPU")
total, leaf = torch.ops.{space}.total, torch.ones(1, requires_grad=True)
"""
    program = LISTS[name].replace("{space}", space).strip()
    mine, theirs = answers(define + "\n".join(map(str.strip, program.splitlines())))
    assert mine == theirs
