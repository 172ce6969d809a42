"""What layers compute: convolutions, normalisations, lookups, padding, pooling, dropout."""

from __future__ import annotations

from conformance.samples.operator import Case, Domain, Input, Operator, case, nan

F = "torch.nn.functional"

# Multiples of a quarter, so that products are exact in float32.
QUARTERS = Domain(-8.0, 8.0, 0.25, summed=True)
POSITIVE = Domain(0.25, 4.0, 0.25)


def tensor(name: str, *shape: int) -> Input:
    """An input of that shape."""
    return Input(name, QUARTERS, shape)


# -- convolutions ---------------------------------------------------------------------------------


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


# -- normalisations -------------------------------------------------------------------------------

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

# -- lookups, padding, pooling, dropout -----------------------------------------------------------

ROWS = Input("i", shape=(2, 2), dtype="int64", values=(1, 0, 3, 1))
EMBEDDING = Operator(
    "embedding",
    (ROWS, tensor("weight", 4, 3)),
    f"{F}.embedding({{i}}, {{weight}})",
    (2, 2, 3),
    cases=(
        case("padding", f"{F}.embedding({{i}}, {{weight}}, padding_idx=1)", (2, 2, 3)),
        case(
            "padding-from-the-end", f"{F}.embedding({{i}}, {{weight}}, padding_idx=-1)", (2, 2, 3)
        ),
        case(
            "by-frequency", f"{F}.embedding({{i}}, {{weight}}, scale_grad_by_freq=True)", (2, 2, 3)
        ),
        case("one-row", f"{F}.embedding({{i}}, {{weight}})", (3,), i=2),
        case("none", f"{F}.embedding({{i}}, {{weight}})", (0, 3), i=(0,)),
        case("whole-table", f"{F}.embedding({{i}}, {{weight}})", (1, 2), i=[3], weight=(4, 2)),
        case("out-of-range", f"{F}.embedding({{i}}, {{weight}})", raises=True, i=[4]),
        case("negative", f"{F}.embedding({{i}}, {{weight}})", raises=True, i=[-1]),
        case(
            "padding-out-of-range", f"{F}.embedding({{i}}, {{weight}}, padding_idx=4)", raises=True
        ),
        case("not-a-table", f"{F}.embedding({{i}}, {{weight}})", raises=True, weight=(4,)),
    ),
)


def padding() -> Operator:
    """The entry of pad, in all its modes."""
    f = f"{F}.pad"

    def mode(name: str) -> tuple[Case, ...]:
        one, two = (1, 2, 6), (1, 1, 5, 5)
        return (
            case(name, f"{f}({{x}}, (1, 2), '{name}')", one),
            case(f"{name}-two", f"{f}({{x}}, (1, 1, 0, 2), '{name}')", two, x=(1, 1, 3, 3)),
            case(f"{name}-unbatched", f"{f}({{x}}, (1, 0), '{name}')", (2, 4), x=(2, 3)),
            case(f"{name}-cut", f"{f}({{x}}, (-1, 1), '{name}')", (1, 2, 3)),
            case(f"{name}-rank", f"{f}({{x}}, (1, 1), '{name}')", raises=True, x=(3,)),
        )

    return Operator(
        "pad",
        (tensor("x", 1, 2, 3),),
        f"{f}({{x}}, (1, 2))",
        (1, 2, 6),
        cases=(
            case("value", f"{f}({{x}}, (1, 0, 0, 1), value=2.5)", (1, 3, 4)),
            case("cut", f"{f}({{x}}, (-1, 2))", (1, 2, 4)),
            case("nothing", f"{f}({{x}}, (0, 0))", (1, 2, 3)),
            case("empty", f"{f}({{x}}, (1, 1))", (2,), x=(0,)),
            case("odd", f"{f}({{x}}, (1, 1, 1))", raises=True),
            case("too-many", f"{f}({{x}}, (1,) * 8)", raises=True),
            case("cut-too-much", f"{f}({{x}}, (-4, 0))", raises=True),
            case("unknown-mode", f"{f}({{x}}, (1, 1), 'mirror')", raises=True),
            *mode("reflect"),
            *mode("replicate"),
            *mode("circular"),
            case("reflect-too-far", f"{f}({{x}}, (3, 0), 'reflect')", raises=True),
            case("circular-too-far", f"{f}({{x}}, (4, 0), 'circular')", raises=True),
        ),
    )


