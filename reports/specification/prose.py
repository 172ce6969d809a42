"""Rendering of the chapters' Markdown as markup, and as plain text for the search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_RULE = re.compile(r"\b[A-Z][A-Z0-9]*-\d{2,}\b")


class Prose:
    """A Markdown renderer that turns links to chapters and IDs of rules into links of the site.

    `pages` maps the file name of each chapter to its page, `rules` each rule's ID to its address.
    HTML in the text is escaped, links to local files and scripts are dropped, and no image is
    fetched.
    """

    def __init__(self, pages: Mapping[str, str], rules: Mapping[str, str]) -> None:
        self.pages, self.rules = pages, rules
        self.markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def markup(self, text: str) -> Markup:
        """`text` rendered as markup."""
        tokens = self.markdown.parse(text)
        for token in tokens:
            if token.children:
                token.children = list(self._linked(token.children))
        # markdown-it escapes its output with `html` off.
        rendered: Any = self.markdown.renderer.render(tokens, self.markdown.options, {})
        return Markup(rendered)

    def plain(self, text: str) -> str:
        """`text` without Markdown syntax, with runs of blanks collapsed."""
        words = [
            child.content if child.content else " "
            for token in self.markdown.parse(text)
            for child in (token.children or [token])
        ]
        return " ".join(" ".join(words).split())

    def _linked(self, tokens: list[Token]) -> Iterator[Token]:
        """The tokens with links redirected to the site's pages, and IDs of rules made links."""
        inside: list[bool] = []
        for token in tokens:
            if token.type == "link_open":
                address = self._address(str(token.attrs.get("href", "")))
                inside.append(address is not None)
                if address is None:
                    continue
                token.attrs["href"] = address
                yield token
            elif token.type == "link_close":
                if inside.pop():
                    yield token
            elif token.type == "text" and not inside:
                yield from self._named(token.content)
            else:
                yield token

    def _address(self, href: str) -> str | None:
        """The site's address for a link of a chapter; None if it has none."""
        if href.startswith(("https://", "http://", "#")):
            return href
        path, _, anchor = href.partition("#")
        page = self.pages.get(PurePosixPath(path).name)
        return page and (f"{page}#{anchor}" if anchor else page)

    def _named(self, text: str) -> Iterator[Token]:
        at = 0
        for match in _RULE.finditer(text):
            if (address := self.rules.get(match.group())) is None:
                continue
            yield _text(text[at : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": address})
            yield _text(match.group())
            yield Token("link_close", "a", -1)
            at = match.end()
        yield _text(text[at:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
