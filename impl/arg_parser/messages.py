"""The message for arguments that fit none of several signatures.

Follows `format_invalid_args` of PyTorch's `invalid_arguments.cpp`.
"""

from __future__ import annotations

from impl.arg_parser.signature import Signature
from impl.arg_parser.unordered_map import unordered
from impl.core.named_types import type_name


def invalid_combination(
    name: str, signatures: list[Signature], args: tuple, named: dict
) -> TypeError:
    """The TypeError that lists the signatures, and why each of the right length does not fit."""
    begin = f"{name}() received an invalid combination of arguments - "
    if len(signatures) == 1:
        (signature,) = signatures
        pieces = _pieces(signature)
        unknown = _unknown_keywords(pieces, named)
        if unknown:
            return TypeError(f"{begin}got unrecognized keyword arguments: {', '.join(unknown)}")
        matched = len(args) + len(named) == len(pieces)
        got = _compared(pieces, args, named) if matched else _given(args, named)
        return TypeError(f"{begin}got {got}, but expected {signature}")
    lines = [f"{begin}got {_given(args, named)}, but expected one of:"]
    for signature in signatures:
        lines.append(f" * {signature}")
        pieces = _pieces(signature)
        if len(args) + len(named) == len(pieces):
            unknown = _unknown_keywords(pieces, named)
            if unknown:
                reason = f"some of the keywords were incorrect: {', '.join(unknown)}"
            else:
                compared = _compared(pieces, args, named)
                reason = f"some of the arguments have invalid types: {compared}"
            lines.append(f"      didn't match because {reason}")
    return TypeError("\n".join(lines) + "\n")


def unbound_method(name: str, args: tuple) -> str:
    """The message for a method of `Tensor` that is called on the class, without a tensor."""
    if not args:
        return f"unbound method TensorBase.{name}() needs an argument"
    return (
        f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type_name(args[0])}' object"
    )


def _pieces(signature: Signature) -> list[tuple[str, str]]:
    """The printed signature cut at its commas, each piece at its last space: type and name.

    torch reads its own text back, so that the star counts as a parameter, and a parameter with a
    default has the default for its name.
    """
    pieces = str(signature)[1:-1].split(", ")
    return [(p.rpartition(" ")[0] or p, p.rpartition(" ")[2]) for p in pieces]


def _given(args: tuple, named: dict) -> str:
    shown = [type_name(a) for a in args]
    shown += [f"{name}={type_name(named[name])}" for name in unordered(named)]
    return f"({', '.join(shown)}{')' if args or not named else ', )'}"


def _unknown_keywords(pieces: list[tuple[str, str]], named: dict) -> list[str]:
    names = {name for _, name in pieces[max(len(pieces) - len(named), 0) :]}
    return [name for name in unordered(named) if name not in names]


def _compared(pieces: list[tuple[str, str]], args: tuple, named: dict) -> str:
    """The types of the arguments, those that do not fit between exclamation marks."""
    shown = []
    for i, (kind, name) in enumerate(pieces):
        value = args[i] if i < len(args) else named[name]
        text = ("" if i < len(args) else f"{name}=") + _described(value)
        shown.append(text if _fits(kind, value) else f"!{text}!")
    return f"({', '.join(shown)}{')' if args or not named else ', )'}"


def _described(value) -> str:
    if not isinstance(value, tuple | list):
        return type_name(value)
    elements = ", ".join(map(type_name, value))
    if isinstance(value, list):
        return f"{type_name(value)} of [{elements}]"
    comma = "," if len(value) == 1 else ""
    return f"{type_name(value)} of ({elements}{comma})"


def _fits(kind: str, value) -> bool:
    """Whether the names of the types are the same, which is all that this message looks at."""
    name = type_name(value)
    return name in ("float", "int") if kind == "float" else name == kind
