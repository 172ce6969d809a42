"""Arithmetic, powers, rounding, comparisons and selection, value by value."""

from __future__ import annotations

from .operator import (
    ANY,
    AWAY_FROM_INTEGERS,
    POSITIVE,
    Case,
    Domain,
    Input,
    Operator,
    binary,
    case,
    inf,
    nan,
    unary,
)

EXPONENT = Domain(-2.0, 3.0, 0.25, without=(0.0,))
ZEROS = ((0.0, -0.0, 0.0, 2.0, -2.0), (2.0, 2.0, -1.5, 0.0, -0.0))
MULTIPLES = ((4.0, -4.0, 4.0, -4.0, 0.0, 3.5), (2.0, 2.0, -2.0, -2.0, 3.0, 0.5))
HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.0, -2.0)
EQUALS = ((1.0, 1.0, 2.0, -0.0, 0.0), (1.0, 2.0, 1.0, 0.0, 0.0))


def scalars(name: str, symbol: str) -> tuple[Case, ...]:
    """An operand that is a Python number, on either side: a float, an int, a bool."""
    bool_right = f"{{a}} {symbol} True"
    return (
        case("number-right", f"torch.{name}({{a}}, 2.5)", (2, 3)),
        case("integer-right", f"{{a}} {symbol} 3", (2, 3)),
        case("bool-right-refused", bool_right, raises=True)
        if name == "sub"
        else case("bool-right", bool_right, (2, 3)),
        case("number-left", f"-1.5 {symbol} {{a}}", (2, 3)),
        case("augmented", f"h = {{a}} * 1\nh {symbol}= {{b}}", {"h": (2, 3)}),
        case("augmented-number", f"h = {{a}} * 1\nh {symbol}= 2.5", {"h": (2, 3)}),
        case(
            "augmented-integer-refused",
            f"h = {{a}}\nh {symbol}= 2.5",
            raises=True,
            a=[1, -2],
            dtypes={"a": "int64"},
            dtype="int64",
        ),
    )


