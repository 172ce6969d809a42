"""Maxima, minima, order statistics, sorting and max pooling.

torch does not promise which of several equal elements `sort` (unless stable), `topk`, `kthvalue`,
`median(dim)` and `mode` return, so their samples have no tie that reaches an index.
"""

from __future__ import annotations

from typing import Any

from conformance.samples.operator import Case, Domain, Input, Operator, Shape, case, inf, nan

TIES = [[3.0, 3.0, 1.0], [1.0, 2.0, 2.0]]
EQUAL = [2.0, 2.0, 2.0]
NANS = [[1.0, nan, 3.0, nan], [2.0, 2.0, 1.0, 0.0]]
INFINITE = [inf, -inf, inf, -inf, 0.0]
ZEROS = [0.0, -0.0, -1.0, 1.0]
PLANE = Domain(-4.0, 4.0, 0.125)


def indexed(label: str, call: str, result: Shape, **inputs: Any) -> Case:
    """A case of a call that returns values, which are seeded, and indices."""
    return case(label, call, {"values": result}, outputs="values, indices", **inputs)


def extremum(name: str) -> Operator:
    """The entry of max or min: the whole tensor, a dimension, and two tensors."""
    f = f"torch.{name}"

    return Operator(
        name,
        (Input("x"),),
        f"{f}({{x}})",
        (),
        method=f"{{x}}.{name}()",
        along=f"{f}({{x}}, {{dim}}).values",
        cases=(
            case("ties", f"{f}({{x}})", (), x=TIES),
            case("equal", f"{f}({{x}})", (), x=EQUAL),
            case("nan", f"{f}({{x}})", (), x=NANS),
            case("infinite", f"{f}({{x}})", (), x=INFINITE),
            case("signed-zeros", f"{f}({{x}})", (), x=[0.0, -0.0]),
            case("zero-dim", f"{f}({{x}})", (), x=()),
            case("empty", f"{f}({{x}})", raises=True, x=(0,)),
            indexed("dim", f"{f}({{x}}, 1)", (2,)),
            indexed("dim-method", f"{{x}}.{name}(dim=0)", (3,)),
            indexed("keepdim", f"{f}({{x}}, 1, keepdim=True)", (2, 1)),
            indexed("dim-three-dims", f"{f}({{x}}, 1)", (2, 2), x=(2, 3, 2)),
            indexed("dim-ties", f"{f}({{x}}, 1)", (2,), x=TIES),
            indexed("dim-equal", f"{f}({{x}}, 0)", (), x=EQUAL),
            indexed("dim-nan", f"{f}({{x}}, 1)", (2,), x=NANS),
            indexed("dim-infinite", f"{f}({{x}}, 0)", (), x=INFINITE),
            indexed("dim-zero-dim", f"{f}({{x}}, 0)", (), x=()),
            indexed("dim-empty-other", f"{f}({{x}}, 1)", (0,), x=(0, 3)),
            indexed("dim-transposed", f"{f}({{x}}.t(), 1)", (3,)),
            case("dim-empty", f"{f}({{x}}, 0)", raises=True, x=(0, 3)),
            case("dim-out-of-range", f"{f}({{x}}, 2)", raises=True),
            case("named-result", f"{f}({{x}}, 1).values * 2", (2,)),
            case("values-overwritten-tuple", f"{f}({{x}}, 1)[0] + {f}({{x}}, 0)[0].sum()", (2,)),
            case("two-tensors", f"{f}({{x}}, {{b}})", (2, 3), b=(2, 3)),
            case("two-tensors-ties", f"{f}({{x}}, {{b}})", (2, 3), x=TIES, b=[3.0, 2.0, 2.0]),
            case("two-tensors-method", f"{{x}}.{name}({{b}})", (2, 3), b=(3,)),
            case("integers", f"{f}({{x}})", x=[3, 1, 3], dtypes={"x": "int64"}, dtype="int64"),
            case(
                "integers-dim",
                f"{f}({{x}}, 0)",
                x=[3, 1, 3],
                dtypes={"x": "int64"},
                dtype="int64",
                outputs="values, indices",
            ),
        ),
    )


