"""`torch.ops`: what this project has of the operators that torch gives no other public name."""

from __future__ import annotations

from types import SimpleNamespace

from impl.operator import TAPED
from impl.operators.native import native_dropout_backward

aten = SimpleNamespace(
    max_pool2d_with_indices_backward=TAPED.max_pool2d_with_indices_backward,
    native_dropout_backward=native_dropout_backward,
    slice=TAPED.slice,
)
