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

DEVICES = ("any", "cpu", "accelerator", "cuda")
STANDINGS = ("documented", "observed", "contradicts")

_PLACE = re.compile(r"torch(\.\w+)+|[\w./-]+#[\w.-]+|notes/[\w-]+")


_ALIASES = {
    "torch.inference_mode": "torch.autograd.grad_mode.inference_mode",
    "torch.set_grad_enabled": "torch.autograd.grad_mode.set_grad_enabled",
    "torch.nn.Parameter": "torch.nn.parameter.Parameter",
}
"""Names that the documentation has under another name."""

_SHARED_PAGES = {
    "autograd": (
        "torch.autograd.detect_anomaly",
        "torch.autograd.set_detect_anomaly",
        "torch.autograd.graph.allow_mutation_on_saved_tensors",
        "torch.autograd.graph.disable_saved_tensors_hooks",
        "torch.autograd.graph.get_gradient_edge",
        "torch.autograd.graph.node_creation_hook",
        "torch.autograd.graph.register_multi_grad_hook",
        "torch.autograd.graph.save_on_cpu",
        "torch.autograd.graph.saved_tensors_hooks",
    ),
    "checkpoint": ("torch.utils.checkpoint.",),
    "generated/torch.nn.Module": ("torch.nn.Module.",),
    "library": ("torch.library.",),
}
"""Beginnings of names that have no page of their own, by the page that describes them."""


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
        elif name in ("documented", "contradicts"):
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
        name = _ALIASES.get(place, place)
        page, anchor = next(
            ((shared, name) for shared, names in _SHARED_PAGES.items() if name.startswith(names)),
            (f"generated/{name}", ""),
        )
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
