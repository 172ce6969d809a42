"""Edits: lines of a source file of `impl` that are replaced while it is imported."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "impl"


class EditError(Exception):
    """An edit that does not fit its file: the lines are not there, or more than once."""


@dataclass(frozen=True)
class Edit:
    """The replacement of whole lines in one file of the package, which have to stand there once."""

    file: str
    old: str
    new: str

    @property
    def module(self) -> str:
        """The full name of the module in the file."""
        path = Path(self.file).with_suffix("")
        return ".".join(path.parent.parts if path.name == "__init__" else path.parts)

    def apply(self, source: str) -> str:
        """The source after the replacement; raises EditError."""
        found = [match.span() for match in re.finditer(f"(?m)^{re.escape(self.old)}", source)]
        if len(found) != 1:
            first = self.old.strip().splitlines()[0]
            raise EditError(
                f"{self.file}: the lines to replace stand there {len(found)} times: {first}"
            )
        begin, end = found[0]
        return source[:begin] + self.new + source[end:]


def edited(edits: Sequence[Edit]) -> ModuleType:
    """The package imported again with these edits, in place of the one imported before.

    Raises EditError, and whatever the edited modules raise.
    """
    originals = _modules()
    codes = {name: changed for name, (_, changed) in codes_of(edits).items()}
    for name in [n for n in sys.modules if n == PACKAGE or n.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(originals, codes))
    return importlib.import_module(PACKAGE)


def codes_of(edits: Sequence[Edit]) -> dict[str, tuple[CodeType, CodeType]]:
    """The code of each edited module by its name, before and after. Raises EditError."""
    originals = _modules()
    changed: dict[str, str] = {}
    for edit in edits:
        if edit.module not in originals:
            raise EditError(f"{edit.file}: there is no such module of {PACKAGE}")
        if edit.module not in changed:
            changed[edit.module] = Path(originals[edit.module].path).read_text("utf-8")
        changed[edit.module] = edit.apply(changed[edit.module])
    return {
        name: (
            originals[name].code,
            compile(text, originals[name].path, "exec", dont_inherit=True),
        )
        for name, text in changed.items()
    }


@dataclass(frozen=True)
class _Original:
    """A module as it stands on disk: its file, its folder if a package, and its code."""

    path: str
    folder: list[str] | None
    code: CodeType


@cache
def _modules() -> dict[str, _Original]:
    """The modules of the package by name; they are compiled once, before processes are forked."""
    importlib.import_module(PACKAGE)
    found = {}
    for name, module in list(sys.modules.items()):
        spec: Any = getattr(module, "__spec__", None)
        if (name == PACKAGE or name.startswith(f"{PACKAGE}.")) and spec is not None:
            folder = spec.submodule_search_locations
            code = spec.loader.get_code(name)
            found[name] = _Original(spec.origin, None if folder is None else list(folder), code)
    return found


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the package, the edited ones with their new code."""

    def __init__(self, originals: dict[str, _Original], codes: dict[str, CodeType]) -> None:
        self.originals, self.codes = originals, codes

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        original = self.originals.get(fullname)
        if original is None:
            return None
        loader = _Loader(fullname, original.path, self.codes.get(fullname, original.code))
        return importlib.util.spec_from_file_location(
            fullname, original.path, loader=loader, submodule_search_locations=original.folder
        )


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module whose code is there already."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


def prepare() -> None:
    """Import and compile the package now, so that every process forked later finds it done."""
    _modules()
