"""ZeroTensors, zeros without memory, at the level of tensors (ATen's ZeroTensor)."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS, method_of
from impl.core.zero_arrays import is_zeros
from impl.tensor.tensor import Tensor


@method_of(Tensor)
def _is_zerotensor(input) -> bool:
    """Whether a tensor is a ZeroTensor (torch._is_zerotensor)."""
    return input._zero or is_zeros(input._raw)


FUNCTIONS["_is_zerotensor"] = _is_zerotensor
