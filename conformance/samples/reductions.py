"""Sums, products, moments, norms and running totals."""

from __future__ import annotations

from conformance.samples.operator import Case, Domain, Input, Operator, case, inf, nan

ZERO_AND_NAN = [[1.0, nan, 3.0], [0.0, -0.0, inf]]
NONZERO = Domain(-2.0, 2.0, 0.25, without=(0.0,))


def along(name: str, *, several: bool = True, full: bool = True) -> tuple[Case, ...]:
    """The ways to say which dimensions a reduction runs over."""
    f = f"torch.{name}"
    rows: tuple[Case, ...] = (
        case("dim", f"{f}({{x}}, 1)", (2,)),
        case("dim-method", f"{{x}}.{name}(0)", (3,)),
        case("keepdim", f"{f}({{x}}, 1, keepdim=True)", (2, 1)),
        case("negative-dim", f"{{x}}.{name}(dim=-2)", (3,)),
        case("three-dims", f"{f}({{x}}, 1)", (2, 2), x=(2, 3, 2)),
        case("zero-dim-with-dim", f"{f}({{x}}, 0)", (), x=()),
        case("size-one", f"{f}({{x}}, 1)", (2,), x=(2, 1)),
        case("empty-other-dim", f"{f}({{x}}, 1)", (0,), x=(0, 3)),
        case("dim-out-of-range", f"{f}({{x}}, 2)", raises=True),
        case("specials", f"{f}({{x}}, 1)", (2,), x=ZERO_AND_NAN),
    )
    if full:
        rows += (
            case("zero-dim", f"{f}({{x}})", (), x=()),
            case("transposed-whole", f"{f}({{x}}.t())", ()),
        )
    if several:
        rows += (
            case("dims", f"{f}({{x}}, (0, 2))", (3,), x=(2, 3, 2)),
            case("dims-keepdim", f"{f}({{x}}, (0, -1), keepdim=True)", (1, 3, 1), x=(2, 3, 2)),
            case("dim-repeated", f"{f}({{x}}, (0, 0))", raises=True),
        )
    return rows


def reduction(name: str, *rows: Case, several: bool = True, **facts) -> Operator:
    """The entry of a reduction to a number; its other forms are `along` and `rows`."""
    return Operator(
        name,
        (facts.pop("x", Input("x")),),
        f"torch.{name}({{x}})",
        (),
        method=f"{{x}}.{name}()",
        along=f"torch.{name}({{x}}, {{dim}})",
        cases=(*along(name, several=several), *rows),
        **facts,
    )


def running(name: str, *rows: Case) -> Operator:
    """The entry of a cumulative sum or product."""
    return Operator(
        name,
        (Input("x", NONZERO),),
        f"torch.{name}({{x}}, 1)",
        (2, 3),
        method=f"{{x}}.{name}(1)",
        inplace=f"{{x}}.{name}_(1)",
        along=f"torch.{name}({{x}}, {{dim}})",
        drops=False,
        cases=(
            case("dim-0", f"torch.{name}({{x}}, 0)", (2, 3)),
            case("negative-dim", f"{{x}}.{name}(dim=-2)", (2, 3)),
            case("three-dims", f"torch.{name}({{x}}, 1)", (2, 2, 2), x=(2, 2, 2)),
            case("zero-dim", f"torch.{name}({{x}}, 0)", (), x=()),
            case("empty", f"torch.{name}({{x}}, 0)", (0, 2), x=(0, 2)),
            case("nan", f"torch.{name}({{x}}, 0)", (4,), x=[2.0, nan, 1.0, -1.0]),
            case("dim-out-of-range", f"torch.{name}({{x}}, 2)", raises=True),
            case(
                "dtype",
                f"torch.{name}({{x}}, 0, dtype=torch.float64)",
                (3,),
                x=(3,),
                dtypes={"x": "float32"},
                dtype="float64",
            ),
            case(
                "integers",
                f"torch.{name}({{x}}, 0)",
                x=[3, -2, 2],
                dtypes={"x": "int64"},
                dtype="int64",
            ),
            *rows,
        ),
    )


