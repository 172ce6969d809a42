"""Calls that torch refuses: wrong types, unknown keywords, too few and too many arguments."""

from __future__ import annotations

from conformance.signatures.table import Parameter, Signature

_WRONG = {
    "Tensor": ("1", "'a'", "None", "[1.0]", "np.ones(2)"),
    "Tensor|Number": ("'a'", "None", "[1.0]"),
    "Tensor[]": ("1", "[1]", "None"),
    "int": ("1.5", "True", "'a'", "None", "[0]", "torch.tensor(0.5)", "np.float64(1)"),
    "SymInt": ("1.5", "True", "'a'", "None", "[0]", "torch.tensor(0.5)"),
    "int[]": ("1.5", "'a'", "[1.5]", "None", "True", "[0, 'a']"),
    "SymInt[]": ("1.5", "'a'", "[1.5]", "None", "True", "[0, 'a']"),
    "float": ("'a'", "None", "1j", "[0.5]"),
    "Number": ("'a'", "None", "[0.5]", "torch.ones(2)"),
    "bool": ("1", "None", "'a'", "torch.tensor(True)"),
    "dtype": ("1.5", "'float32'", "np.float32"),
    "str": ("1", "'nothing'", "None"),
    "device": ("1.5", "'nowhere'"),
    "memory_format": ("1", "'contiguous'"),
    "layout": ("1",),
    "Generator": ("1",),
}

_WRONG_IN_PYTHON = {
    "Tensor": ("1", "'a'", "None"),
    "int": ("1.5", "'a'", "None", "[0]"),
    "int[]": ("1.5", "'a'", "None"),
    "float": ("'a'", "None", "[0.5]"),
    "bool": ("'a'", "None"),
    "str": ("1", "'nothing'", "None"),
    "any": ("'a'", "1"),
}


def refused_calls(signature: Signature, *, first: bool) -> list[str]:
    """Calls with one fault each; those that concern the whole function for its first signature."""
    calls = _whole(signature) if first else []
    if signature.parsed_in_c:
        calls += mistyped_calls(signature)
    return list(dict.fromkeys(calls)) or [f"{signature.function}(nothing=1)"]


def mistyped_calls(signature: Signature) -> list[str]:
    """Calls with one argument of a wrong type, or out of range."""
    arguments, calls = signature.arguments, []
    for parameter in signature.parameters:
        wrong = _wrong(signature, parameter)
        for value in wrong:
            calls.append(signature.write(arguments | {parameter.name: value}))
        if wrong and not parameter.keyword_only and signature.spellable:
            calls.append(signature.write_keyword(arguments | {parameter.name: wrong[0]}, parameter))
        calls += _out_of_range(signature, parameter)
    return list(dict.fromkeys(calls))


def _wrong(signature: Signature, parameter: Parameter) -> tuple[str, ...]:
    if parameter.name == "out":
        return ("1",)
    if parameter.name == "device":  # an integer is the number of a device that may be there
        return ("1.5", "'nowhere'")
    known = _WRONG if signature.parsed_in_c else _WRONG_IN_PYTHON
    return known.get(parameter.kind, ())


def _whole(signature: Signature) -> list[str]:
    arguments = signature.arguments
    required = [p.name for p in signature.parameters if p.default is None]
    calls = [
        f"{signature.function}()",
        _appended(signature.write(arguments), "nothing=1"),
    ]
    for name in required if signature.spellable else ():
        calls.append(signature.write({k: v for k, v in arguments.items() if k != name}))
    positional = [v for k, v in arguments.items() if not _keyword_only(signature, k)]
    room = sum(not p.keyword_only for p in signature.parameters)
    fillers = ["None"] * (room + 1 - len(positional))
    calls.append(f"{signature.function}({', '.join([*positional, *fillers])})")
    if positional and signature.spellable:
        twice = f"{signature.parameters[0].name}={positional[0]}"
        calls.append(_appended(signature.write(arguments), twice))
    return calls


def _out_of_range(signature: Signature, parameter: Parameter) -> list[str]:
    if parameter.name != "dim" or parameter.kind != "int":
        return []
    return [signature.write(signature.arguments | {"dim": value}) for value in ("7", "-7")]


def _keyword_only(signature: Signature, name: str) -> bool:
    return any(p.keyword_only for p in signature.parameters if p.name == name)


def _appended(call: str, argument: str) -> str:
    inside = call.removesuffix(")")
    return f"{inside}{argument})" if inside.endswith("(") else f"{inside}, {argument})"
