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
_NOTE = re.compile(r"(New|Changed|Fixed) in \d+\.\d+(?:[\d., ]|and)*[.:]")
_VERSION = re.compile(r"\d+\.\d+")


class Prose:
    """A Markdown renderer that turns links to chapters and IDs of rules into links of the site.

    `pages` maps the file name of each chapter to its page, `rules` each rule's ID to its address,
    `versions` a version of torch to its page. HTML in the text is escaped, links to local files
    and scripts are dropped, and no image is fetched.
    """

    def __init__(
        self,
        pages: Mapping[str, str],
        rules: Mapping[str, str],
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.pages, self.rules, self.versions = pages, rules, versions or {}
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
        """The tokens with links redirected to the site's pages.

        IDs of rules, and the versions in notes such as *Changed in 2.14:*, become links.
        """
        inside: list[bool] = []
        note = False
        for number, token in enumerate(tokens):
            if token.type == "em_open" and _NOTE.fullmatch(tokens[number + 1].content):
                note = True
                token.attrs["class"] = "version-note"
                yield token
            elif token.type == "em_close":
                note = False
                yield token
            elif note and token.type == "text":
                yield from self._link(token.content, _VERSION, self.versions)
            elif token.type == "link_open":
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
                yield from self._link(token.content, _RULE, self.rules)
            else:
                yield token

    def _address(self, href: str) -> str | None:
        """The site's address for a link of a chapter; None if it has none."""
        if href.startswith(("https://", "http://", "#")):
            return href
        path, _, anchor = href.partition("#")
        page = self.pages.get(PurePosixPath(path).name)
        return page and (f"{page}#{anchor}" if anchor else page)

    def _link(
        self, text: str, name: re.Pattern[str], addresses: Mapping[str, str]
    ) -> Iterator[Token]:
        """The text with every name that has an address as a link to it."""
        at = 0
        for match in name.finditer(text):
            if (address := addresses.get(match.group())) is None:
                continue
            yield _text(text[at : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": address})
            yield _text(match.group())
            yield Token("link_close", "a", -1)
            at = match.end()
        yield _text(text[at:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
