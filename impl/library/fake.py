"""Kernels for tensors without data, on the meta device (torch/_library/fake_impl.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from impl.library import dispatch_keys as keys

_NO_SIZES = (
    "{} ({}): You're trying to run this operator with meta Tensors (as opposed to FakeTensors), "
    "but this operator may return an output Tensor with data-dependent shape. Meta Tensors don't "
    "support operators with outputs that have data-dependent shapes but FakeTensors do. If your "
    "operator does not return an output with data-dependent shape, make sure the FakeTensor "
    "and/or meta kernel does not call torch.library.get_ctx(). Otherwise, please use "
    "FakeTensors."
)
_running: list[Kernel] = []


class Kernel:
    """A fake kernel for the meta device, whose place in a program is that of the function `at`."""

    def __init__(self, qualname: str, function: Callable, *, at: Callable | None = None) -> None:
        self.qualname, self.function = qualname, function
        at = function if at is None else at
        code = getattr(at, "__code__", None)
        self.place = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(at)

    def __call__(self, *args: Any, **named: Any) -> Any:
        with self._entered():
            return self.function(*args, **named)

    @contextmanager
    def _entered(self) -> Iterator[None]:
        _running.append(self)
        try:
            yield
        finally:
            _running.pop()


def check_none(entry) -> None:
    """Raise RuntimeError for an operator that has a kernel for the meta device."""
    kernel = entry.kernel(keys.META)
    if isinstance(kernel, Kernel):
        raise RuntimeError(
            f"register_fake(...): the operator {entry.qualname} already has a fake impl registered "
            f"at {kernel.place}."
        )
    if kernel is not None:
        raise RuntimeError(
            f"register_fake(...): the operator {entry.qualname} already has an DispatchKey::Meta "
            "implementation via a pre-existing torch.library or TORCH_LIBRARY registration. Please "
            "either remove that registration or don't call register_fake."
        )


def get_ctx() -> None:
    """The context of a fake kernel that makes sizes which depend on data: None outside of one.

    Raises RuntimeError in one that runs for the meta device, which has no such sizes.
    """
    if _running:
        raise RuntimeError(_NO_SIZES.format(_running[-1].qualname, _running[-1].place))