def tie_sharing(name: str) -> Operator:
    """The entry of amax or amin."""
    f = f"torch.{name}"
    return Operator(
        name,
        (Input("x"),),
        f"{f}({{x}}, 1)",
        (2,),
        method=f"{{x}}.{name}(1)",
        along=f"{f}({{x}}, {{dim}})",
        cases=(
            case("whole", f"{f}({{x}})", ()),
            case("no-dims", f"{f}({{x}}, ())", (), x=TIES),
            case("keepdim", f"{f}({{x}}, 0, keepdim=True)", (1, 3)),
            case("dims", f"{f}({{x}}, (0, 2))", (3,), x=(2, 3, 2)),
            case("dims-keepdim", f"{f}({{x}}, (0, -1), keepdim=True)", (1, 3, 1), x=(2, 3, 2)),
            case("ties", f"{f}({{x}}, 1)", (2,), x=TIES),
            case("ties-dims", f"{f}({{x}}, (0, 1))", (), x=TIES),
            case("equal", f"{f}({{x}}, 0)", (), x=EQUAL),
            case("nan", f"{f}({{x}}, 1)", (2,), x=NANS),
            case("infinite", f"{f}({{x}}, 0)", (), x=INFINITE),
            case("signed-zeros", f"{f}({{x}}, 0)", (), x=[0.0, -0.0]),
            case("zero-dim", f"{f}({{x}}, 0)", (), x=()),
            case("empty-other-dim", f"{f}({{x}}, 1)", (0,), x=(0, 3)),
            case("empty-dim", f"{f}({{x}}, 0)", raises=True, x=(0, 3)),
            case("dim-out-of-range", f"{f}({{x}}, 2)", raises=True),
        ),
    )


def both(label: str, call: str, shape=(), **inputs) -> Case:
    """A case of aminmax, both of whose outputs are seeded."""
    return case(label, call, {"low": shape, "high": shape}, outputs="low, high", **inputs)


def pair_of(name: str, *arguments: str, rows: tuple[Case, ...] = (), **facts) -> Operator:
    """The entry of an operator that returns values and indices along a dimension."""
    extra = "".join(f", {a}" for a in arguments)
    result = facts.pop("result", (2,))
    return Operator(
        name,
        (Input("x"),),
        f"torch.{name}({{x}}{extra}, dim=1)",
        {"values": result},
        method=f"{{x}}.{name}({', '.join([*arguments, 'dim=1'])})",
        outputs=("values", "indices"),
        cases=rows,
        **facts,
    )


def median(name: str) -> Operator:
    """The entry of median or nanmedian."""
    f = f"torch.{name}"
    return Operator(
        name,
        (Input("x", shape=(2, 3)),),
        f"{f}({{x}})",
        (),
        method=f"{{x}}.{name}()",
        cases=(
            case("odd", f"{f}({{x}})", (), x=(5,)),
            case("ties", f"{f}({{x}})", (), x=[1.0, 2.0, 2.0, 3.0]),
            case("equal", f"{f}({{x}})", (), x=EQUAL),
            case("nan", f"{f}({{x}})", (), x=[1.0, nan, 3.0, 2.0]),
            case("nans", f"{f}({{x}})", (), x=[1.0, nan, 3.0, nan, 3.0]),
            case("all-nan", f"{f}({{x}})", (), x=[nan, nan]),
            case("infinite", f"{f}({{x}})", (), x=[inf, -inf, 1.0]),
            case("zero-dim", f"{f}({{x}})", (), x=()),
            case("empty", f"{f}({{x}})", (), x=(0,)),
            indexed("dim", f"{f}({{x}}, 1)", (2,)),
            indexed("dim-even", f"{f}({{x}}, 0)", (), x=(4,)),
            indexed("keepdim", f"{{x}}.{name}(0, keepdim=True)", (1, 3)),
            indexed("dim-three-dims", f"{f}({{x}}, 1)", (2, 2), x=(2, 3, 2)),
            indexed("dim-nan", f"{f}({{x}}, 0)", (), x=[1.0, nan, 3.0]),
            indexed("dim-zero-dim", f"{f}({{x}}, 0)", (), x=()),
            indexed("dim-empty-other", f"{f}({{x}}, 1)", (0,), x=(0, 3)),
            case("dim-out-of-range", f"{f}({{x}}, 2)", raises=True),
        ),
    )