ARITHMETIC = (
    binary(
        "add",
        symbol="+",
        leaf_refusal=True,
        cases=(
            *scalars("add", "+"),
            case("alpha", "torch.add({a}, {b}, alpha=-2)", (2, 3)),
            case("alpha-zero", "torch.add({a}, {b}, alpha=0)", (2, 3)),
            case("alpha-method", "{a}.add({b}, alpha=0.5)", (2, 3)),
        ),
    ),
    binary(
        "sub",
        symbol="-",
        cases=(*scalars("sub", "-"), case("alpha", "torch.sub({a}, {b}, alpha=3)", (2, 3))),
    ),
    binary(
        "rsub",
        method=None,
        inplace=None,
        cases=(
            case("number-right", "torch.rsub({a}, 2.5)", (2, 3)),
            case("alpha", "torch.rsub({a}, {b}, alpha=3)", (2, 3)),
        ),
    ),
    binary(
        "mul", symbol="*", points={"zeros": ZEROS}, cases=scalars("mul", "*"), leaf_refusal=True
    ),
    binary(
        "div",
        b=Domain(-3.0, 3.0, 0.25, without=(0.0,)),
        symbol="/",
        points={"zeros": ZEROS},
        cases=(
            *scalars("div", "/"),
            case("floor", "torch.div({a}, {b}, rounding_mode='floor')", (2, 3)),
            case("trunc", "torch.div({a}, {b}, rounding_mode='trunc')", (2, 3)),
            case("mode-none", "{a}.div({b}, rounding_mode=None)", (2, 3)),
            case("floor-number", "torch.div({a}, 0.75, rounding_mode='floor')", (2, 3)),
            case("trunc-number", "torch.div({a}, 0.75, rounding_mode='trunc')", (2, 3)),
            case(
                "floor-zeros",
                "torch.div({a}, {b}, rounding_mode='floor')",
                (5,),
                a=list(ZEROS[0]),
                b=list(ZEROS[1]),
            ),
            case("unknown-mode", "torch.div({a}, {b}, rounding_mode='ceil')", raises=True),
        ),
    ),
    unary("neg", leaf_refusal=True, cases=(case("symbol", "-{x}", (2, 3)),)),
    unary("reciprocal", kinks=(0.0, -0.0)),
    unary("square", kinks=(0.0, -0.0)),
    unary("sqrt", POSITIVE, kinks=(0.0, -0.0), outside=(-1.0, 4.0)),
    unary("rsqrt", POSITIVE, kinks=(0.0, -0.0), outside=(-1.0, 4.0)),
    unary("abs", kinks=(0.0, -0.0), twice_differentiable=False),
    unary("sign", kinks=(0.0, -0.0), twice_differentiable=False),
    binary(
        "pow",
        POSITIVE,
        EXPONENT,
        symbol="**",
        points={
            "zero-base": ((0.0, 0.0, 0.0, -0.0, -0.0), (0.0, 2.0, -1.0, 1.0, 0.5)),
            "negative-base": ((-2.0, -2.0, -2.0, -0.5), (2.0, 3.0, 0.0, -1.0)),
            "base-one": ((1.0, 1.0, 1.0, 1.0), (inf, nan, 3.0, 0.0)),
            "infinite": ((inf, 0.5, inf, 2.0), (0.0, inf, -1.0, -inf)),
        },
        specials=(),
        cases=(
            case("number-exponent", "torch.pow({a}, 3)", (2, 3)),
            case("fraction-exponent", "{a} ** 1.5", (2, 3)),
            case("half-exponent", "{a} ** 0.5", (2, 3), a=[[0.25, 2.0, 9.0], [0.0, -0.0, 1.0]]),
            case("exponent-zero", "{a} ** 0", (5,), a=[0.0, -2.0, nan, inf, 3.0]),
            case("exponent-one", "{a} ** 1", (5,), a=[0.0, -2.0, nan, inf, 3.0]),
            case("exponent-two", "{a} ** 2", (5,), a=[0.0, -2.0, -0.0, inf, 3.0]),
            case("exponent-minus-one", "{a} ** -1", (4,), a=[0.0, -2.0, inf, 3.0]),
            case("exponent-minus-two", "{a}.pow(-2)", (2, 3)),
            case("negative-base-fraction", "{a} ** 0.5", (3,), a=[-2.0, -0.5, 4.0]),
            case("number-base", "torch.pow(2.0, {b})", (2, 3)),
            case("number-base-reflected", "3 ** {b}", (2, 3)),
            case("base-zero", "0.0 ** {b}", (4,), b=[0.0, 2.0, -1.0, 0.5]),
            case("base-one-number", "1.0 ** {b}", (3,), b=[0.0, 2.0, inf]),
            case("base-negative", "(-2.0) ** {b}", (3,), b=[0.0, 2.0, 0.5]),
            case("zero-dim-exponent", "torch.pow({a}, {b})", (2, 3), b=2.0),
            case("zero-dim-base", "torch.pow({a}, {b})", (2, 3), a=2.0),
            case(
                "integer-base-negative-exponent",
                "torch.pow({a}, -2)",
                raises=True,
                a=[1, 2],
                dtypes={"a": "int64"},
                dtype="int64",
            ),
        ),
    ),
    binary(
        "fmod",
        b=AWAY_FROM_INTEGERS,
        points={"multiples": MULTIPLES},
        specials=(inf, -inf, 2.0, -1.5),
        cases=(
            case("number", "torch.fmod({a}, 0.75)", (2, 3)),
            case("negative-number", "{a}.fmod(-2)", (2, 3)),
            case("by-zero", "torch.fmod({a}, {b})", (2,), a=[1.5, -1.5], b=[0.0, 0.0]),
        ),
    ),
    binary(
        "remainder",
        b=AWAY_FROM_INTEGERS,
        symbol="%",
        points={"multiples": MULTIPLES},
        specials=(2.0, -1.5),
        cases=(
            case("number", "torch.remainder({a}, 0.75)", (2, 3)),
            case("negative-number", "{a}.remainder(-2)", (2, 3)),
            case("symbol-number", "{a} % 2", (2, 3)),
        ),
    ),
    Operator(
        "addcmul",
        (Input("a"), Input("b"), Input("c")),
        "torch.addcmul({a}, {b}, {c})",
        method="{a}.addcmul({b}, {c})",
        inplace="{a}.addcmul_({b}, {c})",
        pointwise=True,
        specials=(nan, inf, 0.0),
        cases=(case("value", "torch.addcmul({a}, {b}, {c}, value=-0.5)", (2, 3)),),
    ),
    Operator(
        "addcdiv",
        (Input("a"), Input("b"), Input("c")),
        "torch.addcdiv({a}, {b}, {c})",
        method="{a}.addcdiv({b}, {c})",
        inplace="{a}.addcdiv_({b}, {c})",
        pointwise=True,
        specials=(inf, 0.0),
        integers=False,
        cases=(case("value", "torch.addcdiv({a}, {b}, {c}, value=-0.5)", (2, 3)),),
    ),
    Operator(
        "lerp",
        (Input("a"), Input("b"), Input("weight", Domain(-0.5, 1.5))),
        "torch.lerp({a}, {b}, {weight})",
        method="{a}.lerp({b}, {weight})",
        inplace="{a}.lerp_({b}, {weight})",
        pointwise=True,
        integers=False,
        points={
            "weight-half": ((1.0, 2.0, -3.0), (3.0, -1.0, 0.5), (0.5, 0.5, 0.5)),
            "weight-bounds": ((1.0, 2.0, -3.0), (3.0, -1.0, 0.5), (0.0, 1.0, 2.0)),
        },
        cases=(
            case("number-weight", "torch.lerp({a}, {b}, 0.25)", (2, 3)),
            case("number-weight-above-half", "{a}.lerp({b}, 0.75)", (2, 3)),
            case("zero-dim-weight", "torch.lerp({a}, {b}, {weight})", (2, 3), weight=0.25),
        ),
    ),
    binary(
        "atan2",
        points={"zeros": ((0.0, -0.0, 0.0, 0.0, 1.0), (1.0, -1.0, -1.0, 0.0, 0.0))},
        specials=(inf, -inf, 2.0, -1.5),
    ),
    binary(
        "hypot",
        points={"zeros": ((0.0, 3.0, 0.0), (4.0, 0.0, 0.0))},
        specials=(inf, -inf, 2.0),
        integers=False,
    ),
    binary(
        "logaddexp",
        inplace=None,
        integers=False,
        points={"ties": ((1.0, -2.0, 0.0), (1.0, -2.0, -0.0))},
        specials=(inf, -inf, 2.0, -1.5),
    ),
    binary(
        "xlogy",
        ANY,
        POSITIVE,
        points={"zeros": ((0.0, 0.0, 0.0, 2.0), (0.0, 2.0, -1.0, 0.0))},
        specials=(nan, inf, 0.0, 2.0),
        cases=(
            case("number-left", "torch.xlogy(2.0, {b})", (2, 3)),
            case("number-right", "torch.xlogy({a}, 2.0)", (2, 3)),
        ),
    ),
    binary("maximum", inplace=None, points={"ties": EQUALS}),
    binary("minimum", inplace=None, points={"ties": EQUALS}),
    binary("fmax", inplace=None, points={"ties": EQUALS}),
    binary("fmin", inplace=None, points={"ties": EQUALS}),
)

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
