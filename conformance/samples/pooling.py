"""Lookups, padding, average pooling and dropout."""

from __future__ import annotations

from conformance.samples.layer_inputs import QUARTERS, F, tensor
from conformance.samples.operator import Case, Input, Operator, case

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
