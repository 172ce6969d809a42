"""The forms of data in files, as types: whether data has a form, and which field does not."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=2**62)]
Minor = Annotated[str, Meta(pattern=r"\A[0-9]{1,9}\.[0-9]{1,9}\Z")]
"""A minor version of torch."""

Saved = tuple[str, str | None, Count | None, Count | None]
"""A saved tensor: its attribute, its storage's label, its version when saved, and the one now."""

SavedTensors = list[dict[str, dict[str, list[Saved] | None]]]
"""After each statement, by name, and by the number of a node in its graph; None for freed ones."""

SavedOfPorts = list[
    dict[str, dict[str, list[tuple[str, str | int | None, Count | None, Count | None]] | None]]
]
"""The same with a port's own labels of storages."""

_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `\$\.?(.*)`)?")
_WRONG = re.compile(r"(.*?) - at (?:`key` in )?`\$\.?(.*)`", re.DOTALL)


def check(data: Any, form: type) -> None:
    """Raise ValueError, which names the field, for data that does not have this form.

    That takes a small part of the time of parsing it.
    """
    try:
        msgspec.convert(data, form)
    except msgspec.ValidationError as error:
        raise ValueError(_sentence(str(error))) from None
    except UnicodeEncodeError:
        raise ValueError("a name in it is half a character") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _sentence(message: str) -> str:
    """The message of msgspec with the field first."""
    if (found := _MISSING.fullmatch(message)) is not None:
        place = f"{found[2]}.{found[1]}" if found[2] else found[1]
        return f'"{place}" is missing'
    if (found := _WRONG.fullmatch(message)) is not None:
        return f'"{found[2]}": {found[1][0].lower()}{found[1][1:]}'
    return message
