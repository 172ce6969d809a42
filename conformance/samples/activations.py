"""Activations, and softmax with its logarithm."""

from __future__ import annotations

from conformance.samples.operator import ANY, Domain, Input, Operator, case, inf, nan, unary

F = "torch.nn.functional"
# Where torch vectorises these, a NaN's gradient depends on the element's place in the tensor.
WITHOUT_NAN = (inf, -inf, 0.0, -0.0)
WIDE = Domain(-5.0, 8.0, 0.25, without=(0.0, -3.0, 3.0, 6.0))


def activation(name: str, domain: Domain = ANY, **facts) -> Operator:
    """The entry of a pointwise function of `torch.nn.functional` that is no method of tensors."""
    facts.setdefault("method", None)
    facts.setdefault("integers", False)
    inplace = facts.pop("inplace", None)
    if inplace == "argument":
        inplace = f"{F}.{name}({{x}}, inplace=True)"
    elif inplace == "function":
        inplace = f"{F}.{name}_({{x}})"
    return unary(name, domain, function=f"{F}.{name}", inplace=inplace, **facts)


ACTIVATIONS = (
    unary("relu", kinks=(0.0, -0.0), leaf_refusal=True),
    activation("relu6", WIDE, inplace="argument", kinks=(0.0, -0.0, 6.0), specials=WITHOUT_NAN),
    activation(
        "leaky_relu",
        inplace="function",
        kinks=(0.0, -0.0),
        cases=(
            case("slope", f"{F}.leaky_relu({{x}}, 0.25)", (2, 3)),
            case("negative-slope", f"{F}.leaky_relu({{x}}, -0.5)", (3,), x=[-1.0, 0.0, 2.0]),
            case(
                "negative-slope-in-place-refused",
                f"{F}.leaky_relu({{x}} * 1, -0.5, inplace=True)",
                (3,),
                x=[-1.0, 0.0, 2.0],
            ),
        ),
    ),
    activation(
        "elu",
        inplace="function",
        kinks=(0.0, -0.0),
        specials=WITHOUT_NAN,
        cases=(
            case("alpha", f"{F}.elu({{x}}, alpha=0.5)", (3,), x=[-1.0, 0.0, 2.0]),
            case(
                "negative-alpha-in-place-refused",
                f"{F}.elu({{x}} * 1, -0.5, inplace=True)",
                (3,),
                x=[-1.0, 0.0, 2.0],
            ),
        ),
    ),
    activation(
        "celu",
        inplace="function",
        kinks=(0.0, -0.0),
        specials=WITHOUT_NAN,
        cases=(case("alpha", f"{F}.celu({{x}}, alpha=0.5)", (3,), x=[-1.0, 0.0, 2.0]),),
    ),
    activation("selu", inplace="function", kinks=(0.0, -0.0), specials=WITHOUT_NAN),
    activation(
        "gelu",
        kinks=(0.0, -0.0),
        specials=(nan, -inf, 0.0, -0.0),  # gelu(inf) depends on the tensor's size in float32
        cases=(
            case("tanh", f"{F}.gelu({{x}}, approximate='tanh')", (2, 3)),
            case("tanh-zero", f"{F}.gelu({{x}}, approximate='tanh')", (2,), x=[0.0, -0.0]),
            case("unknown", f"{F}.gelu({{x}}, approximate='exact')", raises=True),
        ),
    ),
    activation("silu", inplace="argument", kinks=(0.0, -0.0)),
    activation("mish", inplace="argument", kinks=(0.0, -0.0)),
    activation(
        "softplus",
        kinks=(0.0, 20.0, 20.5),
        cases=(
            case("beta", f"{F}.softplus({{x}}, beta=2.0)", (2, 3)),
            case("threshold", f"{F}.softplus({{x}}, 1.0, 2.0)", (3,), x=[1.5, 2.0, 2.5]),
        ),
    ),
    activation("softsign", kinks=(0.0, -0.0), twice_differentiable=False),
    activation(
        "hardtanh",
        inplace="function",
        kinks=(-1.0, 1.0, 0.0),
        specials=WITHOUT_NAN,
        cases=(case("bounds", f"{F}.hardtanh({{x}}, -2.0, 0.5)", (3,), x=[-2.0, 0.5, 0.0]),),
    ),
    activation(
        "hardsigmoid",
        WIDE,
        inplace="argument",
        kinks=(-3.0, 3.0, 0.0),
        twice_differentiable=False,
    ),
    activation("hardswish", WIDE, inplace="argument", kinks=(-3.0, 3.0, 0.0), specials=WITHOUT_NAN),
    activation(
        "hardshrink",
        method="{x}.hardshrink()",
        kinks=(-0.5, 0.5, 0.0),
        specials=WITHOUT_NAN,
        cases=(case("lambd", f"{F}.hardshrink({{x}}, 1.5)", (3,), x=[-1.5, 1.5, 2.0]),),
    ),
    activation(
        "softshrink",
        kinks=(-0.5, 0.5, 0.0),
        specials=WITHOUT_NAN,
        cases=(
            case("lambd", f"{F}.softshrink({{x}}, 1.5)", (3,), x=[-1.5, 1.5, 2.0]),
            case("negative-lambd", f"{F}.softshrink({{x}}, -1.0)", raises=True),
        ),
    ),
    activation("tanhshrink", kinks=(0.0, -0.0)),
    activation("logsigmoid", kinks=(0.0, -0.0), points={"saturated": ((-60.0, 60.0),)}),
    Operator(
        "threshold",
        (Input("x"),),
        f"{F}.threshold({{x}}, 0.5, -2.0)",
        inplace=f"{F}.threshold_({{x}}, 0.5, -2.0)",
        pointwise=True,
        points={"kinks": ((0.5, 0.25, 0.75),)},
        specials=(nan, inf, -inf),
    ),
    Operator(
        "prelu",
        (Input("x"), Input("weight", shape=(1,), values=(0.25,))),
        f"{F}.prelu({{x}}, {{weight}})",
        (2, 3),
        cases=(
            case("kinks", f"{F}.prelu({{x}}, {{weight}})", (4,), x=[0.0, -0.0, -2.0, 3.0]),
            case("per-channel", f"{F}.prelu({{x}}, {{weight}})", (2, 3), weight=[0.25, -0.5, 2.0]),
            case(
                "three-dims", f"{F}.prelu({{x}}, {{weight}})", (2, 2, 2), x=(2, 2, 2), weight=(2,)
            ),
            case("specials", f"{F}.prelu({{x}}, {{weight}})", (2,), x=[inf, -inf]),
            case("wrong-channels", f"{F}.prelu({{x}}, {{weight}})", raises=True, weight=(2,)),
        ),
    ),
    Operator(
        "glu",
        (Input("x", shape=(2, 4)),),
        f"{F}.glu({{x}})",
        (2, 2),
        cases=(
            case("dim-0", f"{F}.glu({{x}}, 0)", (1, 4)),
            case("empty", f"{F}.glu({{x}}, 0)", (0, 3), x=(0, 3)),
            case("saturated-gate", f"{F}.glu({{x}})", (2,), x=[2.0, 3.0, -inf, inf]),
            case("odd-size", f"{F}.glu({{x}})", raises=True, x=(2, 3)),
        ),
    ),
)