def moment(name: str) -> Operator:
    """The entry of the variance or the standard deviation."""
    f = f"torch.{name}"
    return reduction(
        name,
        case("correction-0", f"{f}({{x}}, 1, correction=0)", (2,)),
        case("correction-2", f"{f}({{x}}, 1, correction=2)", (2,)),
        case("whole-correction-0", f"{f}({{x}}, correction=0)", ()),
        case("biased", f"{f}({{x}}, 1, unbiased=False)", (2,)),
        case("biased-whole", f"{{x}}.{name}(False)", ()),
        case("constant", f"{f}({{x}})", (), x=[2.0, 2.0, 2.0]),
        case("constant-row", f"{f}({{x}}, 1)", (2,), x=[[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]]),
        case("one-element-correction-0", f"{f}({{x}}, correction=0)", (), x=[2.0]),
    )


REDUCTIONS = (
    reduction(
        "sum",
        case("empty", "torch.sum({x})", (), x=(0,)),
        case("empty-dim", "torch.sum({x}, 0)", (2,), x=(0, 2)),
        case("no-dims", "{x}.sum(())", ()),
        case(
            "dtype",
            "torch.sum({x}, 1, dtype=torch.float64)",
            (2,),
            dtypes={"x": "float32"},
            dtype="float64",
        ),
        case(
            "integers",
            "torch.sum({x}, 1)",
            x=[[1, 2], [3, -4]],
            dtypes={"x": "int64"},
            dtype="int64",
        ),
        case("bools", "{x}.sum()", x=[True, False, True], dtypes={"x": "bool"}, dtype="bool"),
        case("expanded-result", "{x}.sum().expand(2)", (2,)),
    ),
    reduction(
        "mean",
        case("empty", "torch.mean({x})", (), x=(0,)),
        case("empty-dim", "torch.mean({x}, 0)", (2,), x=(0, 2)),
        case(
            "dtype", "{x}.mean(dtype=torch.float64)", (), dtypes={"x": "float32"}, dtype="float64"
        ),
        case(
            "integers",
            "torch.mean({x})",
            raises=True,
            x=[1, 2],
            dtypes={"x": "int64"},
            dtype="int64",
        ),
    ),
    reduction(
        "prod",
        case("one-zero", "torch.prod({x})", (), x=[2.0, 0.0, -3.0]),
        case("two-zeros", "torch.prod({x})", (), x=[2.0, 0.0, 0.0, -3.0]),
        case("zero-dim-zero", "torch.prod({x})", (), x=0.0),
        case(
            "zeros-per-row",
            "torch.prod({x}, 1)",
            (3,),
            x=[[2.0, 0.0, -3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]],
        ),
        case("empty", "torch.prod({x})", (), x=(0,)),
        case("empty-dim", "torch.prod({x}, 0)", (2,), x=(0, 2)),
        case("nan", "torch.prod({x})", (), x=[2.0, nan, 3.0]),
        case("integers", "torch.prod({x})", x=[2, 3, -4], dtypes={"x": "int64"}, dtype="int64"),
        several=False,
        x=Input("x", NONZERO),
    ),
    moment("var"),
    moment("std"),
    Operator(
        "logsumexp",
        (Input("x"),),
        "torch.logsumexp({x}, 1)",
        (2,),
        method="{x}.logsumexp(1)",
        along="torch.logsumexp({x}, {dim})",
        cases=(
            case("keepdim", "torch.logsumexp({x}, 0, keepdim=True)", (1, 3)),
            case("dims", "torch.logsumexp({x}, (0, 1))", ()),
            case("zero-dim", "torch.logsumexp({x}, 0)", (), x=()),
            case("empty-other-dim", "torch.logsumexp({x}, 1)", (0,), x=(0, 2)),
            case("empty-dim", "torch.logsumexp({x}, 1)", (2,), x=(2, 0)),
            case("ties", "torch.logsumexp({x}, 0)", (), x=[2.0, 2.0, 1.0]),
            case("minus-infinity", "torch.logsumexp({x}, 0)", (), x=[-inf, 2.0, 1.0]),
            case("infinity", "torch.logsumexp({x}, 0)", (), x=[inf, 2.0, 1.0]),
            case("nan", "torch.logsumexp({x}, 1)", (2,), x=[[nan, 2.0], [1.0, 0.0]]),
            case("large", "torch.logsumexp({x}, 0)", (), x=[1000.0, 999.0, -1000.0]),
            case("dim-out-of-range", "torch.logsumexp({x}, 2)", raises=True),
        ),
    ),
    running("cumsum"),
    running(
        "cumprod",
        case("one-zero", "torch.cumprod({x}, 0)", (4,), x=[2.0, 0.0, -3.0, 0.5]),
        case("two-zeros", "torch.cumprod({x}, 0)", (5,), x=[2.0, 0.0, -3.0, 0.0, 4.0]),
        case("zero-first", "torch.cumprod({x}, 0)", (3,), x=[0.0, 2.0, -3.0]),
        case(
            "zeros-per-row", "torch.cumprod({x}, 1)", (2, 3), x=[[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]
        ),
    ),
)


def truth(name: str) -> Operator:
    """The entry of all() or any(): bool results, never differentiated."""
    return Operator(
        name,
        (Input("x"),),
        f"torch.{name}({{x}})",
        method=f"{{x}}.{name}()",
        unlinked=True,
        cases=(
            case("dim", f"torch.{name}({{x}}, 1)", x=[[1.0, 0.0], [2.0, 3.0], [0.0, -0.0]]),
            case("keepdim", f"{{x}}.{name}(0, keepdim=True)"),
            case("empty", f"torch.{name}({{x}})", x=(0,)),
            case("nan", f"torch.{name}({{x}})", x=[nan, 0.0]),
            case("bools", f"{{x}}.{name}()", x=[True, False], dtypes={"x": "bool"}, dtype="bool"),
        ),
    )


NORMS_OF = {"p0": "0", "p1": "1", "p2": "2", "p3": "3", "inf": "float('inf')"}
ZERO_ROW = [[0.0, 0.0], [3.0, -4.0]]


def norm(name: str, function: str, *, empty: tuple[Case, ...]) -> Operator:
    """The entry of a vector norm; `function` has a place for the tensor and one for the rest."""

    def call(rest: str, tensor: str = "{x}") -> str:
        return function.format(tensor, rest).replace("(, ", "(")

    rows = []
    for label, p in NORMS_OF.items():
        rows += [
            case(label, call(f", {p}"), ()),
            case(f"{label}-dim", call(f", {p}, dim=1"), (2,), x=ZERO_ROW),
            case(f"{label}-one-zero", call(f", {p}"), (), x=[0.0, 2.0, -1.0]),
            case(f"{label}-zeros", call(f", {p}"), (), x=[0.0, -0.0, 0.0]),
            case(f"{label}-ties", call(f", {p}"), (), x=[2.0, -2.0, 1.0]),
        ]
    return Operator(
        name,
        (Input("x"),),
        call(""),
        (),
        along=call(", 2, dim={dim}"),
        cases=(
            *rows,
            case("keepdim", call(", 2, dim=0, keepdim=True"), (1, 3)),
            case("dims", call(", 2, dim=(0, 2)"), (3,), x=(2, 3, 2)),
            case("zero-dim", call(", 2"), (), x=-3.0),
            case("zero-dim-zero", call(", 1"), (), x=0.0),
            case("nan", call(", 2"), (), x=[1.0, nan]),
            *empty,
        ),
    )


NORMS = (
    truth("all"),
    truth("any"),
    norm(
        "norm",
        "{}.norm({})",
        empty=(case("empty", "{x}.norm()", (), x=(0,)),),
    ),
    norm(
        "vector_norm",
        "torch.linalg.vector_norm({}{})",
        empty=(
            case("empty", "torch.linalg.vector_norm({x})", (), x=(0,)),
            case(
                "empty-infinity", "torch.linalg.vector_norm({x}, float('inf'))", raises=True, x=(0,)
            ),
            case("half", "torch.linalg.vector_norm({x}, 0.5)", (), x=[0.0, 2.0, -1.0]),
            case(
                "minus-infinity",
                "torch.linalg.vector_norm({x}, float('-inf'))",
                (),
                x=[2.0, -2.0, 3.0],
            ),
        ),
    ),
)
