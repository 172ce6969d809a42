"""The operators behind weight normalisation and packed sequences."""

from __future__ import annotations

from conformance.samples.operator import POSITIVE, UNIT, Input, Operator, case


def lengths(*values: int) -> Input:
    """The lengths of sequences, or how many have each step."""
    return Input("lengths", shape=(len(values),), dtype="int64", values=values)


_NORM = "torch._weight_norm({x}, {g}, %d)"
_PACK = "torch._pack_padded_sequence({x}, {lengths}, %s)"
_PAD = "torch._pad_packed_sequence({x}, {lengths}, %s)"

UTILITIES = (
    Operator(
        "_weight_norm",
        (Input("x", UNIT), Input("g", POSITIVE, (2, 1))),
        _NORM % 0,
        (2, 3),
        cases=(
            case("last", _NORM % 1, (2, 3), g=(1, 3)),
            case("middle", _NORM % 1, (2, 3, 2), x=(2, 3, 2), g=(1, 3, 1)),
            case("whole", _NORM % -1, (2, 3), g=()),
            case("one-dimension", _NORM % 0, (3,), x=(3,), g=(3,)),
            case("turned", "torch._weight_norm({x}.t(), {g}, 0)", (3, 2), g=(3, 1)),
            case("dtypes-differ", _NORM % 0, raises=True, dtypes={"g": "float64"}),
            case("no-such-dimension", _NORM % 2, raises=True),
        ),
        integers=False,
    ),
    Operator(
        "_pack_padded_sequence",
        (Input("x", shape=(3, 2)), lengths(3, 1)),
        f"{_PACK % 'False'}[0]",
        (4,),
        cases=(
            case("features", f"{_PACK % 'False'}[0]", (4, 2), x=(3, 2, 2)),
            case("batch-first", f"{_PACK % 'True'}[0]", (4, 2), x=(2, 3, 2)),
            case("batch-sizes", f"{_PACK % 'False'}[1]", outputs="sizes", dtype="int64"),
            case("shorter", f"{_PACK % 'False'}[0]", (3,), x=(4, 2), lengths=[2, 1]),
            case("ascending", _PACK % "False", raises=True, lengths=[1, 3]),
            case("of-length-zero", _PACK % "False", raises=True, lengths=[3, 0]),
            case("another-batch", _PACK % "False", raises=True, lengths=[3]),
            case("nothing", _PACK % "False", raises=True, x=(0, 2)),
            case("one-dimension", _PACK % "False", raises=True, x=(3,)),
        ),
    ),
    Operator(
        "_pad_packed_sequence",
        (Input("x", shape=(4,)), lengths(2, 1, 1)),
        f"{_PAD % 'False, 0.0, 0'}[0]",
        (3, 2),
        cases=(
            case("features", f"{_PAD % 'False, -1.0, 4'}[0]", (4, 2, 2), x=(4, 2)),
            case("batch-first", f"{_PAD % 'True, 0.5, 3'}[0]", (2, 3, 2), x=(4, 2)),
            case("lengths", f"{_PAD % 'False, 0.0, 0'}[1]", outputs="found", dtype="int64"),
            case("too-short", _PAD % "False, 0.0, 2", raises=True),
        ),
    ),
    Operator(
        "pad_sequence",
        (Input("a", shape=(2, 2)), Input("b", shape=(3, 2))),
        "torch.nn.utils.rnn.pad_sequence([{a}, {b}])",
        (3, 2, 2),
        cases=(
            case(
                "left",
                "torch.nn.utils.rnn.pad_sequence([{a}, {b}], True, 1.0, padding_side='left')",
                (2, 3, 2),
            ),
            case(
                "features-differ",
                "torch.nn.utils.rnn.pad_sequence([{a}, {b}])",
                raises=True,
                b=(3, 4),
            ),
        ),
    ),
)
