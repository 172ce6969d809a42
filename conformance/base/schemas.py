"""The published JSON Schemas: of run files, of the neutral form, and of the protocol of ports."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

NAMES = ("run", "neutral", "protocol")
"""Each stands in schema/NAME.schema.json; they refer to one another by their `$id`."""


def text(name: str) -> str:
    """Return the text of a schema (JSON Schema 2020-12); raises KeyError for a name not above."""
    if name not in NAMES:
        raise KeyError(name)
    file = resources.files("conformance").joinpath("schema", f"{name}.schema.json")
    return file.read_text("utf-8")


def schema(name: str) -> dict[str, Any]:
    """Return a schema; raises as `text`."""
    return json.loads(text(name))
