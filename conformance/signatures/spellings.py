"""The spellings of a call that torch accepts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from conformance.signatures.table import Parameter, Signature

NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""The names that NumPy has for torch's parameters."""

_INTEGERS = ("int", "SymInt")
_NUMBERS = ("float", "Number", "Tensor|Number")
_PYTHON_DTYPES = ("float", "int", "bool", "complex")


def accepted_calls(signature: Signature) -> list[str]:
    """The call of a signature, and its other spellings, each once."""
    return list(dict.fromkeys(_spellings(signature)))


def _spellings(signature: Signature) -> Iterator[str]:
    arguments = signature.arguments
    yield signature.write(arguments)
    if signature.spellable:
        yield signature.write(arguments, by_keyword=True)
        if signature.parsed_in_c:
            yield from _numpy_names(signature)
    explicit = arguments | {
        p.name: p.default for p in signature.parameters if p.default and p.name not in arguments
    }
    yield signature.write(explicit)
    if signature.spellable:
        yield signature.write(explicit, by_keyword=True)
    for parameter in signature.parameters:
        value = explicit.get(parameter.name)
        if value is not None:
            for other in _same_values(parameter, value):
                yield signature.write(arguments | {parameter.name: other})
        if parameter.name == "dtype":
            for name in _PYTHON_DTYPES:
                yield signature.write(arguments | {"dtype": name})
        if parameter.name == "out" and parameter.kind == "Tensor":
            yield signature.write(arguments | {"out": "torch.zeros(0)"})


def _numpy_names(signature: Signature) -> Iterator[str]:
    """The call with NumPy's name for one parameter at a time, by keyword from there on."""
    known = {p.name: p.default for p in signature.parameters if p.default in ("True", "False")}
    arguments = known | signature.arguments
    for name, others in NUMPY_NAMES.items():
        if name in arguments:
            for other in others:
                parts = [
                    f"{other if p.name == name else p.name}={arguments[p.name]}"
                    for p in signature.parameters
                    if p.name in arguments
                ]
                yield f"{signature.function}({', '.join(parts)})"


def _same_values(parameter: Parameter, value: str) -> Iterator[str]:
    """Other sources of the same argument: NumPy's numbers, 0-dim tensors, other sequences."""
    if parameter.kind.endswith("[]"):
        yield from _sequences(parameter, value)
        return
    number = _number(value)
    if number is None:
        return
    if parameter.kind in _INTEGERS:
        yield f"np.int64({number})"
        yield f"torch.tensor({number})"
    elif parameter.kind in _NUMBERS:
        kind = "np.int64" if isinstance(number, int) else "np.float64"
        yield f"{kind}({number})"
        yield f"np.float32({number})"
        yield f"torch.tensor({number})"
        yield "True"


def _sequences(parameter: Parameter, value: str) -> Iterator[str]:
    parsed = ast.parse(value, mode="eval").body
    if not isinstance(parsed, ast.Tuple | ast.List):
        return
    elements = [ast.unparse(element) for element in parsed.elts]
    yield f"[{', '.join(elements)}]"
    yield f"({''.join(e + ', ' for e in elements).rstrip()})"
    if parameter.kind in ("int[]", "SymInt[]"):
        yield f"torch.Size([{', '.join(elements)}])"
        yield f"[{', '.join(f'np.int64({e})' for e in elements)}]"


def _number(source: str) -> int | float | None:
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return None
    return value if type(value) in (int, float) else None
