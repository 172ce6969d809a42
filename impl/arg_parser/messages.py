"""The message for arguments that fit none of several signatures.

Follows `format_invalid_args` of PyTorch's `invalid_arguments.cpp`.
"""

from __future__ import annotations

from impl.arg_parser.parameter import Parameter, type_name
from impl.arg_parser.signature import Signature


def invalid_combination(
    name: str, signatures: list[Signature], args: tuple, named: dict
) -> TypeError:
    """The TypeError that lists the signatures, and what keeps each of the right length from fitting."""
    begin = f"{name}() received an invalid combination of arguments - "
    if len(signatures) == 1:
        (signature,) = signatures
        unknown = _unknown_keywords(signature, named)
        if unknown:
            return TypeError(f"{begin}got unrecognized keyword arguments: {', '.join(unknown)}")
        matched = _counts_match(signature, args, named)
        got = _compared(signature, args, named) if matched else _given(args, named)
        return TypeError(f"{begin}got {got}, but expected {signature}")
    lines = [f"{begin}got {_given(args, named)}, but expected one of:"]
    for signature in signatures:
        lines.append(f" * {signature}")
        if _counts_match(signature, args, named):
            unknown = _unknown_keywords(signature, named)
            if unknown:
                reason = f"some of the keywords were incorrect: {', '.join(unknown)}"
            else:
                compared = _compared(signature, args, named)
                reason = f"some of the arguments have invalid types: {compared}"
            lines.append(f"      didn't match because {reason}")
    return TypeError("\n".join(lines) + "\n")


def _counts_match(signature: Signature, args: tuple, named: dict) -> bool:
    return len(args) + len(named) == len(signature.parameters)


def _given(args: tuple, named: dict) -> str:
    shown = [type_name(a) for a in args]
    shown += [f"{name}={type_name(value)}" for name, value in reversed(named.items())]
    closing = ")" if args or not named else ", )"
    return f"({', '.join(shown)}{closing}"


def _unknown_keywords(signature: Signature, named: dict) -> list[str]:
    start = max(len(signature.parameters) - len(named), 0)
    names = {p.name for p in signature.parameters[start:]}
    return [name for name in reversed(named) if name not in names]


def _compared(signature: Signature, args: tuple, named: dict) -> str:
    """The types of the arguments, those that do not fit between exclamation marks."""
    shown = []
    for i, parameter in enumerate(signature.parameters):
        keyword = i >= len(args)
        value = named[parameter.name] if keyword else args[i]
        text = (f"{parameter.name}=" if keyword else "") + _described(value)
        shown.append(text if _fits(parameter, value) else f"!{text}!")
    closing = ")" if args else ", )"
    return f"({', '.join(shown)}{closing}"


def _described(value) -> str:
    if not isinstance(value, tuple | list):
        return type_name(value)
    elements = ", ".join(map(type_name, value))
    if isinstance(value, list):
        return f"{type_name(value)} of [{elements}]"
    comma = "," if len(value) == 1 else ""
    return f"{type_name(value)} of ({elements}{comma})"


def _fits(parameter: Parameter, value) -> bool:
    """Whether the names of the types are the same, which is all that this message looks at."""
    name = type_name(value)
    if parameter.printed == "float":
        return name in ("float", "int")
    return name == parameter.printed
