"""Elements and texts of an HTML page."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """A page's elements, its text without scripts and styles, and the contents of those."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[dict[str, str | None], str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        if self.cdata_elem in ("script", "style"):
            self.raw.append((attributes, tag, data))
        else:
            self.text += data

    def blobs(self) -> dict[str, Any]:
        found: dict[str, str] = {}
        for attributes, _, data in self.raw:
            if name := attributes.get("data-blob"):
                found[name] = found.get(name, "") + data
        return {
            name: json.loads(gzip.decompress(base64.b64decode(data)))
            for name, data in found.items()
        }
