"""Layers over sequences: attention and recurrent cells."""

from __future__ import annotations

from typing import Any

from conformance.samples.operator import UNIT, Input, Operator, case

F = "torch.nn.functional"


def small(name: str, *shape: int) -> Input:
    """An input of numbers that saturate nothing."""
    return Input(name, UNIT, shape)


def attention() -> Operator:
    """The entry of scaled_dot_product_attention, fused (four dimensions) and composed."""
    f = f"{F}.scaled_dot_product_attention"
    call = f"{f}({{query}}, {{key}}, {{value}})"
    three: dict[str, Any] = {"query": (2, 3, 2), "key": (2, 4, 2), "value": (2, 4, 2)}
    return Operator(
        "scaled_dot_product_attention",
        (small("query", 1, 2, 3, 2), small("key", 1, 2, 4, 2), small("value", 1, 2, 4, 2)),
        call,
        (1, 2, 3, 2),
        twice_differentiable=False,
        cases=(
            case("causal", f"{f}({{query}}, {{key}}, {{value}}, is_causal=True)", (1, 2, 3, 2)),
            case("scale", f"{f}({{query}}, {{key}}, {{value}}, scale=0.5)", (1, 2, 3, 2)),
            case(
                "mask",
                f"{f}({{query}}, {{key}}, {{value}}, attn_mask={{mask}})",
                (1, 2, 3, 2),
                mask=(3, 4),
                dtypes={"mask": "bool"},
            ),
            case("composed", call, (2, 3, 2), **three),
            case(
                "composed-causal",
                f"{f}({{query}}, {{key}}, {{value}}, is_causal=True)",
                (2, 3, 2),
                **three,
            ),
            case(
                "added-mask",
                f"{f}({{query}}, {{key}}, {{value}}, {{mask}})",
                (1, 2, 3, 2),
                mask=(3, 4),
            ),
            case("other-values", call, (1, 2, 3, 3), value=(1, 2, 4, 3)),
            case("sizes-differ", call, raises=True, **{**three, "key": (2, 4, 3)}),
        ),
    )


CELLS = (
    Operator(
        "lstm_cell",
        (small("x", 2, 3), small("h", 2, 1), small("weight", 4, 3), small("recurrent", 4, 1)),
        "torch.lstm_cell({x}, ({h}, {h}), {weight}, {recurrent})",
        {"y": (2, 1), "z": (2, 1)},
        outputs=("y", "z"),
        cases=(
            case(
                "bias",
                "torch.lstm_cell({x}, ({h}, {c}), {weight}, {recurrent}, {bias}, {bias})",
                {"y": (2, 1), "z": (2, 1)},
                outputs="y, z",
                c=(2, 1),
                bias=(4,),
            ),
        ),
    ),
    Operator(
        "gru_cell",
        (small("x", 2, 3), small("h", 2, 1), small("weight", 3, 3), small("recurrent", 3, 1)),
        "torch.gru_cell({x}, {h}, {weight}, {recurrent})",
        (2, 1),
    ),
    Operator(
        "rnn_tanh_cell",
        (small("x", 2, 3), small("h", 2, 2), small("weight", 2, 3), small("recurrent", 2, 2)),
        "torch.rnn_tanh_cell({x}, {h}, {weight}, {recurrent})",
        (2, 2),
    ),
)

SEQUENCES = (attention(), *CELLS)
