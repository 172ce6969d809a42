"""Rounding, comparisons, and choices between values: where, clamp, masked_fill."""

from __future__ import annotations

from conformance.samples.arithmetic import EQUALS
from conformance.samples.operator import (
    AWAY_FROM_INTEGERS,
    Input,
    Operator,
    binary,
    case,
    inf,
    nan,
    unary,
)

HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.0, -2.0)

ROUNDING = (
    unary("floor", AWAY_FROM_INTEGERS, kinks=HALVES, twice_differentiable=False),
    unary("ceil", AWAY_FROM_INTEGERS, kinks=HALVES, twice_differentiable=False),
    unary(
        "round",
        AWAY_FROM_INTEGERS,
        kinks=HALVES,
        twice_differentiable=False,
        cases=(
            case("decimals", "torch.round({x}, decimals=1)", (4,), x=[1.26, -0.34, 2.0, 0.75]),
            case("decimals-negative", "{x}.round(decimals=-1)", (3,), x=[14.0, 16.0, -27.0]),
        ),
    ),
    unary("trunc", AWAY_FROM_INTEGERS, kinks=HALVES, twice_differentiable=False),
    unary("frac", AWAY_FROM_INTEGERS, kinks=HALVES, specials=(nan, 0.0, -0.0), integers=False),
    unary(
        "nan_to_num",
        cases=(
            case(
                "replacements",
                "torch.nan_to_num({x}, nan=0.5, posinf=2.0, neginf=-2.0)",
                (4,),
                x=[nan, inf, -inf, 1.5],
            ),
        ),
    ),
)


def comparison(name: str, symbol: str) -> Operator:
    """The entry of a comparison: its result is bool and never requires grad."""
    return binary(
        name,
        symbol=symbol,
        unlinked=True,
        points={"ties": EQUALS},
        specials=(nan, inf, -inf, 0.0, -0.0),
        cases=(
            case("number-right", f"{{a}} {symbol} 0.5"),
            case("number-left", f"0.5 {symbol} {{a}}"),
        ),
    )


COMPARISONS = tuple(
    comparison(name, symbol)
    for name, symbol in (
        ("eq", "=="),
        ("ne", "!="),
        ("lt", "<"),
        ("le", "<="),
        ("gt", ">"),
        ("ge", ">="),
    )
)

MASK = Input("condition", shape=(2, 3), dtype="bool", values=(True, False, True, False, True, True))
BOUNDS = (-1.0, 1.0, -2.0, 2.0, 0.0, -0.0)

