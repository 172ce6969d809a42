"""Losses with a kink or with ignored targets."""

from __future__ import annotations

from conformance.samples.operator import PROBABILITY, Input, Operator, case, inf, nan

F = "torch.nn.functional"


def distance(name: str, *rows, **facts) -> Operator:
    """The entry of a loss between a prediction and a target of the same shape."""
    call = f"{F}.{name}({{x}}, {{target}})"
    return Operator(
        name,
        (Input("x"), Input("target")),
        call,
        (),
        cases=(
            case("none", f"{F}.{name}({{x}}, {{target}}, reduction='none')", (2, 3)),
            case("sum", f"{F}.{name}({{x}}, {{target}}, reduction='sum')", ()),
            case(
                "equal",
                f"{F}.{name}({{x}}, {{target}}, reduction='none')",
                (4,),
                x=[1.0, -0.0, 2.0, -1.0],
                target=[1.0, 0.0, 1.0, 0.0],
            ),
            case("empty", call, (), x=(0,), target=(0,)),
            case("zero-dim", call, (), x=(), target=()),
            case(
                "unknown-reduction", f"{F}.{name}({{x}}, {{target}}, reduction='max')", raises=True
            ),
            *rows,
        ),
        **facts,
    )


CLASSES = Input("target", shape=(2,), dtype="int64", values=(2, 0))


def classification(name: str) -> Operator:
    """The entry of a loss between scores per class and class indices."""
    call = f"{F}.{name}({{x}}, {{target}})"
    f = f"{F}.{name}"
    return Operator(
        name,
        (Input("x"), CLASSES),
        call,
        (),
        cases=(
            case("none", f"{f}({{x}}, {{target}}, reduction='none')", (2,)),
            case("sum", f"{f}({{x}}, {{target}}, reduction='sum')", ()),
            case("ignored", f"{f}({{x}}, {{target}}, ignore_index=2)", ()),
            case("all-ignored", f"{f}({{x}}, {{target}})", (), target=[-100, -100]),
            case(
                "weights",
                f"{f}({{x}}, {{target}}, torch.tensor([1.0, 2.0, 0.5]))",
                (),
                dtypes={"x": "float32"},
                dtype="float32",
            ),
            case("one-example", call, (), x=(3,), target=1),
            case("class-out-of-range", call, raises=True, target=[3, 0]),
        ),
    )


LOSSES = (
    distance(
        "mse_loss", case("nan", f"{F}.mse_loss({{x}}, {{target}})", (), x=[nan, 1.0], target=(2,))
    ),
    distance("l1_loss", twice_differentiable=False),
    distance(
        "smooth_l1_loss",
        case(
            "beta",
            f"{F}.smooth_l1_loss({{x}}, {{target}}, beta=0.5, reduction='none')",
            (3,),
            x=[1.5, 1.25, 3.0],
            target=[1.0, 1.0, 1.0],
        ),
        case(
            "beta-zero",
            f"{F}.smooth_l1_loss({{x}}, {{target}}, beta=0.0, reduction='none')",
            (2,),
            x=[1.5, 1.0],
            target=[1.0, 1.0],
        ),
        case(
            "infinite",
            f"{F}.smooth_l1_loss({{x}}, {{target}}, reduction='none')",
            (2,),
            x=[inf, -inf],
            target=(2,),
        ),
    ),
    classification("nll_loss"),
    classification("cross_entropy"),
    Operator(
        "binary_cross_entropy",
        (Input("x", PROBABILITY), Input("target", PROBABILITY, grad=False)),
        f"{F}.binary_cross_entropy({{x}}, {{target}})",
        (),
        integers=False,
        cases=(
            case(
                "sure",
                f"{F}.binary_cross_entropy({{x}}, {{target}}, reduction='none')",
                (4,),
                x=[0.0, 1.0, 1e-13, 0.5],
                target=[0.25, 0.75, 0.5, 0.0],
            ),
            case(
                "weight",
                f"{F}.binary_cross_entropy({{x}}, {{target}}, {{weight}}.detach())",
                (),
                x=(2, 3),
                target=(2, 3),
                weight=(3,),
            ),
        ),
    ),
    Operator(
        "pdist",
        (Input("x", shape=(3, 2)),),
        "torch.pdist({x})",
        (3,),
        twice_differentiable=False,
        integers=False,
        halves=(),
        cases=(
            case("half", "torch.pdist({x}.half())", raises=True, x=(2, 2)),
            case("half-one-row", "torch.pdist({x}.half())", None, x=(1, 2), dtype="float16"),
        ),
    ),
)