def cumulative(name: str) -> Operator:
    """The entry of cummax or cummin."""
    f = f"torch.{name}"
    return Operator(
        name,
        (Input("x"),),
        f"{f}({{x}}, 1)",
        {"values": (2, 3)},
        method=f"{{x}}.{name}(1)",
        outputs=("values", "indices"),
        along=f"{f}({{x}}, {{dim}}).values",
        drops=False,
        cases=(
            indexed("dim-0", f"{f}({{x}}, 0)", (2, 3)),
            indexed("three-dims", f"{f}({{x}}, -2)", (2, 3, 2), x=(2, 3, 2)),
            indexed("ties", f"{f}({{x}}, 1)", (2, 3), x=TIES),
            indexed("equal", f"{f}({{x}}, 0)", (3,), x=EQUAL),
            indexed("nan", f"{f}({{x}}, 1)", (2, 4), x=NANS),
            indexed("infinite", f"{f}({{x}}, 0)", (5,), x=INFINITE),
            indexed("zero-dim", f"{f}({{x}}, 0)", (), x=()),
            indexed("empty", f"{f}({{x}}, 0)", (0, 2), x=(0, 2)),
            case("dim-out-of-range", f"{f}({{x}}, 2)", raises=True),
        ),
    )


def position(name: str) -> Operator:
    """The entry of argmax or argmin: never differentiated, first of the ties."""
    f = f"torch.{name}"
    return Operator(
        name,
        (Input("x"),),
        f"{f}({{x}})",
        method=f"{{x}}.{name}()",
        unlinked=True,
        cases=(
            case("dim", f"{f}({{x}}, 1)"),
            case("keepdim", f"{f}({{x}}, 0, keepdim=True)"),
            case("ties", f"{f}({{x}}, 1)", x=TIES),
            case("equal", f"{f}({{x}})", x=EQUAL),
            case("nan", f"{f}({{x}}, 1)", x=NANS),
            case("zero-dim", f"{f}({{x}})", x=()),
            case("transposed-whole", f"{f}({{x}}.t())"),
            case("empty", f"{f}({{x}})", raises=True, x=(0,)),
        ),
    )


def pooling(dims: int) -> Operator:
    """The entry of max_pool1d, 2d or 3d, over inputs of three elements a side."""
    name = f"max_pool{dims}d"
    f = f"torch.nn.functional.{name}"
    three, two, one = (3,) * dims, (2,) * dims, (1,) * dims
    plane = (1, 1, *three)
    size = 3**dims
    ties = [2.0] * size
    nans = [1.0, nan, 3.0, nan] + [2.0] * (size - 3)
    rows = [
        case("unbatched", f"{f}({{x}}, 2)", (1, *one), x=(1, *three)),
        case("stride-1", f"{f}({{x}}, 2, 1)", (1, 1, *two)),
        case("padding", f"{f}({{x}}, 2, padding=1)", (1, 1, *two)),
        case("dilation", f"{f}({{x}}, 2, stride=1, dilation=2)", (1, 1, *one)),
        case("ceil-mode", f"{f}({{x}}, 2, ceil_mode=True)", (1, 1, *two)),
        case("channels", f"{f}({{x}}, 2)", (2, 2, *one), x=(2, 2, *two)),
        case(
            "indices",
            f"{f}({{x}}, 2, 1, return_indices=True)",
            {"y": (1, 1, *two)},
            outputs="y, indices",
        ),
        case(
            "ties",
            f"{f}({{x}}, 2, 1, return_indices=True)",
            {"y": (1, 1, *two)},
            outputs="y, indices",
            x=(plane, ties),
        ),
        case(
            "nan",
            f"{f}({{x}}, 2, 1, return_indices=True)",
            {"y": (1, 1, *two)},
            outputs="y, indices",
            x=(plane, nans[:size]),
        ),
        case(
            "minus-infinity",
            f"{f}({{x}}, 2, 2, padding=1, return_indices=True)",
            {"y": (1, 1, *two)},
            outputs="y, indices",
            x=(plane, [-inf] * size),
        ),
        case("padding-too-large", f"{f}({{x}}, 2, padding=2)", raises=True),
        case("wrong-dims", f"{f}({{x}}, 2)", raises=True, x=(2,)),
    ]
    if dims == 2:
        rows.append(case("rectangular", f"{f}({{x}}, (1, 2), (2, 1))", (1, 1, 2, 2)))
    return Operator(
        name, (Input("x", PLANE, shape=plane),), f"{f}({{x}}, 2)", (1, 1, *one), cases=tuple(rows)
    )


