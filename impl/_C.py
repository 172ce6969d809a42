"""`torch._C`: what programs use of PyTorch's extension module in C++."""

from __future__ import annotations

from impl.core.below_autograd import BelowAutograd
from impl.core.state import STATE
from impl.core.tensor_impl import TensorBase
from impl.futures import _Future as Future
from impl.tensor.dispatching import DisableTorchDispatch as _DisableTorchDispatch
from impl.tensor.dispatching import disabled as _disabled_torch_dispatch_impl
from impl.tensor.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from impl.tensor.torch_function import disabled as _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Future",
    "TensorBase",
    "_AutoDispatchBelowAutograd",
    "_DisableTorchDispatch",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_get_tracing_state",
    "_is_torch_function_enabled",
    "_log_api_usage_once",
]


class _AutoDispatchBelowAutograd(BelowAutograd):
    """While it is entered, operators are called below autograd, as the kernel for autograd of an
    operator calls the operator itself (torch._C._AutoDispatchBelowAutograd)."""


def _is_torch_function_enabled() -> bool:
    """Whether classes are asked (torch._C._is_torch_function_enabled)."""
    return STATE.torch_function


def _get_tracing_state() -> None:
    """The trace of torch.jit.trace being made, which is None: there is none
    (torch._C._get_tracing_state)."""


def _log_api_usage_once(event: str) -> None:
    """Report that a part of the library is used, which nothing listens to
    (torch._C._log_api_usage_once)."""
