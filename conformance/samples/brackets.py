"""Brackets: `x[...]` and `x[...] = value`, with every kind of index."""

from __future__ import annotations

from conformance.samples.operator import Case, Input, Operator, case

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

# The shape that each write selects, for a value of exactly that shape.
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


BRACKETS = (
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
)