EXTREMA = (
    extremum("max"),
    extremum("min"),
    tie_sharing("amax"),
    tie_sharing("amin"),
    Operator(
        "aminmax",
        (Input("x"),),
        "torch.aminmax({x})",
        {"low": (), "high": ()},
        method="{x}.aminmax()",
        outputs=("low", "high"),
        cases=(
            both("dim", "torch.aminmax({x}, dim=1)", (2,)),
            both("keepdim", "torch.aminmax({x}, dim=0, keepdim=True)", (1, 3)),
            both("ties", "torch.aminmax({x})", x=TIES),
            both("ties-dim", "torch.aminmax({x}, dim=1)", (2,), x=TIES),
            both("equal", "torch.aminmax({x})", x=EQUAL),
            both("nan", "torch.aminmax({x}, dim=1)", (2,), x=NANS),
            both("zero-dim", "torch.aminmax({x})", x=()),
            case("one-output", "torch.aminmax({x}).max", (), x=TIES),
            case("empty", "torch.aminmax({x})", raises=True, x=(0,)),
        ),
    ),
    median("median"),
    median("nanmedian"),
    pair_of(
        "kthvalue",
        "2",
        rows=(
            indexed("first", "torch.kthvalue({x}, 1)", (2,)),
            indexed("keepdim", "{x}.kthvalue(1, 0, keepdim=True)", (1, 3)),
            indexed("zero-dim", "torch.kthvalue({x}, 1)", (), x=()),
            indexed("infinite", "torch.kthvalue({x}, 2)", (), x=[inf, 1.0, -inf]),
            indexed("nan-last", "torch.kthvalue({x}, 2)", (), x=[nan, 1.0, 3.0]),
            case("out-of-range", "torch.kthvalue({x}, 4)", raises=True),
        ),
    ),
    Operator(
        "mode",
        (Input("x", shape=(2, 3), values=(2.0, 1.0, -1.0, 0.5, 3.0, -2.0)),),
        "torch.mode({x})",
        {"values": (2,)},
        method="{x}.mode()",
        outputs=("values", "indices"),
        cases=(
            indexed("dim-0", "torch.mode({x}, 0)", (3,)),
            indexed("keepdim", "{x}.mode(1, keepdim=True)", (2, 1)),
            indexed("zero-dim", "torch.mode({x})", (), x=()),
        ),
    ),
    pair_of(
        "topk",
        "2",
        result=(2, 2),
        rows=(
            indexed("dim-0", "torch.topk({x}, 1, 0)", (1, 3)),
            indexed("smallest", "torch.topk({x}, 2, largest=False)", (2, 2)),
            indexed("all-elements", "{x}.topk(3)", (2, 3)),
            indexed("none", "{x}.topk(0)", (2, 0)),
            indexed("nan-first", "torch.topk({x}, 2)", (2,), x=[1.0, nan, 3.0]),
            indexed("infinite", "torch.topk({x}, 2)", (2,), x=[-inf, 1.0, inf]),
            indexed("zero-dim", "torch.topk({x}, 1)", (), x=()),
            indexed("empty", "torch.topk({x}, 0)", (0,), x=(0,)),
            case("out-of-range", "torch.topk({x}, 4)", raises=True),
        ),
    ),
    pair_of(
        "sort",
        result=(2, 3),
        along="torch.sort({x}, dim={dim}, stable=True).values",
        drops=False,
        rows=(
            indexed("dim-0", "torch.sort({x}, 0)", (2, 3)),
            indexed("descending", "torch.sort({x}, descending=True)", (2, 3)),
            indexed("stable-ties", "torch.sort({x}, stable=True)", (2, 3), x=TIES),
            indexed(
                "stable-descending-ties",
                "{x}.sort(stable=True, descending=True)",
                (2, 3),
                x=TIES,
            ),
            indexed("nan-last", "torch.sort({x})", (4,), x=[nan, 1.0, -inf, inf]),
            indexed(
                "signed-zeros",
                "torch.sort({x}, stable=True)",
                (3,),
                x=[0.0, -0.0, -1.0],
            ),
            indexed("zero-dim", "torch.sort({x})", (), x=()),
            indexed("empty", "torch.sort({x})", (0,), x=(0,)),
            case("values-only", "torch.sort({x}).values", (2, 3)),
        ),
    ),
    Operator(
        "argsort",
        (Input("x"),),
        "torch.argsort({x})",
        method="{x}.argsort()",
        unlinked=True,
        cases=(
            case("stable-ties", "torch.argsort({x}, stable=True)", x=TIES),
            case("descending", "torch.argsort({x}, 0, descending=True)"),
        ),
    ),
    Operator(
        "msort",
        (Input("x"),),
        "torch.msort({x})",
        (2, 3),
        method="{x}.msort()",
        cases=(case("three-dims", "torch.msort({x})", (3, 2, 2), x=(3, 2, 2)),),
    ),
    cumulative("cummax"),
    cumulative("cummin"),
    position("argmax"),
    position("argmin"),
    *(pooling(dims) for dims in (1, 2, 3)),
)
