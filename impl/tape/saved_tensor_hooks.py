"""Saved-tensor hooks: pack and unpack hooks for the tensors saved in a block.

While they are active, every saved tensor is stored as an `impl.tape.saved_variable.Packed`
(torch/autograd/graph.py, csrc/autograd/saved_variable_hooks.h).
"""

from __future__ import annotations

from contextlib import contextmanager

from impl.core.checks import check_callable
from impl.core.state import STATE

_PUSH = (
    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument "
    "types are supported:\n    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) "
    "-> None\n\nInvoked with: "
)


class saved_tensors_hooks:
    """Pack and unpack hooks for tensors saved in the block (torch.autograd.graph).

    A node stores `pack_hook(tensor)`, any object, and backward uses `unpack_hook(object)`, a
    tensor. In nested blocks only the innermost pair applies.

    Entering raises TypeError for hooks that cannot be called, and RuntimeError within
    `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook, unpack_hook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        check_callable(_PUSH, (self.pack_hook, self.unpack_hook))
        if STATE.saved_hooks_disabled is not None:
            raise RuntimeError(STATE.saved_hooks_disabled)
        STATE.saved_hooks = (*STATE.saved_hooks, (self.pack_hook, self.unpack_hook))
        STATE.fast_path_blockers += 1

    def __exit__(self, *exc) -> None:
        STATE.saved_hooks = STATE.saved_hooks[:-1]
        STATE.fast_path_blockers -= 1


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in CPU memory (torch.autograd.graph.save_on_cpu).

    A CPU tensor is kept as it is; with `pin_memory` a copy.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor):
            return (tensor.device, tensor.clone() if pin_memory else tensor.cpu())

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Within the block, entering `saved_tensors_hooks` raises RuntimeError with this message.

    Entering this block raises the same error if such hooks are active.
    """
    if isinstance(error_message, (bytes, bytearray)):  # as pybind11 reads a string
        error_message = error_message.decode()
    if not isinstance(error_message, str):
        raise TypeError(
            "_saved_tensors_hooks_disable(): incompatible function arguments. The following "
            "argument types are supported:\n    1. (error_message: str, fail_if_non_empty: bool = "
            f"True) -> None\n\nInvoked with: {error_message!r}"
        )
    if STATE.saved_hooks:
        raise RuntimeError(error_message)
    previous, STATE.saved_hooks_disabled = STATE.saved_hooks_disabled, error_message
    try:
        yield
    finally:
        STATE.saved_hooks_disabled = previous
