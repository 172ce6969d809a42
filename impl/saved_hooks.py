"""Saved-tensor hooks: deciding, in a block, what operators keep of the tensors they save.

While such hooks are active every saved tensor goes through `impl.saved.Packed`: the pack hook makes
an object of it, the unpack hook a tensor of the object (torch/autograd/graph.py).
"""

from __future__ import annotations

from contextlib import contextmanager

from impl.modes import STATE
from impl.saved import check_callable

_PUSH = (
    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument "
    "types are supported:\n    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) "
    "-> None\n\nInvoked with: "
)


class saved_tensors_hooks:
    """What operators in the block save is `pack_hook(tensor)`, any object, and is read as the
    tensor that `unpack_hook(object)` returns. Of nested blocks the innermost counts alone.

    Entering raises TypeError for hooks that cannot be called, and RuntimeError within
    `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook, unpack_hook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        check_callable(_PUSH, (self.pack_hook, self.unpack_hook))
        if STATE.saved_hooks_refused is not None:
            raise RuntimeError(STATE.saved_hooks_refused)
        STATE.saved_hooks = (*STATE.saved_hooks, (self.pack_hook, self.unpack_hook))
        STATE.unusual += 1

    def __exit__(self, *exc) -> None:
        STATE.saved_hooks = STATE.saved_hooks[:-1]
        STATE.unusual -= 1


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved in CPU memory: as it is if it is there, a copy with `pin_memory`."""

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

    So does entering the block itself where such hooks are active.
    """
    if not isinstance(error_message, str):
        raise TypeError(
            "_saved_tensors_hooks_disable(): incompatible function arguments. The following "
            "argument types are supported:\n    1. (error_message: str, fail_if_non_empty: bool = "
            f"True) -> None\n\nInvoked with: {error_message!r}"
        )
    if STATE.saved_hooks:
        raise RuntimeError(error_message)
    previous, STATE.saved_hooks_refused = STATE.saved_hooks_refused, error_message
    try:
        yield
    finally:
        STATE.saved_hooks_refused = previous
