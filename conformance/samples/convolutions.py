"""Convolutions and transposed convolutions."""

from __future__ import annotations

from conformance.samples.layer_inputs import F, tensor
from conformance.samples.operator import Operator, case, nan


def convolution(dims: int) -> Operator:
    """The entry of conv1d, 2d or 3d."""
    name = f"conv{dims}d"
    f = f"{F}.{name}"
    three, two, one = (3,) * dims, (2,) * dims, (1,) * dims
    rows = [
        case("without-bias", f"{f}({{x}}, {{weight}})", (1, 2, *two)),
        case("stride", f"{f}({{x}}, {{weight}}, {{bias}}, stride=2)", (1, 2, *one)),
        case("padding", f"{f}({{x}}, {{weight}}, {{bias}}, padding=1)", (1, 2, *((4,) * dims))),
        case("dilation", f"{f}({{x}}, {{weight}}, {{bias}}, dilation=2)", (1, 2, *one)),
        case("valid", f"{f}({{x}}, {{weight}}, {{bias}}, padding='valid')", (1, 2, *two)),
        case(
            "same",
            f"{f}({{x}}, {{weight}}, {{bias}}, padding='same')",
            (1, 1, *three),
            x=(1, 1, *three),
            weight=(1, 1, *three),
            bias=(1,),
        ),
        case(
            "groups",
            f"{f}({{x}}, {{weight}}, {{bias}}, groups=2)",
            (1, 2, *one),
            x=(1, 2, *two),
            weight=(2, 1, *two),
        ),
        case(
            "several-examples",
            f"{f}({{x}}, {{weight}}, {{bias}})",
            (2, 1, *one),
            x=(2, 2, *two),
            weight=(1, 2, *two),
            bias=(1,),
        ),
        case("unbatched", f"{f}({{x}}, {{weight}}, {{bias}})", (2, *two), x=(1, *three)),
        case("one-element", f"{f}({{x}}, {{weight}})", (1, 2, *three), weight=(2, 1, *one)),
        case("no-examples", f"{f}({{x}}, {{weight}}, {{bias}})", (0, 2, *two), x=(0, 1, *three)),
        case("channels-differ", f"{f}({{x}}, {{weight}})", raises=True, x=(1, 2, *three)),
        case("bias-differs", f"{f}({{x}}, {{weight}}, {{bias}})", raises=True, bias=(3,)),
        case(
            "kernel-too-large",
            f"{f}({{x}}, {{weight}})",
            raises=True,
            weight=(1, 1, *((4,) * dims)),
        ),
        case("wrong-dims", f"{f}({{x}}, {{weight}})", raises=True, x=(3,)),
        case("stride-zero", f"{f}({{x}}, {{weight}}, stride=0)", raises=True),
        case("padding-negative", f"{f}({{x}}, {{weight}}, padding=-1)", raises=True),
        case("dilation-zero", f"{f}({{x}}, {{weight}}, dilation=0)", raises=True),
        case(
            "groups-do-not-divide",
            f"{f}({{x}}, {{weight}}, groups=2)",
            raises=True,
            weight=(3, 1, *two),
        ),
        case("same-with-stride", f"{f}({{x}}, {{weight}}, padding='same', stride=2)", raises=True),
        case("unknown-padding", f"{f}({{x}}, {{weight}}, padding='full')", raises=True),
    ]
    if dims == 2:
        rows += [
            case(
                "rectangular",
                f"{f}({{x}}, {{weight}}, None, (1, 2), (0, 1), (2, 1))",
                (1, 2, 2, 2),
                x=(1, 1, 4, 3),
                weight=(2, 1, 2, 2),
            ),
            case(
                "nan",
                f"{f}({{x}}, {{weight}})",
                (1, 1, 1, 2),
                x=[[[[1.0, nan, 2.0]]]],
                weight=(1, 1, 1, 2),
            ),
        ]
    return Operator(
        name,
        (tensor("x", 1, 1, *three), tensor("weight", 2, 1, *two), tensor("bias", 2)),
        f"{f}({{x}}, {{weight}}, {{bias}})",
        (1, 2, *two),
        cases=tuple(rows),
    )


def transposed(dims: int) -> Operator:
    """The entry of conv_transpose1d or 2d."""
    name = f"conv_transpose{dims}d"
    f = f"{F}.{name}"
    three, two, one = (3,) * dims, (2,) * dims, (1,) * dims
    return Operator(
        name,
        (tensor("x", 1, 1, *two), tensor("weight", 1, 2, *two), tensor("bias", 2)),
        f"{f}({{x}}, {{weight}}, {{bias}})",
        (1, 2, *three),
        cases=(
            case("without-bias", f"{f}({{x}}, {{weight}})", (1, 2, *three)),
            case("stride", f"{f}({{x}}, {{weight}}, {{bias}}, stride=2)", (1, 2, *((4,) * dims))),
            case("padding", f"{f}({{x}}, {{weight}}, {{bias}}, padding=1)", (1, 2, *one)),
            case(
                "output-padding",
                f"{f}({{x}}, {{weight}}, {{bias}}, stride=2, output_padding=1)",
                (1, 2, *((5,) * dims)),
            ),
            case(
                "dilation", f"{f}({{x}}, {{weight}}, {{bias}}, dilation=2)", (1, 2, *((4,) * dims))
            ),
            case(
                "groups",
                f"{f}({{x}}, {{weight}}, groups=2)",
                (1, 2, *two),
                x=(1, 2, *one),
                weight=(2, 1, *two),
            ),
            case("unbatched", f"{f}({{x}}, {{weight}}, {{bias}})", (2, *three), x=(1, *two)),
            case("channels-differ", f"{f}({{x}}, {{weight}})", raises=True, x=(1, 2, *two)),
            case(
                "output-padding-too-large", f"{f}({{x}}, {{weight}}, output_padding=1)", raises=True
            ),
            case("nothing-left", f"{f}({{x}}, {{weight}}, padding=2)", raises=True),
        ),
    )