def average(dims: int) -> Operator:
    """The entry of avg_pool1d, 2d or 3d."""
    name = f"avg_pool{dims}d"
    f = f"{F}.{name}"
    three, two, one = (3,) * dims, (2,) * dims, (1,) * dims
    return Operator(
        name,
        (Input("x", QUARTERS, (1, 1, *three)),),
        f"{f}({{x}}, 2)",
        (1, 1, *one),
        cases=(
            case("stride-1", f"{f}({{x}}, 2, 1)", (1, 1, *two)),
            case("padding", f"{f}({{x}}, 2, padding=1)", (1, 1, *two)),
            case("uncounted", f"{f}({{x}}, 2, 2, 1, count_include_pad=False)", (1, 1, *two)),
            case("ceil-mode", f"{f}({{x}}, 2, ceil_mode=True)", (1, 1, *two)),
            case("unbatched", f"{f}({{x}}, 2)", (1, *one), x=(1, *three)),
            case("too-large", f"{f}({{x}}, 4)", raises=True),
        ),
        halves=() if dims == 3 else ("float16", "bfloat16"),
    )


ADAPTIVE = (
    Operator(
        "adaptive_avg_pool1d",
        (tensor("x", 1, 2, 5),),
        f"{F}.adaptive_avg_pool1d({{x}}, 3)",
        (1, 2, 3),
        cases=(
            case("one", f"{F}.adaptive_avg_pool1d({{x}}, 1)", (1, 2, 1)),
            case("more", f"{F}.adaptive_avg_pool1d({{x}}, 7)", (1, 2, 7)),
            case("unbatched", f"{F}.adaptive_avg_pool1d({{x}}, 2)", (2, 2), x=(2, 3)),
        ),
    ),
    Operator(
        "adaptive_avg_pool2d",
        (tensor("x", 1, 2, 3, 4),),
        f"{F}.adaptive_avg_pool2d({{x}}, 2)",
        (1, 2, 2, 2),
        cases=(
            case("one", f"{F}.adaptive_avg_pool2d({{x}}, 1)", (1, 2, 1, 1)),
            case("kept", f"{F}.adaptive_avg_pool2d({{x}}, (None, 2))", (1, 2, 3, 2)),
            case("unbatched", f"{F}.adaptive_avg_pool2d({{x}}, 2)", (1, 2, 2), x=(1, 3, 3)),
            case("wrong-dims", f"{F}.adaptive_avg_pool2d({{x}}, 2)", raises=True, x=(3, 3)),
        ),
    ),
)


def dropout(name: str, *rows: Case, **facts) -> Operator:
    """The entry of a kind of dropout; the numbers are those of the seed that all programs have."""
    f = f"{F}.{name}"
    return Operator(
        name,
        (tensor("x", 2, 3, 2),),
        f"{f}({{x}}, 0.5, True)",
        (2, 3, 2),
        inplace=f"{f}({{x}}, 0.5, True, True)",
        cases=(
            case("everything", f"{f}({{x}}, 1.0, True)", (2, 3, 2)),
            case("nothing", f"{f}({{x}}, 0.0, True)", (2, 3, 2)),
            case("evaluated", f"{f}({{x}}, 0.5, False)", (2, 3, 2)),
            case("no-probability", f"{f}({{x}}, 1.5)", raises=True),
            *rows,
        ),
        **facts,
    )


LAYERS = (
    *(convolution(dims) for dims in (1, 2, 3)),
    *(transposed(dims) for dims in (1, 2)),
    batch_norm(),
    layer_norm(),
    group_norm(),
    RMS_NORM,
    INSTANCE_NORM,
    EMBEDDING,
    padding(),
    *(average(dims) for dims in (1, 2, 3)),
    *ADAPTIVE,
    dropout("dropout"),
    dropout("dropout1d"),
    dropout("alpha_dropout"),
)
