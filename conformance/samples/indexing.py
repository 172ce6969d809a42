"""Reading and writing by index: brackets, gather and scatter, masks."""

from __future__ import annotations

from .operator import Case, Input, Operator, case

READS: dict[str, tuple[str, tuple[int, ...]]] = {
    "integer": ("[1]", (3,)),
    "negative-integer": ("[-1]", (3,)),
    "integers": ("[1, 2]", ()),
    "slice": ("[0:1]", (1, 3)),
    "slice-step": ("[:, ::2]", (2, 2)),
    "slice-empty": ("[:, 3:]", (2, 0)),
    "slice-negative": ("[:, -2:]", (2, 2)),
    "full-slice": ("[:]", (2, 3)),
    "ellipsis": ("[..., 0]", (2,)),
    "only-ellipsis": ("[...]", (2, 3)),
    "none": ("[None]", (1, 2, 3)),
    "none-between": ("[:, None, 1:]", (2, 1, 2)),
    "list": ("[[1, 0, 1]]", (3, 3)),
    "empty-list": ("[[]]", (0, 3)),
    "list-second": ("[:, [2, 0]]", (2, 2)),
    "two-lists": ("[[0, 1, 1], [2, 0, 0]]", (3,)),
    "tensor": ("[torch.tensor([1, -1, 0])]", (3, 3)),
    "tensor-two-dims": ("[torch.tensor([[1, 0], [0, 0]])]", (2, 2, 3)),
    "zero-dim-tensor": ("[torch.tensor(1)]", (3,)),
    "broadcast-tensors": ("[torch.tensor([[0], [1]]), torch.tensor([2, 0])]", (2, 2)),
    "bool-mask": ("[torch.tensor([[True, False, True], [False, True, False]])]", (3,)),
    "bool-mask-rows": ("[torch.tensor([False, True])]", (1, 3)),
    "bool-mask-nothing": ("[torch.tensor([False, False])]", (0, 3)),
    "bool-mask-columns": ("[:, torch.tensor([True, False, True])]", (2, 2)),
    "mask-of-itself": ("[{x} > 0]", (3,)),
    "true": ("[True]", (1, 2, 3)),
    "false": ("[False]", (0, 2, 3)),
    "tensor-and-integer": ("[torch.tensor([0, 1]), 1]", (2,)),
    "slice-and-list-and-none": ("[None, [1, 1], 1:]", (1, 2, 2)),
}

REFUSED_READS = {
    "integer-out-of-range": "[2]",
    "list-out-of-range": "[[0, 2]]",
    "too-many-indices": "[0, 0, 0]",
    "zero-step": "[::0]",
    "negative-step": "[::-1]",
    "float-index": "[1.0]",
    "mask-of-wrong-shape": "[torch.tensor([True, False, True])]",
}

SIGNED = (1.5, -2.0, 0.5, -1.0, 3.0, -0.25)

WRITES: dict[str, str] = {
    "integer": "[1]",
    "integers": "[1, 2]",
    "slice": "[:, 1:]",
    "slice-step": "[:, ::2]",
    "all": "[:]",
    "ellipsis": "[..., 0]",
    "only-ellipsis": "[...]",
    "none": "[None]",
    "list": "[[1]]",
    "two-lists": "[[0, 1], [2, 0]]",
    "tensor": "[torch.tensor([1, 0])]",
    "bool-mask": "[torch.tensor([[True, False, True], [False, True, False]])]",
    "mask-of-itself": "[h > 0]",
    "bool-mask-nothing": "[torch.tensor([False, False])]",
    "true": "[True]",
    "mixed": "[1, [0, 2]]",
}

# The shape of what each write selects, for a value of exactly that shape.
SELECTED = {
    "integer": (3,),
    "integers": (),
    "slice": (2, 2),
    "slice-step": (2, 2),
    "all": (2, 3),
    "ellipsis": (2,),
    "only-ellipsis": (2, 3),
    "none": (1, 2, 3),
    "list": (1, 3),
    "two-lists": (2,),
    "tensor": (2, 3),
    "bool-mask": (3,),
    "mask-of-itself": (3,),
    "bool-mask-nothing": (0, 3),
    "true": (1, 2, 3),
    "mixed": (2,),
}


def written(label: str, statement: str, *, raises: bool = False, **inputs) -> Case:
    """A case that writes into `h`, which is `x * 1`, and then differentiates it."""
    result = None if raises else {"h": (2, 3)}
    return case(label, f"h = {{x}} * 1\n{statement}", result, raises=raises, **inputs)


def writes() -> tuple[Case, ...]:
    """Every kind of index with a number, a tensor and a broadcast tensor on the right."""
    rows: list[Case] = []
    for label, index in WRITES.items():
        rows.append(written(f"{label}-number", f"h{index} = 2.5"))
        rows.append(written(f"{label}-tensor", f"h{index} = {{value}}", value=SELECTED[label]))
        rows.append(written(f"{label}-zero-dim", f"h{index} = {{value}}", value=-1.5))
    rows += [
        written("augmented-add", "h[1] += {value}", value=(3,)),
        written("augmented-multiply", "h[:, 1] *= {value}", value=(2,)),
        written("augmented-list", "h[[0, 1], [2, 0]] -= {value}", value=(2,)),
        written("from-itself", "h[0] = h[1]"),
        written("integer-value", "h[0] = 3"),
        written("extra-leading-dim", "h[0] = {value}", value=(1, 3)),
        written("other-dtype", "h[0] = {value}.double()", value=(3,)),
        written("chained", "h[0][1] = {value}", value=-1.5),
        written("shapes-differ", "h[0] = {value}", raises=True, value=(2,)),
        written("out-of-range", "h[2] = 0.0", raises=True),
        case("leaf", "{x}[0] = 1.0\ny = {x} * 2", raises=True),
        case(
            "leaf-under-no-grad", "with torch.no_grad():\n    {x}[0] = 1.0\ny = {x} * {x}", (2, 3)
        ),
    ]
    return tuple(rows)


def indices(values, shape, name: str = "index") -> Input:
    """An input of whole numbers, given by value."""
    return Input(name, shape=shape, dtype="int64", values=tuple(values))


INDEXING = (
    Operator(
        "getitem",
        (Input("x", values=SIGNED),),
        "{x}[1]",
        (3,),
        view=True,
        cases=(
            *(case(label, f"{{x}}{index}", shape) for label, (index, shape) in READS.items()),
            *(case(label, f"{{x}}{index}", raises=True) for label, index in REFUSED_READS.items()),
            case("zero-dim-none", "{x}[None]", (1,), x=()),
            case("zero-dim-ellipsis", "{x}[...]", (), x=()),
            case("zero-dim-integer", "{x}[0]", raises=True, x=()),
            case("three-dims-separated-lists", "{x}[[0, 1], :, [1, 0]]", (2, 3), x=(2, 3, 2)),
            case("three-dims-adjacent-lists", "{x}[:, [0, 2], [1, 0]]", (2, 2), x=(2, 3, 2)),
            case("iteration", "[row * 2 for row in {x}][1]", (3,)),
        ),
    ),
    Operator(
        "setitem",
        (Input("x", values=SIGNED), Input("value", shape=(3,))),
        "h = {x} * 1\nh[0] = {value}",
        {"h": (2, 3)},
        outputs=("h",),
        cases=writes(),
    ),
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