def softmax(name: str) -> Operator:
    """The entry of softmax or its logarithm."""
    call = f"torch.{name}({{x}}, 1)"
    return Operator(
        name,
        (Input("x"),),
        call,
        (2, 3),
        method=f"{{x}}.{name}(1)",
        along=f"torch.{name}({{x}}, {{dim}})",
        drops=False,
        cases=(
            case("dim-0", f"torch.{name}({{x}}, 0)", (2, 3)),
            case("negative-dim", f"{F}.{name}({{x}}, dim=-2)", (2, 3)),
            case(
                "dtype",
                f"torch.{name}({{x}}, 1, dtype=torch.float64)",
                (2, 3),
                dtype="float64",
                dtypes={"x": "float32"},
            ),
            case("zero-dim", f"torch.{name}({{x}}, 0)", (), x=()),
            case("one-element", f"torch.{name}({{x}}, 0)", (1,), x=(1,)),
            case("empty", f"torch.{name}({{x}}, 1)", (2, 0), x=(2, 0)),
            case("equal", call, (1, 3), x=[[2.0, 2.0, 2.0]]),
            case("large", call, (1, 3), x=[[1000.0, 999.0, -1000.0]]),
            case("minus-infinity", call, (1, 3), x=[[-inf, 0.5, 1.0]]),
            case("infinity", call, (2, 2), x=[[inf, 0.5], [1.0, 2.0]]),
            case("nan", call, (2, 2), x=[[nan, 0.5], [1.0, 2.0]]),
            case("all-minus-infinity", call, (1, 2), x=[[-inf, -inf]]),
            case("dim-out-of-range", f"torch.{name}({{x}}, 2)", raises=True),
        ),
    )


SOFTMAX = (softmax("softmax"), softmax("log_softmax"))
