"""A self-contained page: a template with its styles and scripts inlined under a strict policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from conformance.run_files.identity import is_web_address
from reports.text import count, shortened, visible

STYLES = (
    *("colours.css", "page.css", "prose.css", "summary.css", "list.css", "program.css"),
    "narrow.css",
)
"""Style sheets of a page that lists programs."""

DRAWING_STYLES = ("drawing.css",)
DRAWING_SCRIPTS = (
    "drawing/moments.js",
    "drawing/graph.js",
    "drawing/memory.js",
    "drawing/layout.js",
    "drawing/svg.js",
    "drawing/drawing.js",
)
"""The scripts that draw a program's graph and memory, over text.js, steps.js and values.js."""

FIRST = ("first.js",)
"""Scripts that run before the first paint."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=visible,
        shortened=shortened,
        fragment=fragment,
        fragment_value=fragment_value,
        linked=linked,
        is_web_address=is_web_address,
        sentence=sentence,
    )
    environment.globals.update(count=count)
    return environment


def template(name: str) -> Template:
    """The template with this name; autoescaping is on for every value inserted into it."""
    return _environment().get_template(name)


def fragment(identifier: str) -> str:
    """The permanent URL fragment of a program's ID, without `#`."""
    return quote(identifier.encode("utf-8", "backslashreplace"), safe="/:.,~_-")


def fragment_value(text: str) -> str:
    """A text as the value of a parameter in a URL's fragment."""
    return quote(text.encode("utf-8", "backslashreplace"), safe="")


def linked(text: str) -> Markup:
    """A text as escaped markup; a link if it is a web address as a whole."""
    if is_web_address(text):
        return Markup('<a href="%s">%s</a>') % (text, text)
    return escape(text)


def sentence(text: str) -> Markup:
    """A sentence as escaped markup, with text in backticks as code."""
    parts = re.split(r"`([^`]+)`", text)
    # Every second part stood in backticks; `Markup %` escapes its arguments.
    return Markup("").join(
        Markup("<code>%s</code>") % part if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def asset(names: Iterable[str]) -> str:
    """The texts of static files, concatenated."""
    folder = resources.files("reports").joinpath("static")
    return "\n".join(folder.joinpath(name).read_text("utf-8") for name in names)


def render(
    name: str,
    *,
    styles: Iterable[str],
    scripts: Iterable[str],
    shards: bool = False,
    **values: Any,
) -> str:
    """Render the template `name` with the named static files inlined.

    `scripts` run after the page's index is defined. The Content-Security-Policy names every inline
    text by its hash, forbids all other scripts and every fetch, and keeps strings from becoming
    markup or code (`require-trusted-types-for`). With `shards` the page's own script may load other
    scripts: a page opened from disk can load data files in no other way.
    """
    style = asset(styles)
    early = asset(FIRST)
    script = '(() => {\n"use strict";\n' + asset(scripts) + "\n})();"
    loading, types = (" 'strict-dynamic'", "shard") if shards else ("", "'none'")
    policy = (
        "default-src 'none'; "
        f"style-src {_hash(style)}; "
        f"script-src {_hash(early)} {_hash(script)}{loading}; "
        "base-uri 'none'; form-action 'none'; "
        f"require-trusted-types-for 'script'; trusted-types {types}"
    )
    return template(name).render(
        policy=policy,
        # These three are files of this package; values from a run are escaped.
        style=Markup(style),
        early=Markup(early),
        script=Markup(script),
        **values,
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
