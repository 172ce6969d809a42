"""Images sampled at the points of a grid."""

from __future__ import annotations

from conformance.samples.operator import UNIT, Input, Operator, case

_SAMPLED = "torch.nn.functional.grid_sample({x}, {grid}, mode='%s', align_corners=%s)"

GRIDS = (
    Operator(
        "grid_sample",
        (Input("x", shape=(1, 2, 3, 4)), Input("grid", UNIT, shape=(1, 2, 3, 2))),
        _SAMPLED % ("bilinear", False),
        (1, 2, 2, 3),
        integers=False,
        halves=(),  # their sums are rounded term by term
        cases=(
            case("corners", _SAMPLED % ("bilinear", True), (1, 2, 2, 3)),
            case("nearest", _SAMPLED % ("nearest", True), (1, 2, 2, 3)),
            case("bicubic", _SAMPLED % ("bicubic", False), (1, 2, 2, 3)),
        ),
    ),
)
