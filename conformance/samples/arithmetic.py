"""Arithmetic and powers, value by value."""

from __future__ import annotations

from conformance.samples.operator import (
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
