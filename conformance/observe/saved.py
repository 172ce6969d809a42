"""The tensors that nodes saved, as a node's attributes give them.

Reading them is no part of a trace: it calls the program's unpack hooks and may raise, so a program
goes on differently after it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.observe.observer import Observer

_STALE = re.compile(r"is at version (\d+); expected version (\d+)")
_FREED = "after they have already been freed"

Saved = list[Any]
"""`[attribute, storage's label or None, version when saved or None, version now or None]`."""


def saved_tensors(
    observer: Observer, live: Mapping[str, Any], *, hooks: bool
) -> dict[str, dict[str, list[Saved] | None]]:
    """Return the saved tensors of each name's graph, by the number of their node in the trace.

    None stands for a node whose saved tensors are freed. With `hooks`, a tensor may be the one that
    an unpack hook made, whose version says nothing of the saved one: versions are left out.
    """
    found = {}
    for name, tensor in _tensors(observer, live):
        of_nodes = {}
        try:
            root = tensor.grad_fn
        except Exception:  # of a view whose base was modified in a way that it refuses
            continue
        for number, node in enumerate(observer.nodes(root)):
            rows = _rows(observer, node, hooks)
            if rows != []:
                of_nodes[str(number)] = rows
        if of_nodes:
            found[name] = of_nodes
    return found


def _tensors(observer: Observer, live: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in live.items():
        if observer.is_tensor(value):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(observer, {f"{name}[{n}]": one for n, one in enumerate(value)})


def _rows(observer: Observer, node: Any, hooks: bool) -> list[Saved] | None:
    rows: list[Saved] = []
    for attribute in dir(type(node)):
        if not (attribute.startswith("_saved_") or attribute == "saved_tensors"):
            continue
        name = attribute.removeprefix("_saved_")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(node, attribute)
        except Exception as error:
            if _FREED in str(error):
                return None
            if versions := _STALE.search(str(error)):
                rows.append([name, None, int(versions[2]), int(versions[1])])
            continue
        parts = value if isinstance(value, (list, tuple)) else [value]
        for number, part in enumerate(parts):
            if observer.is_tensor(part):
                numbered = f"{name}[{number}]" if parts is value else name
                rows.append([numbered, *_place(observer, part, hooks)])
    return rows


def _place(observer: Observer, tensor: Any, hooks: bool) -> tuple[str | None, Any, Any]:
    label = observer.known_label(tensor)
    try:
        version = None if hooks else int(tensor._version)
    except Exception:  # an inference tensor has none
        version = None
    return label, version, version
