"""Resolution of names in a program: its own, torch's, or builtins."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Collection
from typing import Any

CONSTANTS = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "e": math.e, "tau": math.tau}
"""Numbers that `math` and `torch` have by name."""


class Names:
    """The names of one program: those that it binds somewhere, and its imports so far."""

    def __init__(self, bound: Collection[str]) -> None:
        self.bound = frozenset(bound)
        self.imported: dict[str, str] = {"torch": "torch"}

    def import_(self, node: ast.Import | ast.ImportFrom) -> None:
        """Record the names that an import statement binds."""
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                self.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif alias.asname:
                self.imported[alias.asname] = alias.name
            else:
                root = alias.name.partition(".")[0]
                self.imported[root] = root

    def rebind(self, name: str) -> None:
        """Record that the program binds the name itself."""
        self.imported.pop(name, None)

    def path(self, node: ast.expr) -> str | None:
        """Return the dotted path of something imported (`torch.nn.functional.relu`), else None."""
        if isinstance(node, ast.Name):
            return self.imported.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self.path(node.value)) is not None:
            return f"{owner}.{node.attr}"
        return None

    def is_builtin(self, name: str) -> bool:
        """Say whether the name is a builtin that the program does not rebind."""
        return name not in self.bound and name not in self.imported and hasattr(builtins, name)


def constant(path: str) -> Any:
    """Return the number at a path such as `math.pi`; raises KeyError for anything else."""
    module, _, name = path.rpartition(".")
    if module not in ("math", "torch"):
        raise KeyError(path)
    return CONSTANTS[name]
