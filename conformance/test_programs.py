"""The suite: every program is one test, and its ID stands in the test's name."""

from __future__ import annotations

from typing import Any

from conformance.options import Settings
from conformance.plugin import settle


def test_program(conform_line: dict[str, Any], conform_settings: Settings) -> None:
    """The program does on the backend what it does on the oracle."""
    settle(conform_line, conform_settings)
