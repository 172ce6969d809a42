"""A self-contained page: a template with its styles and scripts inlined under a strict policy."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from reports.text import count, shortened, visible

STYLES = ("colours.css", "page.css", "summary.css", "list.css", "program.css", "narrow.css")
"""What a page that lists programs wears."""

FIRST = ("first.js",)
"""What runs before anything is painted."""


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
        visible=visible, shortened=shortened, fragment=fragment, sentence=sentence
    )
    environment.globals.update(count=count)
    return environment


def template(name: str) -> Template:
    """A template by its name; what is put into it is escaped."""
    return _environment().get_template(name)


def fragment(identifier: str) -> str:
    """The permanent fragment of a program's ID, without `#`: what a link to it needs."""
    return quote(identifier.encode("utf-8", "backslashreplace"), safe="/:.,~_-")


def sentence(text: str) -> Markup:
    """A sentence as markup, escaped, with what stands in backticks as code."""
    parts = re.split(r"`([^`]+)`", text)
    # Every second part stood in backticks; the operator escapes what is put into it.
    return Markup("").join(
        Markup("<code>%s</code>") % part if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def asset(names: Iterable[str]) -> str:
    """The text of static files, one after the other."""
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
    """The page of the template `name`, with the named static files inlined.

    `scripts` run once the page's index is there. The policy lets nothing else run and nothing be
    fetched: every inline text is named by its hash, and no string can become markup or code
    (`require-trusted-types-for`). With `shards` the page's own script may load others: data files,
    which a page from disk can get in no other way.
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
        # These three are files of this package; what comes from a run is escaped.
        style=Markup(style),
        early=Markup(early),
        script=Markup(script),
        **values,
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Put `text` at `path` in one step: a reader finds the old file or the new, never a part.

    Missing folders are made. Raises OSError, and leaves what was there before as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return target


def _mode(target: Path) -> int:
    """The permissions a plain `open` would have left: those of the old file, or the umask's."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
