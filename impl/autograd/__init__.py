"""`torch.autograd`: backward, grad, and the grad modes."""

from impl.autograd import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    profiler,
)
from impl.autograd.gradcheck import gradcheck, gradgradcheck
from impl.autograd.variable import Variable
from impl.core.grad_mode import (
    _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from impl.engine.backward import backward, grad
from impl.graph.anomaly_mode import detect_anomaly, set_detect_anomaly
from impl.tape.custom_function import Function
from impl.tape.versions import _unsafe_preserve_version_counter
from impl.tensor.overridable import has_torch_function as has_torch_function
from impl.tensor.torch_function import handle_torch_function as handle_torch_function


def variable(*args, **kwargs):
    """Raise RuntimeError: `torch.tensor` replaced it in torch 0.4."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]  # the function hides the module


def _is_checkpoint_valid() -> bool:
    return Variable._execution_engine.is_checkpoint_valid()


__all__ = [
    "Function",
    "Variable",
    "_force_original_view_tracking",
    "_unsafe_preserve_version_counter",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
