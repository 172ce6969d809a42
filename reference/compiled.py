"""torch with every operator call compiled: `torch:compile=BACKEND`, such as aot_eager.

With `@DEVICE` after it, such as `torch:compile=inductor@cuda`, on another device than the CPU.

The harness observes a program after every statement, so the largest unit to compile is one call:
each operator call goes through `torch.compile`, forward and backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch._dynamo
import torch._functorch.config
from torch.overrides import TorchFunctionMode, resolve_name

from reference.oracle import Torch

PREFIX = "compile="
"""Prefix, after `torch:`, in the name of such a backend; the compiler's name follows."""

# Tensor methods that stay eager: queries, and operations on the graph rather than on values.
# fmt: off
_EAGER = frozenset({
    "backward", "detach", "detach_", "requires_grad_", "retain_grad", "register_hook", "tolist",
    "item", "numpy", "stride", "storage_offset", "untyped_storage", "size", "dim", "numel",
    "is_contiguous", "is_floating_point", "is_complex", "register_post_accumulate_grad_hook",
    "data_ptr", "as_subclass", "tensor", "as_tensor", "from_numpy", "empty", "_is_view",
    "element_size", "is_set_to", "resolve_conj", "resolve_neg", "is_conj", "is_neg", "grad",
    "__repr__", "__format__", "__len__", "__iter__", "__contains__", "__bool__", "__float__",
    "__int__", "__index__", "__complex__", "__hash__", "__array__", "__reduce_ex__",
    "__deepcopy__", "__dir__", "get_device", "type",
})
# fmt: on

_NO_LIMIT = 1 << 30


class Compiled(Torch):
    """Torch on a device whose operators are compiled by the named backend of `torch.compile`."""

    def __init__(self, name: str, compiler: str, device: torch.device) -> None:
        super().__init__(name, device)
        if compiler not in torch.compiler.list_backends(exclude_tags=()):
            raise ValueError(f"torch.compile has no backend {compiler!r}")
        self._compiler = compiler

    @contextmanager
    def session(self) -> Iterator[None]:
        """torch's session, with every operator call of the program compiled.

        Nothing compiled for another program is left, nor read from the cache on disk: where
        torch.compile gives a function up, as it does at dual tensors, the function stays eager for
        ever, and a graph compiled for a pass that frees it refuses one that keeps it.
        """
        torch.compiler.reset()
        _compiled.cache_clear()
        # At these limits torch.compile falls back to eager execution without an error.
        limits = {"recompile_limit": _NO_LIMIT, "accumulated_recompile_limit": _NO_LIMIT}
        with (
            super().session(),
            torch._dynamo.config.patch(limits),
            torch._functorch.config.patch(enable_autograd_cache=False),
            _Compiling(self._compiler),
        ):
            yield


class _Compiling(TorchFunctionMode):
    """A torch-function mode that compiles operator calls, not reads of attributes and values."""

    def __init__(self, compiler: str) -> None:
        super().__init__()
        self._compiler = compiler

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if not _is_operator(func) or not any(map(_holds_tensor, (*args, *options.values()))):
            return func(*args, **options)
        return _compiled(func, self._compiler)(*args, **options)


def _is_operator(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    if name in _EAGER or name in ("__get__", "__set__", "__delete__"):
        return False
    return resolve_name(function) is not None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


@cache
def _compiled(function: Callable[..., Any], compiler: str) -> Callable[..., Any]:
    def operator(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    # A separate code object: torch.compile caches and searches compiled code by code object.
    operator.__code__ = operator.__code__.replace(co_name=getattr(function, "__name__", "operator"))
    return torch.compile(operator, backend=compiler, dynamic=False)


def backend(name: str, described: str) -> Compiled:
    """torch under a compiler, which may have `@DEVICE` after it.

    Raises ValueError if torch.compile has no such backend, and RuntimeError for an unknown device.
    """
    compiler, _, device = described.partition("@")
    return Compiled(name, compiler, torch.device(device or "cpu"))
