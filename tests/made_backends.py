"""Backends with a fault, for tests: torch with some functions replaced."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from conformance.backends import TorchShaped


def changed(**replaced: Any) -> TorchShaped:
    """torch with some of its functions replaced."""
    return TorchShaped("changed", _torch_with(replaced), "1")


def _torch_with(replaced: dict[str, Any]) -> SimpleNamespace:
    names = {name: getattr(torch, name) for name in dir(torch)}
    return SimpleNamespace(**names | replaced)


class Spendable(TorchShaped):
    """torch with a `cosh` whose kernel fails: then nothing that is called works in its process."""

    def __init__(self) -> None:
        def cosh(x: torch.Tensor) -> torch.Tensor:
            self.failed = True
            return torch.zeros_like(x)

        replaced = {"cosh": cosh, "ones": self._checked(torch.ones)}
        super().__init__("spendable", _torch_with(replaced), "1")
        self.failed = False

    def _checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **options: Any) -> Any:
            if self.failed:
                raise RuntimeError("a kernel has failed")
            return function(*args, **options)

        return checked

    def spent(self) -> str | None:
        """The failure of a kernel, if there was one."""
        return "a kernel has failed" if self.failed else None


class Unsure(Spendable):
    """One that raises where it is asked whether a kernel has failed."""

    def spent(self) -> str | None:
        """Raises ValueError."""
        raise ValueError("no such register")


def doubled_sinh() -> TorchShaped:
    """torch with a sinh that returns twice the correct value."""
    return changed(sinh=lambda x: torch.sinh(x) * 2)
