"""Rendering of the chapters' Markdown as markup, and as plain text for the search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from conformance.suite.texts import REFERENCE, numbered

_NOTE = re.compile(r"(New|Changed|Fixed) in \d+\.\d+(?:[\d., ]|and)*[.:]")
_VERSION = re.compile(r"\d+\.\d+")


class Prose:
    """A Markdown renderer that turns links to chapters and IDs of rules into links of the site.

    `pages` maps the file name of each chapter to its page, `rules` each rule's ID to its address
    (and `TIES-*` to that of the chapter), `versions` a version of torch to its page, `terms` a
    defined term to its definition, to which its first occurrence on a page links. HTML in the text
    is escaped, links to local files and scripts are dropped, and no image is fetched.
    """

    def __init__(
        self,
        pages: Mapping[str, str],
        rules: Mapping[str, str],
        versions: Mapping[str, str] | None = None,
        terms: Mapping[str, str] | None = None,
    ) -> None:
        self.pages, self.rules, self.versions = pages, rules, versions or {}
        self.terms = terms or {}
        self.unseen: dict[str, str] = {}
        self.markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def begin_page(self, terms: bool = True) -> None:
        """Link the first occurrence of every term again, or none on a page without `terms`."""
        self.unseen = dict(self.terms) if terms else {}

    def markup(self, text: str, anchored: bool = False) -> Markup:
        """`text` rendered as markup; `anchored`, with an ID for each heading, step and term."""
        tokens = self.markdown.parse(text)
        if anchored:
            _anchor(tokens)
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
                for part in self._link(token.content, REFERENCE, self.rules):
                    yield from self._with_terms(part)
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

    def _with_terms(self, token: Token) -> Iterator[Token]:
        """The text with the terms that the page has not had yet as links to their definitions."""
        text, at = token.content, 0
        while token.type == "text" and self.unseen:
            if (match := _any_of(tuple(self.unseen)).search(text, at)) is None:
                break
            yield _text(text[at : match.start()])
            address = self.unseen.pop(match[1])
            yield Token("link_open", "a", 1, attrs={"href": address, "class": "term"})
            yield _text(match.group())
            yield Token("link_close", "a", -1)
            at = match.end()
        yield token if at == 0 else _text(text[at:])


def defined(text: str) -> list[list[str]]:
    """The terms that a text defines, by paragraph: the words in bold with which it begins."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [terms for token in tokens if (terms := _defined(token))]


def anchor(text: str) -> str:
    """The ID of a heading or a term."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _defined(token: Token) -> list[str]:
    """The words in bold, and in code within it, with which a paragraph begins."""
    children = token.children or []
    if not children or token.type != "inline":
        return []
    children = [child for child in children if child.type != "text" or child.content]
    if not children or children[0].type != "strong_open":
        return []
    found, inside = [], False
    for child in children:
        if child.type in ("strong_open", "strong_close"):
            inside = child.type == "strong_open"
        elif inside:
            found.append(child.content)
        elif child.content.strip(", "):
            break
    return found


def _anchor(tokens: list[Token]) -> None:
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrs["id"] = anchor(tokens[at + 1].content.partition("(")[0])
        elif token.type == "paragraph_open" and (terms := _defined(tokens[at + 1])):
            token.attrs["id"] = f"term-{anchor(terms[0])}"
    for _ in numbered(tokens):
        pass


@lru_cache(maxsize=256)
def _any_of(terms: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(terms, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})s?\b")


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
