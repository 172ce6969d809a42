"""Reading and writing by index: brackets (in `brackets`), gather and scatter, masks."""

from __future__ import annotations

from conformance.samples.brackets import BRACKETS
from conformance.samples.operator import Input, Operator, case


def indices(values, shape, name: str = "index") -> Input:
    """An input of whole numbers, given by value."""
    return Input(name, shape=shape, dtype="int64", values=tuple(values))


INDEXING = (
    *BRACKETS,
    Operator(
        "index_select",
        (Input("x"), indices((1, 0, 1), (3,))),
        "torch.index_select({x}, 0, {index})",
        (3, 3),
        method="{x}.index_select(0, {index})",
        cases=(
            case("dim", "torch.index_select({x}, 1, {index})", (2, 3)),
            case("empty", "torch.index_select({x}, 0, {index})", (0, 3), index=((0,), [])),
            case("zero-dim-index", "torch.index_select({x}, 0, {index})", (1, 3), index=1),
            case("out-of-range", "torch.index_select({x}, 0, {index})", raises=True, index=[2]),
            case("negative-index", "torch.index_select({x}, 0, {index})", raises=True, index=[-1]),
        ),
    ),
    Operator(
        "gather",
        (Input("x"), indices((1, 0, 1, 0, 0, 1), (2, 3))),
        "torch.gather({x}, 0, {index})",
        (2, 3),
        method="{x}.gather(0, {index})",
        cases=(
            case("dim", "torch.gather({x}, 1, {index})", (2, 2), index=[[2, 2], [0, 1]]),
            case("smaller-index", "torch.gather({x}, 1, {index})", (1, 1), index=[[2]]),
            case("zero-dim", "torch.gather({x}, 0, {index})", (), x=(), index=0),
            case("empty", "torch.gather({x}, 0, {index})", (0, 3), index=((0, 3), [])),
            case("out-of-range", "torch.gather({x}, 0, {index})", raises=True, index=[[2, 0, 0]]),
            case("wrong-dims", "torch.gather({x}, 0, {index})", raises=True, index=[0, 1]),
            case("float-index", "torch.gather({x}, 0, {x})", raises=True),
        ),
    ),
    Operator(
        "take",
        (Input("x"), indices((5, 0, -1), (3,))),
        "torch.take({x}, {index})",
        (3,),
        method="{x}.take({index})",
        cases=(
            case("two-dims", "torch.take({x}, {index})", (2, 2), index=[[0, 1], [1, 4]]),
            case("of-a-transposed", "{x}.t().take({index})", (2,), index=[1, 2]),
            case("out-of-range", "torch.take({x}, {index})", raises=True, index=[6]),
        ),
    ),
    Operator(
        "take_along_dim",
        (Input("x"), indices((1, 0, 1, 0, 0, 1), (2, 3))),
        "torch.take_along_dim({x}, {index}, 0)",
        (2, 3),
        method="{x}.take_along_dim({index}, 0)",
        cases=(
            case("flattened", "torch.take_along_dim({x}, {index})", (2,), index=[5, 0]),
            case("broadcast", "torch.take_along_dim({x}, {index}, 1)", (2, 1), index=[[2]]),
        ),
    ),
    Operator(
        "scatter",
        (Input("x"), indices((1, 0, 1), (1, 3)), Input("source", shape=(1, 3))),
        "torch.scatter({x}, 0, {index}, {source})",
        (2, 3),
        method="{x}.scatter(0, {index}, {source})",
        inplace="{x}.scatter_(0, {index}, {source})",
        cases=(
            case("number", "torch.scatter({x}, 0, {index}, 2.5)", (2, 3)),
            case(
                "dim",
                "torch.scatter({x}, 1, {index}, {source})",
                (2, 3),
                index=[[2, 0], [1, 2]],
                source=(2, 2),
            ),
            case(
                "larger-source",
                "torch.scatter({x}, 0, {index}, {source}.detach())",
                (2, 3),
                index=[[1, 0]],
                source=(2, 3),
            ),
            case("number-in-place", "({x} * 1).scatter_(1, {index}, -1.0)", (2, 3), index=[[2]]),
            case(
                "zero-dim",
                "torch.scatter({x}, 0, {index}, {source})",
                (),
                x=(),
                index=0,
                source=1.5,
            ),
            case(
                "empty",
                "torch.scatter({x}, 0, {index}, {source})",
                (2, 3),
                index=((0, 3), []),
                source=(0, 3),
            ),
            case("out-of-range", "torch.scatter({x}, 0, {index}, 1.0)", raises=True, index=[[2]]),
            case(
                "source-too-small",
                "torch.scatter({x}, 0, {index}, {source})",
                raises=True,
                source=(1, 2),
            ),
        ),
    ),
    Operator(
        "scatter_add",
        (Input("x"), indices((1, 0, 1, 1, 0, 0), (2, 3)), Input("source")),
        "torch.scatter_add({x}, 0, {index}, {source})",
        (2, 3),
        method="{x}.scatter_add(0, {index}, {source})",
        inplace="{x}.scatter_add_(0, {index}, {source})",
        cases=(
            case(
                "dim",
                "torch.scatter_add({x}, 1, {index}, {source})",
                (2, 3),
                index=[[2, 2], [1, 1]],
                source=(2, 2),
            ),
            case(
                "larger-source",
                "torch.scatter_add({x}, 0, {index}, {source}.detach())",
                (2, 3),
                index=[[1, 0]],
                source=(2, 3),
            ),
            case(
                "out-of-range",
                "torch.scatter_add({x}, 0, {index}, {source})",
                raises=True,
                index=[[2]],
            ),
        ),
    ),
    Operator(
        "index_add",
        (Input("x"), indices((1, 0, 1), (3,)), Input("source", shape=(3, 3))),
        "torch.index_add({x}, 0, {index}, {source})",
        (2, 3),
        method="{x}.index_add(0, {index}, {source})",
        inplace="{x}.index_add_(0, {index}, {source})",
        cases=(
            case("alpha", "torch.index_add({x}, 0, {index}, {source}, alpha=-0.5)", (2, 3)),
            case(
                "dim",
                "torch.index_add({x}, 1, {index}, {source})",
                (2, 3),
                index=[2, 2],
                source=(2, 2),
            ),
            case(
                "shapes-differ",
                "torch.index_add({x}, 0, {index}, {source})",
                raises=True,
                source=(2, 3),
            ),
        ),
    ),
    Operator(
        "index_copy",
        (Input("x"), indices((1, 0), (2,)), Input("source")),
        "torch.index_copy({x}, 0, {index}, {source})",
        (2, 3),
        method="{x}.index_copy(0, {index}, {source})",
        inplace="{x}.index_copy_(0, {index}, {source})",
        cases=(
            case(
                "dim",
                "torch.index_copy({x}, 1, {index}, {source})",
                (2, 3),
                index=[2],
                source=(2, 1),
            ),
        ),
    ),
    Operator(
        "index_fill",
        (Input("x"), indices((2, 0), (2,))),
        "torch.index_fill({x}, 1, {index}, 2.5)",
        (2, 3),
        method="{x}.index_fill(1, {index}, 2.5)",
        inplace="{x}.index_fill_(1, {index}, 2.5)",
        cases=(
            case("tensor-value", "{x}.index_fill(1, {index}, {value})", (2, 3), value=-1.5),
            case(
                "repeated", "{x}.index_fill(0, {index}, {value})", (2, 3), value=0.5, index=[1, 1]
            ),
        ),
    ),
    Operator(
        "index_put",
        (Input("x"), indices((1, 0), (2,)), Input("value")),
        "torch.index_put({x}, ({index},), {value})",
        (2, 3),
        method="{x}.index_put(({index},), {value})",
        inplace="{x}.index_put_(({index},), {value})",
        cases=(
            case(
                "accumulate",
                "{x}.index_put(({index},), {value}, accumulate=True)",
                (2, 3),
                index=[1, 1],
            ),
            case(
                "accumulate-in-place",
                "({x} * 1).index_put_(({index},), {value}, accumulate=True)",
                (2, 3),
                index=[0, 0],
            ),
            case("broadcast", "{x}.index_put(({index},), {value})", (2, 3), value=-1.5),
            case(
                "two-indices",
                "{x}.index_put(({index}, {column}), {value})",
                (2, 3),
                column=[2, 0],
                value=(2,),
                dtypes={"column": "int64"},
            ),
            case(
                "mask",
                "{x}.index_put(({mask},), {value})",
                (2, 3),
                mask=[False, True],
                value=(3,),
                dtypes={"mask": "bool"},
            ),
            case("out-of-range", "{x}.index_put(({index},), {value})", raises=True, index=[2, 0]),
        ),
    ),
    Operator(
        "masked_select",
        (
            Input("x"),
            Input(
                "mask", shape=(2, 3), dtype="bool", values=(True, False, False, True, True, False)
            ),
        ),
        "torch.masked_select({x}, {mask})",
        (3,),
        method="{x}.masked_select({mask})",
        cases=(
            case(
                "broadcast-mask", "torch.masked_select({x}, {mask})", (3,), mask=[[True], [False]]
            ),
            case("broadcast-tensor", "torch.masked_select({x}, {mask})", (3,), x=(3,)),
            case("nothing", "torch.masked_select({x}, {mask})", (0,), mask=[False, False, False]),
            case("zero-dim", "torch.masked_select({x}, {mask})", (1,), x=(), mask=True),
        ),
    ),
    Operator(
        "masked_scatter",
        (
            Input("x"),
            Input(
                "mask", shape=(2, 3), dtype="bool", values=(True, False, False, True, True, False)
            ),
            Input("source", shape=(4,)),
        ),
        "torch.masked_scatter({x}, {mask}, {source})",
        (2, 3),
        method="{x}.masked_scatter({mask}, {source})",
        inplace="{x}.masked_scatter_({mask}, {source})",
    ),
)
