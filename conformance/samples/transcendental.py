"""Exponentials, logarithms, trigonometric, hyperbolic and error functions."""

from __future__ import annotations

from conformance.samples.operator import (
    ABOVE_ONE,
    ANY,
    POSITIVE,
    PROBABILITY,
    UNIT,
    Domain,
    Operator,
    case,
    nan,
    unary,
)

ABOVE_MINUS_ONE = Domain(-0.75, 4.0, without=(0.0,))
SMALL = Domain(-1.25, 1.25, 1 / 16, without=(0.0,))
ZEROS = (0.0, -0.0)
FINITE = (nan, 0.0, -0.0)


def inverse_hyperbolic(name: str, domain: Domain = ANY, **facts) -> Operator:
    """The entry of a function whose in-place form torch computes but does not differentiate."""
    refused = case("in-place-derivative-refused", f"h = {{x}} * 1\nh.{name}_()", {"h": (2, 3)})
    return unary(name, domain, inplace=None, cases=(refused,), **facts)


TRANSCENDENTAL = (
    unary("exp", kinks=ZEROS, leaf_refusal=True),
    unary("exp2", kinks=ZEROS),
    unary("expm1", kinks=ZEROS),
    unary("log", POSITIVE, kinks=ZEROS, outside=(-1.0, -2.5)),
    unary("log2", POSITIVE, kinks=ZEROS, outside=(-1.0, -2.5)),
    unary("log10", POSITIVE, kinks=ZEROS, outside=(-1.0, -2.5)),
    unary("log1p", ABOVE_MINUS_ONE, kinks=(-1.0, 0.0, -0.0), outside=(-2.0, -3.5)),
    unary("sin", kinks=ZEROS),
    unary("cos", kinks=ZEROS),
    unary("tan", SMALL, kinks=ZEROS),
    unary("asin", UNIT, kinks=(-1.0, 1.0, 0.0), outside=(-2.0, 1.5)),
    unary("acos", UNIT, kinks=(-1.0, 1.0, 0.0), outside=(-2.0, 1.5)),
    unary("atan", kinks=ZEROS),
    unary("sinh", kinks=ZEROS),
    unary("cosh", kinks=ZEROS),
    unary("tanh", kinks=ZEROS, points={"saturated": ((-40.0, 40.0, 400.0),)}),
    inverse_hyperbolic("asinh", kinks=ZEROS),
    inverse_hyperbolic("acosh", ABOVE_ONE, kinks=(1.0,), outside=(0.5, -1.0)),
    inverse_hyperbolic("atanh", UNIT, kinks=(-1.0, 1.0, 0.0), outside=(-2.0, 1.5)),
    unary("erf", kinks=ZEROS),
    unary("erfc", kinks=ZEROS),
    unary("sigmoid", kinks=ZEROS, points={"saturated": ((-40.0, 40.0, 400.0),)}),
    unary(
        "logit",
        PROBABILITY,
        kinks=(0.0, 1.0, 0.5),
        outside=(-0.5, 1.5),
        specials=(nan, 0.0),
        cases=(
            case("eps", "torch.logit({x}, eps=0.125)", (5,), x=[0.0625, 0.125, 0.5, 0.875, 1.0]),
            case("eps-method", "{x}.logit(0.125)", (2, 3)),
        ),
    ),
    unary("sinc", SMALL, kinks=ZEROS, specials=FINITE),
)
