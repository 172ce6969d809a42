"""Syntax highlighting of Python source as markup, for readers without JavaScript."""

from __future__ import annotations

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Number, String, Token

from reports.text import visible

# The classes that `python.js` uses; the first matching class applies.
CLASSES = (
    (Comment, "py-comment"),
    (String, "py-string"),
    (Number, "py-number"),
    (Keyword.Constant, "py-number"),
    (Keyword, "py-keyword"),
    (Token.Operator.Word, "py-keyword"),
)


def highlighted(source: str) -> list[Markup]:
    """The lines of `source`, escaped, with comments, strings, numbers and keywords marked."""
    lines = [Markup("")]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        name = next((name for of, name in CLASSES if kind in of), None)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append(Markup(""))
            if part:
                shown = visible(part)
                lines[-1] += Markup('<span class="%s">%s</span>') % (name, shown) if name else shown
    return lines if lines[-1] else lines[:-1]