SELECTION = (
    Operator(
        "where",
        (MASK, Input("a"), Input("b")),
        "torch.where({condition}, {a}, {b})",
        (2, 3),
        cases=(
            case("method", "{a}.where({condition}, {b})", (2, 3)),
            case("number-left", "torch.where({condition}, 2.5, {b})", (2, 3)),
            case("number-right", "torch.where({condition}, {a}, 0)", (2, 3)),
            case(
                "broadcast",
                "torch.where({condition}, {a}, {b})",
                (2, 3),
                condition=[[True], [False]],
                a=(3,),
                b=(2, 1),
            ),
            case(
                "zero-dim-condition", "torch.where({condition}, {a}, {b})", (2, 3), condition=True
            ),
            case("zero-dim-operand", "torch.where({condition}, {a}, {b})", (2, 3), b=1.5),
            case(
                "empty",
                "torch.where({condition}, {a}, {b})",
                (0, 3),
                condition=(0, 3),
                a=(0, 3),
                b=(3,),
            ),
            case(
                "unselected-nan",
                "torch.where({condition}, {a}, {b})",
                (3,),
                condition=[True, False, True],
                a=[1.0, nan, 3.0],
                b=[nan, 2.0, inf],
            ),
            case(
                "unselected-branch-infinite",
                "torch.where({condition}, torch.log({a}), {b})",
                (3,),
                condition=[True, False, False],
                a=[2.0, 0.0, -1.0],
                b=(3,),
            ),
            case(
                "mixed-dtypes",
                "torch.where({condition}, {a}, {b})",
                (2, 3),
                dtypes={"a": "float32", "b": "float64"},
                dtype="float64",
            ),
        ),
    ),
    Operator(
        "clamp",
        (Input("x"),),
        "torch.clamp({x}, -1.0, 1.0)",
        method="{x}.clamp(-1.0, 1.0)",
        inplace="{x}.clamp_(-1.0, 1.0)",
        pointwise=True,
        points={"bounds": (BOUNDS,)},
        specials=(nan, inf, -inf),
        cases=(
            case("min-only", "torch.clamp({x}, min=-1.0)", (6,), x=list(BOUNDS)),
            case("max-only", "{x}.clamp(max=1.0)", (6,), x=list(BOUNDS)),
            case("integer-bounds", "torch.clamp({x}, 0, 2)", (6,), x=list(BOUNDS)),
            case("min-above-max", "torch.clamp({x}, 1.0, -1.0)", (6,), x=list(BOUNDS)),
            case("min-equals-max", "torch.clamp({x}, 1.0, 1.0)", (6,), x=list(BOUNDS)),
            case("no-bound", "torch.clamp({x})", raises=True),
            case("tensor-bounds", "torch.clamp({x}, {low}, {high})", (2, 3), low=(2, 3), high=(3,)),
            case(
                "tensor-bounds-ties",
                "torch.clamp({x}, {low}, {high})",
                (5,),
                x=[1.0, 2.0, -1.0, 0.5, 3.0],
                low=[1.0, -1.0, 0.0, 0.5, 2.0],
                high=[2.0, 2.0, 1.0, 0.5, 1.0],
            ),
            case("tensor-min", "torch.clamp({x}, min={low})", (2, 3), low=(2, 3)),
            case("tensor-max", "{x}.clamp(max={high})", (2, 3), high=(2, 1)),
            case(
                "tensor-bounds-in-place-target",
                "({x} * 1).clamp_({low}, {high})",
                (3,),
                x=[1.0, 2.0, -1.0],
                low=[1.0, -1.0, 0.0],
                high=[2.0, 1.0, 1.0],
            ),
        ),
    ),
    binary(
        "clamp_min",
        function="torch.clamp_min",
        points={"ties": EQUALS},
        specials=(inf, -inf, 0.0, 1.5),
        cases=(
            case("number", "torch.clamp_min({a}, 1)", (6,), a=list(BOUNDS)),
            case("number-nan", "{a}.clamp_min(0.5)", (3,), a=[nan, 1.0, 0.0]),
        ),
    ),
    binary(
        "clamp_max",
        function="torch.clamp_max",
        points={"ties": EQUALS},
        specials=(inf, -inf, 0.0, 1.5),
        cases=(
            case("number", "torch.clamp_max({a}, -1.0)", (6,), a=list(BOUNDS)),
            case("number-nan", "{a}.clamp_max(0.5)", (3,), a=[nan, 1.0, 0.0]),
        ),
    ),
    Operator(
        "masked_fill",
        (
            Input("x"),
            Input(
                "mask", shape=(2, 3), dtype="bool", values=(True, False, False, True, True, False)
            ),
        ),
        "torch.masked_fill({x}, {mask}, 2.5)",
        (2, 3),
        method="{x}.masked_fill({mask}, 2.5)",
        inplace="{x}.masked_fill_({mask}, 2.5)",
        leaf_refusal=True,
        cases=(
            case("tensor-value", "{x}.masked_fill({mask}, {value})", (2, 3), value=-1.5),
            case("broadcast-mask", "{x}.masked_fill({mask}, 0)", (2, 3), mask=[[True], [False]]),
            case(
                "nothing-masked", "{x}.masked_fill({mask}, 7.0)", (2,), x=(2,), mask=[False, False]
            ),
            case("infinite", "{x}.masked_fill({mask}, float('-inf'))", (2, 3)),
            case(
                "value-of-two-elements", "{x}.masked_fill({mask}, {value})", raises=True, value=(2,)
            ),
            case("wrong-mask-dtype", "{x}.masked_fill({x}, 1.0)", raises=True),
        ),
    ),
)
