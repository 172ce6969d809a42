"""`torch.torch_version`: a version that compares by its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_VERSION = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<number>\d*))?"
    r"(?P<post>-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?"
    r"(?P<dev>[-_.]?dev[-_.]?\d*)?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_LOWEST, _HIGHEST = (float("-inf"),), (float("inf"),)


def _comparison(name: str):
    """A comparison of versions; of texts, where one of them is no version."""

    def compare(self, other: Any) -> bool:
        own, others = _key(str(self)), _key(other)
        if own is None or others is None:
            return getattr(str, name)(self, other)
        return getattr(own, name)(others)

    compare.__name__ = name
    compare.__qualname__ = f"TorchVersion.{name}"
    return compare


class TorchVersion(str):
    """A version as text, which compares with versions as texts and as tuples, such as (2, 1)
    (torch.torch_version.TorchVersion)."""

    __slots__ = ()

    __eq__ = _comparison("__eq__")
    __lt__ = _comparison("__lt__")
    __le__ = _comparison("__le__")
    __gt__ = _comparison("__gt__")
    __ge__ = _comparison("__ge__")
    __hash__ = str.__hash__


def _key(version: str | Iterable[Any]) -> tuple | None:
    """The key by which a version is ordered (PEP 440); None for a text that is no version."""
    if not isinstance(version, str):
        if not isinstance(version, Iterable):
            return None
        version = ".".join(map(str, version))
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    stage = (found["stage"] or "").lower()
    before = (_STAGES.get(stage, stage), int(found["number"] or 0)) if stage else None
    post, dev = (_number(found[part]) for part in ("post", "dev"))
    if before is None:
        # A development release without another stage comes before every other stage.
        before = ("", 0) if post is None and dev is not None else ("~", 0)
    return (
        int(found["epoch"] or 0),
        tuple(release),
        before,
        _LOWEST if post is None else (post,),
        _HIGHEST if dev is None else (dev,),
        _local(found["local"]),
    )


def _number(part: str | None) -> int | None:
    if part is None:
        return None
    digits = re.search(r"\d+", part)
    return int(digits[0]) if digits else 0


def _local(text: str | None) -> tuple:
    """The key of a local version: numbers come after words, and no part before any."""
    if text is None:
        return ()
    parts = re.split(r"[-_.]", text.lower())
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
