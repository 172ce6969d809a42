"""Coverage: the lines of a backend's sources that programs reach."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


class Coverage:
    """Collects the lines of a package that are executed, and says which programs reach new ones.

    A function all of whose lines are known costs one call of the tracer, and no more: the cost
    falls as coverage grows.
    """

    def __init__(self, backend: str) -> None:
        """``backend`` is its name; a process of its own (`cmd:`) has no lines here."""
        self._folder = _folder(backend)
        self.lines: set[tuple[str, int]] = set()
        self._left: dict[CodeType, set[int]] = {}
        self.reached: list[tuple[str, int]] = []
        """The lines that the last block reached first, within the package."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Collect the lines that this thread executes within the block."""
        self.reached = []
        if self._folder is None or sys.gettrace() is not None:
            yield
            return
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def know(self, lines: Iterable[tuple[str, int]]) -> None:
        """Count these lines as reached by earlier programs."""
        self.lines.update(lines)

    def total(self) -> int:
        """How many lines the package's loaded modules have within functions."""
        if self._folder is None:
            return 0
        found = 0
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(self._folder):
                loader: Any = getattr(module.__spec__, "loader", None)
                code = loader.get_code(name) if hasattr(loader, "get_code") else None
                found += sum(len(_lines(inner)) for inner in _functions(code))
        return found

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            mine = self._folder is not None and code.co_filename.startswith(self._folder)
            left = self._left[code] = _lines(code) if mine else set()
        if not left:
            return None

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            number = frame.f_lineno
            if number in left:
                left.discard(number)
                place = (code.co_filename[len(self._folder or "") :], number)
                if place not in self.lines:
                    self.reached.append(place)
                    self.lines.add(place)
            return line

        return line


def _lines(code: CodeType) -> set[int]:
    return {n for _, _, n in code.co_lines() if n is not None and n != code.co_firstlineno}


def _functions(code: CodeType | None) -> Iterator[CodeType]:
    """The code of every function within a module's code."""
    for constant in code.co_consts if code is not None else ():
        if isinstance(constant, CodeType):
            if constant.co_flags & 0x2:  # its locals are fast: a function, and no class body
                yield constant
            yield from _functions(constant)


def _folder(backend: str) -> str | None:
    """The folder of the package that the backend's name begins with."""
    root = backend.partition(":")[0].partition(".")[0]
    if backend.startswith("cmd:"):
        return None
    found = importlib.util.find_spec(root)
    places = list((found.submodule_search_locations or ()) if found else ())
    return f"{places[0]}/" if places else None
