"""Backends and texts that are hostile to a terminal, for the tests of faults."""

from __future__ import annotations

from typing import Any

import impl

HOSTILE = (
    "\x1b[31mred\x1b[0m\x1b[2J",
    "\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x07",
    "\x9b31m\x9d0;title\x9c",
    "\n::error file=x::hidden\n::set-output name=x::y",
    "\n   ::stop-commands::x",
    "\r##[error]hidden",
    "middle ##vso[task.setvariable variable=x]y",
    "##teamcity[buildStatus text='x']",
    "\u202egnp.exe\u2066\u200f",
    "\b\b\b\x00\x7f\x85\u2028::error::x",
    "half \udc80",
)
"""Texts that act on a terminal or on a CI service."""

HOSTILE_PORT = "made_files:hostile"


class _Hostile:
    """The namespace of a port with hostile texts in its errors, warnings and printed lines."""

    __version__ = "".join(HOSTILE)

    def __getattr__(self, name: str) -> Any:
        return _hostile if name in ("ones", "tensor") else getattr(impl, name)


def _hostile(*_: Any, **__: Any) -> Any:
    print("".join(HOSTILE), flush=True)
    raise RuntimeError("".join(HOSTILE))


hostile = _Hostile()


def __getattr__(name: str) -> Any:
    if name == "import_error":
        raise RuntimeError("".join(HOSTILE))
    raise AttributeError(name)
