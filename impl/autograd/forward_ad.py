"""`torch.autograd.forward_ad`: dual tensors, made and unpacked within a dual level."""

from __future__ import annotations

from typing import NamedTuple

from impl.core import messages
from impl.core.grad_mode import _Mode
from impl.core.state import STATE
from impl.tape import dual_tensor
from impl.tensor import batched_tensor, forward_grad
from impl.tensor.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter dual level 0, the only one. Raises RuntimeError if it has been entered already."""
    global _current_level
    _current_level = forward_grad.enter()
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit the dual level and discard all tangents. Raises RuntimeError for another level."""
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    forward_grad.leave()
    _current_level -= 1


def _entered_level() -> int:
    """Level 0, which `torch.func.jvp` enters as well, or -1 outside of it."""
    return 0 if any(t.forward for t in STATE.transforms) else _current_level


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape.

    Raises RuntimeError outside of a level, for a tensor or tangent that is a dual, and for a
    tangent of another shape, and under `vmap`; ValueError for integer tensors.
    """
    if level is None:
        level = _entered_level()
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    _refuse_batched("_make_dual", tensor, tangent)
    return dual_tensor.make_dual(tensor, tangent, level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor; outside of a level the tensor itself and None."""
    if level is None:
        level = _entered_level()
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    _refuse_batched("_unpack_dual", tensor)
    return UnpackedDualTensor(*dual_tensor.unpack_dual(tensor, level))


def _refuse_batched(name: str, *tensors: Tensor) -> None:
    """Raise RuntimeError for a batched tensor where `vmap` is the innermost transform."""
    maps = STATE.transforms and getattr(STATE.transforms[-1], "randomness", None) is not None
    if maps and batched_tensor.innermost(tensors) is not None:
        raise RuntimeError(messages.NO_VIEW_RULE.format(f"aten::{name}"))


class dual_level(_Mode):
    """A dual level as a context manager, which returns the level, and as a decorator."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return forward_grad.is_seen()


class _set_fwd_grad_enabled(_Mode):
    """Sets whether this thread sees tangents, immediately; as a context manager it restores."""

    def __init__(self, mode: bool) -> None:
        self._before = STATE.forward
        STATE.forward = bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        STATE.forward = self._before
