"""Schemas of operators read from a text (torch/csrc/jit/frontend/function_schema_parser.cpp)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from impl.library.schema import NO_DEFAULT, Argument, FunctionSchema, Result

_TYPES = frozenset(
    [
        *("Tensor", "int", "SymInt", "float", "bool", "SymBool", "str", "complex", "Scalar"),
        *("ScalarType", "Device", "Layout", "MemoryFormat", "Generator", "Stream", "Storage"),
        *("Dimname", "QScheme", "Any"),
    ]
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<ident>[A-Za-z_]\w*)|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)
    |(?P<string>"[^"]*"|'[^']*')|(?P<arrow>->)|(?P<mark>::|[()\[\],=*.!?|]))""",
    re.VERBOSE,
)
_UNKNOWN = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, "
    "Scalar; for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False}


class _Token(NamedTuple):
    kind: str  # a mark stands for itself
    text: str
    start: int


def parse_schema(text: str) -> FunctionSchema:
    """The schema that a text such as "f.two(Tensor x, int n=2) -> Tensor" describes.

    Raises RuntimeError, which shows the place, for a text that is none.
    """
    return _Parser(text).schema()


def schema_for(name: str, text: str) -> FunctionSchema:
    """The schema of an operator, from a text without its name."""
    schema = parse_schema(f"f{text.lstrip()}")
    return FunctionSchema(name, schema.arguments, schema.returns)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._read()
        self.place = 0

    def _read(self) -> list[_Token]:
        tokens = []
        start, end = 0, len(self.text.rstrip())
        while start < end:
            match = _TOKEN.match(self.text, start)
            if match is None:
                start += len(self.text[start:]) - len(self.text[start:].lstrip())
                found = _Token(self.text[start], self.text[start], start)
                self._refuse(f"expected a valid token but found '{found.text}' here", found)
            kind = match.lastgroup or ""
            word = match[kind]
            tokens.append(_Token(word if kind == "mark" else kind, word, match.start(kind)))
            start = match.end()
        return [*tokens, _Token("eof", "", len(self.text))]

    def _refuse(self, problem: str, token: _Token) -> NoReturn:
        text = f"{problem}:\n{self.text}"
        if token.kind != "eof":
            text += f"\n{' ' * token.start}{'~' * len(token.text)} <--- HERE\n"
        raise RuntimeError(text)

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _expect(self, kind: str) -> str:
        token = self._next
        if token.kind != kind:
            self._refuse(f"expected {kind} but found '{token.kind}' here", token)
        self.place += 1
        return token.text

    def _take(self, kind: str) -> bool:
        found = self._next.kind == kind
        self.place += found
        return found

    def schema(self) -> FunctionSchema:
        name = self._expect("ident")
        if self._take("::"):
            name += f"::{self._expect('ident')}"
        overload = self._expect("ident") if self._take(".") else ""
        if self._next.kind == "eof":
            raise RuntimeError(
                "Tried to parse a function schema but only the operator name was given"
            )
        arguments = self._arguments()
        self._expect("arrow")
        returns = self._results()
        self._expect("eof")
        return FunctionSchema(name, arguments, returns, overload)

    def _arguments(self) -> list[Argument]:
        arguments: list[Argument] = []
        only = False
        self._expect("(")
        while not (self._next.kind == ")" and not arguments and not only):
            if self._take("*"):
                only = True
            else:
                kind, alias = self._type()
                name = self._expect("ident")
                default = self._default(kind) if self._take("=") else NO_DEFAULT
                arguments.append(Argument(name, kind, default, only, alias))
            if not self._take(","):
                break
        self._expect(")")
        return arguments

    def _results(self) -> list[Result]:
        if not self._take("("):
            return [self._result()]
        results: list[Result] = []
        while self._next.kind != ")":
            results.append(self._result())
            if not self._take(","):
                break
        self._expect(")")
        return results

    def _result(self) -> Result:
        kind, alias = self._type()
        return Result(kind, alias, self._expect("ident") if self._next.kind == "ident" else "")

    def _type(self) -> tuple[str, str | None]:
        """A type with its suffixes, and the alias annotation of a tensor."""
        token = self._next
        kind = self._expect("ident")
        if kind not in _TYPES:
            self._refuse(_UNKNOWN, token)
        alias = None
        if kind == "Tensor" and self._take("("):
            alias = self._alias()
            self._expect(")")
        while self._next.kind in ("[", "?"):
            if self._take("?"):
                kind += "?"
            else:
                self._expect("[")
                size = "" if self._next.kind == "]" else self._expect("number")
                self._expect("]")
                kind += f"[{size}]"
        return kind, alias

    def _alias(self) -> str:
        text = self._expect("ident")
        while self._next.kind in ("!", "|", "arrow"):
            if self._take("!"):
                text += "!"
            elif self._take("|"):
                text += f"|{self._expect('ident')}"
            else:
                self._expect("arrow")
                text += " -> *" if self._take("*") else f" -> {self._expect('ident')}"
        return text

    def _default(self, kind: str) -> Any:
        if self._take("["):
            values = []
            while self._next.kind != "]":
                values.append(self._default(kind.partition("[")[0]))
                if not self._take(","):
                    break
            self._expect("]")
            return values
        token = self._next
        if token.kind == "ident" and token.text in _WORDS:
            self.place += 1
            return _WORDS[token.text]
        if kind == "Tensor":
            self._expect("None")
        if token.kind == "string":
            return self._expect("string")[1:-1]
        if token.kind != "number":
            self._refuse("\ninvalid numeric default value", self.tokens[self.place + 1])
        text = self._expect("number")
        return float(text) if kind == "float" or not text.lstrip("-").isdigit() else int(text)
