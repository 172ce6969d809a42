"""Escapes of texts that came from a backend, so that they can be shown in a terminal or a log.

A terminal acts on control characters (it moves the cursor, writes to the clipboard, changes its
title), a reader is deceived by those that turn the direction of writing, and the log of a CI
service is read for commands that hide text, set variables or mark lines as errors.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(
    # Azure and the older form of GitHub find these anywhere in a line.
    r"(?<=#)#(?=\[|vso\[|teamcity\[)"
    # GitHub's begin a line.
    r"|^(?P<start>\s*):(?=:|\Z)",
    re.MULTILINE,
)
_KEPT = "\n\t"


def printable(text: str) -> str:
    """The text on one line: all control and formatting characters are escaped, as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(map(_escaped, text))


def harmless(text: str) -> str:
    """Several lines of text, with control characters and commands to CI services escaped."""
    return without_commands(without_controls(text))


def without_controls(text: str) -> str:
    """Several lines of text, with all control characters but tabs and line ends escaped."""
    if text.isprintable():
        return text
    return "".join(char if char in _KEPT else _escaped(char) for char in text)


def without_commands(text: str, starts: bool = True) -> str:
    """The text with the commands of CI services in it escaped; ``starts`` if it begins a line."""

    def escaped(found: re.Match[str]) -> str:
        start = found["start"]
        if start is None:
            return r"\u0023"
        return found[0] if found.start() == 0 and not starts else rf"{start}\u003a"

    return _COMMAND.sub(escaped, text)


def _escaped(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
