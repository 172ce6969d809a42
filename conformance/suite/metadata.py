"""Metadata of rules: standing, class of ports, device scope, and permitted differences.

A chapter states them in a quotation right below a heading, fields separated by "; ":
`> documented: torch.Tensor.backward; class: forward; may differ: memory`. The quotation below the
title holds the defaults of the chapter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from conformance.base.classes import CLASSES, CORE
from conformance.base.levels import LEVELS
from conformance.base.words import listed

DEVICES = ("any", "cpu", "accelerator")
STANDINGS = ("documented", "observed", "contradicts")

_PLACE = re.compile(r"torch(\.\w+)+|[\w./-]+#[\w.-]+|notes/[\w-]+")


class MalformedMetadata(ValueError):
    """A quotation below a heading that cannot be read as metadata."""


@dataclass(frozen=True)
class Metadata:
    """A rule's metadata.

    ``standing`` says whether PyTorch's documentation states the rule (documented), is silent
    (observed) or says something else (contradicts); ``places`` are where: public names, whose
    docstrings are meant, or pages of the manual. ``may_differ`` are the levels at which a port
    may differ in the rule's programs.
    """

    standing: str = "observed"
    places: tuple[str, ...] = ()
    of_class: str = CORE
    device: str = "any"
    normative: bool = True
    may_differ: tuple[str, ...] = ()


DEFAULTS = Metadata()
"""The metadata of a rule about which nothing is written."""


def read_metadata(text: str, defaults: Metadata) -> Metadata:
    """The metadata in the text of a quotation; raises MalformedMetadata."""
    found = defaults
    for field in (part.strip() for part in text.replace("\n", " ").split(";")):
        name, colon, value = (part.strip() for part in field.partition(":"))
        if not colon and name == "informative":
            found = replace(found, normative=False)
        elif name in STANDINGS[::2]:
            found = replace(found, standing=name, places=_places(value))
        elif name == "class":
            found = replace(found, of_class=_one_of(name, value, tuple(CLASSES)))
        elif name == "device":
            found = replace(found, device=_one_of(name, value, DEVICES))
        elif name == "may differ":
            levels = [_one_of(name, one.strip(), LEVELS) for one in value.split(",")]
            found = replace(found, may_differ=tuple(levels))
        else:
            raise MalformedMetadata(
                f"not metadata of a rule: {field!r}. The fields are documented, contradicts, "
                "class, device, may differ and informative."
            )
    return found


def address(place: str) -> str:
    """The address of a place in the documentation of the newest PyTorch."""
    root = "https://docs.pytorch.org/docs/stable"
    page, _, anchor = place.partition("#")
    if place.startswith("torch.") and not anchor:
        return f"{root}/generated/{place}.html"
    return f"{root}/{page}.html" + (f"#{anchor}" if anchor else "")


def _places(value: str) -> tuple[str, ...]:
    places = tuple(part.strip() for part in value.split(","))
    for place in places:
        if _PLACE.fullmatch(place) is None:
            raise MalformedMetadata(
                f"not a public name (torch.autograd.grad) or a page of the manual "
                f"(notes/autograd#saving-tensors): {place!r}"
            )
    return places


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise MalformedMetadata(f"{name}: {value!r} is none of {listed(allowed)}")
    return value
