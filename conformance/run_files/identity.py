"""The names of a run's two sides in words, from its header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.base.torch_versions import minor

_RECORDED = "recorded:torch-"


def is_web_address(text: str) -> bool:
    """Whether a page may link this text: other schemes, such as ``javascript:``, act."""
    return text.startswith(("https://", "http://")) and text.isprintable() and " " not in text


def called(side: Mapping[str, Any]) -> str:
    """The name that a side is known by, without its device.

    It is what ``--name`` said, or a port of itself, or else the name by which ``--backend``
    finds it.
    """
    name = str(side["name"])
    return str(side.get("title") or name.removesuffix(f":{side.get('device')}"))


def named(side: Mapping[str, Any], exactly: bool = False) -> str:
    """A side in words, `torch 2.13.0 (cpu)`; `exactly` keeps a local version such as `+cu130`."""
    device, version = side.get("device"), str(side.get("version") or "")
    shown = version if exactly else version.partition("+")[0]
    return " ".join(filter(None, (called(side), shown, f"({device})" if device else "")))


def torch_version(header: Mapping[str, Any]) -> str | None:
    """The minor version of torch that is the oracle of a run; None for another oracle."""
    oracle = header["oracle"]
    name = str(oracle["name"])
    if name.partition(":")[0] == "torch" or name.startswith(_RECORDED):
        return minor(str(oracle["version"]))
    return None
