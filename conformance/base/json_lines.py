"""JSON Lines as the suite writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def dumps(line: Mapping[str, Any]) -> str:
    """One line of a run file, without its newline; the same mapping gives the same bytes."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
