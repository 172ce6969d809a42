"""The public names of torch, and how many of them a backend's namespace has."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any


@cache
def public_names() -> dict[str, dict[str, bool]]:
    """For each space (`torch.linalg`) the names, and whether each is in the scope of the suite.

    They stand in `names.txt`, which `python -m reference.names` makes from torch. Out of scope
    are those for which `reference/names.toml` has a reason.
    """
    table: dict[str, dict[str, bool]] = {}
    text = resources.files("conformance.signatures").joinpath("names.txt").read_text("utf-8")
    for line in text.splitlines():
        full, *mark = line.split()
        space, _, name = full.rpartition(".")
        table.setdefault(space, {})[name] = not mark
    return table


def names_of(namespace: Any) -> list[dict[str, Any]]:
    """Per space: how many names there are, how many the namespace has, and those that it lacks.

    A name counts as there if the namespace has an attribute of that name. Raises nothing: an
    attribute that raises when it is read is not there.
    """
    counts = []
    for space, names in public_names().items():
        owner = namespace
        for part in space.split(".")[1:]:
            owner = _attribute(owner, part)
        lacking = [name for name in names if _attribute(owner, name) is _NOTHING]
        counts.append(
            {
                "space": space,
                "public": len(names),
                "present": len(names) - len(lacking),
                "out_of_scope": sum(not names[name] for name in lacking),
                "missing": [name for name in lacking if names[name]],
            }
        )
    return counts


_NOTHING = object()


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, _NOTHING)
    except Exception:
        return _NOTHING
