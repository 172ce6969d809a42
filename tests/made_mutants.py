"""A catalogue of mutants for tests: of the miniature backend, each with one mistake."""

from __future__ import annotations

import os
import time
from typing import Any

import impl
from conformance.mutation.mutant import Mutant

SHOWS = "x = torch.ones(2)\ny = x.detach()\ny.add_(1)\nx\n"


def _detach_copies() -> Any:
    impl.Tensor.detach = lambda self: self.clone()
    return impl


def _nothing() -> Any:
    return impl


def _raises() -> Any:
    raise ValueError("the lines are not there")


def _dies() -> Any:
    impl.Tensor.detach = lambda self: os._exit(3)
    return impl


def _hangs() -> Any:
    impl.Tensor.detach = lambda self: time.sleep(100)
    return impl


def _odd() -> Any:
    impl.Tensor.t_ = lambda self: self
    return impl


def _mutant(name: str, apply: Any, breaks: str, shows: str = SHOWS) -> Mutant:
    return Mutant(name, "aliasing", "sharing", f"`{name}` <b>.", (breaks,), shows, apply)


MUTANTS = (
    _mutant("copies", _detach_copies, "ALIAS-01"),
    _mutant("same", _nothing, "ALIAS-01"),
    _mutant("absent", _raises, "ALIAS-01"),
    _mutant("dies", _dies, "ALIAS-01"),
    _mutant("hangs", _hangs, "ALIAS-01"),
    _mutant("unseen", _odd, "TIES-13", "x = torch.ones(2, 3)\nx.t_().shape\n"),
)


def catalogue() -> tuple[Mutant, ...]:
    """The mutants above."""
    return MUTANTS
