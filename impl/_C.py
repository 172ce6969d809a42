"""`torch._C`: what programs use of PyTorch's extension module in C++."""

from __future__ import annotations

from impl.core.tensor_impl import TensorBase
from impl.tensor.torch_function import DisableTorchFunctionSubclass
from impl.tensor.torch_function import disabled as _disabled_torch_function_impl

__all__ = ["DisableTorchFunctionSubclass", "TensorBase", "_disabled_torch_function_impl"]
