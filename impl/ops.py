"""`torch.ops`: the implemented ones of the operators without another public name in torch."""

from __future__ import annotations

from types import SimpleNamespace

import impl.operators  # noqa: F401 (it defines the operations that are taken from `tensor_ops`)
from impl.core.registry import tensor_ops
from impl.operators.layers.native import native_dropout_backward

aten = SimpleNamespace(
    max_pool2d_with_indices_backward=tensor_ops.max_pool2d_with_indices_backward,
    native_dropout_backward=native_dropout_backward,
    slice=tensor_ops.slice,
)
