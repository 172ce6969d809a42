"""Normalisations: by batch, layer, group, instance and root mean square."""

from __future__ import annotations

from conformance.samples.layer_inputs import POSITIVE, QUARTERS, F, tensor
from conformance.samples.operator import Input, Operator, case

RUNNING = (
    Input("mean", QUARTERS, (2,), grad=False),
    Input("var", POSITIVE, (2,), grad=False),
)


def batch_norm() -> Operator:
    """The entry of batch_norm, by the batch's own statistics and by running ones."""
    f = f"{F}.batch_norm"
    affine = f"{f}({{x}}, None, None, {{weight}}, {{bias}}, True)"
    return Operator(
        "batch_norm",
        (tensor("x", 3, 2, 2), tensor("weight", 2), tensor("bias", 2), *RUNNING),
        affine,
        (3, 2, 2),
        cases=(
            case("plain-statistics", f"{f}({{x}}, None, None, None, None, True)", (3, 2, 2)),
            case("without-bias", f"{f}({{x}}, None, None, {{weight}}, None, True)", (3, 2, 2)),
            case("images", affine, (2, 2, 2, 2), x=(2, 2, 2, 2)),
            case("rows", affine, (4, 2), x=(4, 2)),
            case("equal-values", affine, (3, 2), x=[[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]]),
            case(
                "running",
                f"{f}({{x}}, {{mean}}, {{var}}, {{weight}}, {{bias}}, True, 0.25)",
                (3, 2, 2),
            ),
            case("evaluated", f"{f}({{x}}, {{mean}}, {{var}}, {{weight}}, {{bias}})", (3, 2, 2)),
            case("eps", f"{f}({{x}}, None, None, {{weight}}, {{bias}}, True, 0.1, 0.5)", (3, 2, 2)),
            case("one-value", affine, raises=True, x=(1, 2)),
            case("no-statistics", f"{f}({{x}}, None, None)", raises=True),
            case("weight-differs", affine, raises=True, weight=(3,)),
        ),
    )


def layer_norm() -> Operator:
    """The entry of layer_norm."""
    f = f"{F}.layer_norm"
    affine = f"{f}({{x}}, (3,), {{weight}}, {{bias}})"
    return Operator(
        "layer_norm",
        (tensor("x", 2, 3), tensor("weight", 3), tensor("bias", 3)),
        affine,
        (2, 3),
        cases=(
            case("plain-statistics", f"{f}({{x}}, (3,))", (2, 3)),
            case("without-bias", f"{f}({{x}}, (3,), {{weight}})", (2, 3)),
            case(
                "whole",
                f"{f}({{x}}, (2, 3), {{weight}}, {{bias}})",
                (2, 3),
                weight=(2, 3),
                bias=(2, 3),
            ),
            case("batches", affine, (2, 2, 3), x=(2, 2, 3)),
            case("equal-values", f"{f}({{x}}, (2,))", (2, 2), x=[[1.0, 1.0], [2.0, 5.0]]),
            case("eps", f"{f}({{x}}, (3,), {{weight}}, {{bias}}, 0.5)", (2, 3)),
            case("sizes-differ", f"{f}({{x}}, (2,))", raises=True),
            case("weight-differs", f"{f}({{x}}, (3,), {{weight}})", raises=True, weight=(2,)),
            case("no-shape", f"{f}({{x}}, ())", raises=True),
        ),
    )


def group_norm() -> Operator:
    """The entry of group_norm."""
    f = f"{F}.group_norm"
    return Operator(
        "group_norm",
        (tensor("x", 2, 4, 2), tensor("weight", 4), tensor("bias", 4)),
        f"{f}({{x}}, 2, {{weight}}, {{bias}})",
        (2, 4, 2),
        cases=(
            case("plain-statistics", f"{f}({{x}}, 2)", (2, 4, 2)),
            case("one-group", f"{f}({{x}}, 1, {{weight}}, {{bias}})", (2, 4, 2)),
            case("a-group-each", f"{f}({{x}}, 4, {{weight}}, {{bias}})", (2, 4, 2)),
            case("rows", f"{f}({{x}}, 2, {{weight}}, {{bias}})", (3, 4), x=(3, 4)),
            case("groups-do-not-divide", f"{f}({{x}}, 3)", raises=True),
            case("no-places", f"{f}({{x}}, 2, {{weight}}, {{bias}})", raises=True, x=(2, 4, 0)),
            case("weight-differs", f"{f}({{x}}, 2, {{weight}})", raises=True, weight=(2,)),
        ),
    )


RMS_NORM = Operator(
    "rms_norm",
    (tensor("x", 2, 3), tensor("weight", 3)),
    f"{F}.rms_norm({{x}}, (3,), {{weight}})",
    (2, 3),
    cases=(
        case("unweighted", f"{F}.rms_norm({{x}}, (3,))", (2, 3)),
        case("whole", f"{F}.rms_norm({{x}}, (2, 3))", (2, 3)),
        case("eps", f"{F}.rms_norm({{x}}, (3,), {{weight}}, 0.5)", (2, 3)),
        case("sizes-differ", f"{F}.rms_norm({{x}}, (2,))", raises=True),
    ),
)
INSTANCE_NORM = Operator(
    "instance_norm",
    (tensor("x", 2, 2, 3), tensor("weight", 2), tensor("bias", 2)),
    f"{F}.instance_norm({{x}}, None, None, {{weight}}, {{bias}})",
    (2, 2, 3),
    cases=(
        case("plain-statistics", f"{F}.instance_norm({{x}})", (2, 2, 3)),
        case("one-value", f"{F}.instance_norm({{x}})", raises=True, x=(2, 2, 1)),
    ),
)
