"""The table of torch's public operators, from which `conform fuzz` draws calls: its maker.

`python tools/operator_table.py > conformance/fuzz/operators.txt` writes it with the torch that is
installed: one line for each signature, `SPELLING ... (TYPE NAME=DEFAULT, ...)`. A type with "?" may
be None, one with "!" is written to, `[]` is a list; what follows `*` is given by keyword.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

F = torch.nn.functional

# Names that depend on uninitialised memory, on files, on other devices, or on the machine.
EXCLUDED = re.compile(
    r"^_|empty|^resize|cudnn|miopen|mkldnn|fbgemm|quant|^q_|sparse|crow_|ccol_|col_ind|row_ind|"
    r"int_repr|pin_memory|record_stream|from_file|^share_memory|storage|^seed|vulkan|xpu|^cuda$|"
    r"^cpu$|ipu|hpu|mtia|^module_load|reinforce|grouped_mm|scaled_mm|scaled_addmm|linear_cross_entropy|"
    r"handle_torch_function|boolean_dispatch|assert_int|has_torch_function|as_subclass|"
    r"^to_mkl|^Module$|^Optimizer$|^Container$|^lobpcg$|^pca_lowrank$|^svd_lowrank$|^align_|^names$|^rename|refine_names|unflatten_names"
)
SPACES = {
    "linalg_": ("torch.linalg", torch.linalg),
    "fft_": ("torch.fft", torch.fft),
    "special_": ("torch.special", torch.special),
}
BY_NAME = {
    "dtype": "dtype?",
    "layout": "layout?",
    "memory_format": "memory_format?",
    "device": "device?",
    "pin_memory": "",
    "generator": "Generator?",
}
PLAIN = {
    "number": "Scalar",
    "torch.Tensor": "Tensor",
    "torch.dtype": "dtype",
    "complex": "Scalar",
    "Device": "device",
    "NoneType": "any",
}


def main() -> None:
    """Write the table to standard output."""
    for line in sorted(set(lines())):
        print(line)


def lines() -> Iterator[str]:
    """Yield the lines of the table."""
    for schema in torch._C._jit_get_all_schemas():
        if (line := of_schema(schema)) is not None:
            yield line
    spaces = (("torch", torch.functional), ("torch.nn.functional", F), ("Tensor", torch.Tensor))
    for space, owner in spaces:
        names = getattr(owner, "__all__", None) if owner is torch.functional else dir(owner)
        for name in names or ():
            found = inspect.getattr_static(owner, name, None)
            if EXCLUDED.search(name):
                continue
            if inspect.isfunction(found):
                yield from of_function(f"{space}.{name}", found, skip=owner is torch.Tensor)
            elif owner is torch.Tensor and inspect.isgetsetdescriptor(found):
                yield f"Tensor.{name}"
    for name in torch.nn.__all__ if hasattr(torch.nn, "__all__") else dir(torch.nn):
        found = getattr(torch.nn, name)
        if (
            not EXCLUDED.search(name)
            and inspect.isclass(found)
            and issubclass(found, torch.nn.Module)
        ):
            yield from of_function(f"torch.nn.{name}", found.__init__, skip=True)
    for name in dir(torch.optim):
        found = getattr(torch.optim, name)
        if (
            not EXCLUDED.search(name)
            and inspect.isclass(found)
            and issubclass(found, torch.optim.Optimizer)
        ):
            yield from of_function(f"torch.optim.{name}", found.__init__, skip=True)


def of_schema(schema: Any) -> str | None:
    """The line of a schema of ATen; None for one that is not public, or not about tensors."""
    namespace, _, name = schema.name.partition("::")
    overload = schema.overload_name
    if namespace != "aten" or EXCLUDED.search(name) or re.search(r"name|Dict|str", overload):
        return None
    spellings = list(spelled(name, schema))
    arguments = [of_argument(a) for a in schema.arguments]
    if not spellings or None in arguments or not re.search(r"Tensor|dtype", " ".join(arguments)):
        return None  # numbers alone are Python's, not torch's
    parts, keyword = [], False
    for argument, text in zip(schema.arguments, arguments, strict=True):
        if argument.kwarg_only and not keyword and text:
            keyword = True
            parts.append("*")
        if text:
            parts.append(text)
    return f"{' '.join(spellings)} ({', '.join(p for p in parts if p)})"


def spelled(name: str, schema: Any) -> Iterator[str]:
    """The public names under which ATen's operator can be called."""
    for prefix, (space, owner) in SPACES.items():
        inner = name.removeprefix(prefix)
        if name.startswith(prefix) and hasattr(owner, inner):
            yield f"{space}.{inner}"
    if not name.startswith(tuple(SPACES)):
        if hasattr(torch, name):
            yield f"torch.{name}"
        if inspect.isbuiltin(getattr(F, name, None)):
            yield f"torch.nn.functional.{name}"
    first = schema.arguments[0] if schema.arguments else None
    out = any(a.is_out for a in schema.arguments)
    if first is not None and first.name == "self" and hasattr(torch.Tensor, name) and not out:
        yield f"Tensor.{name}"


def of_argument(argument: Any) -> str | None:
    """An argument as the table has it; None for a type that no program can write."""
    if argument.name in BY_NAME:
        kind = BY_NAME[argument.name]
        return f"{kind} {argument.name}=None" if kind else ""
    kind = of_type(str(argument.type))
    if kind is None:
        return None
    if argument.is_out:
        return f"{kind}! {argument.name}"
    default = f"={argument.default_value!r}" if argument.has_default_value() else ""
    return f"{kind} {argument.name}{default}"


def of_type(text: str) -> str | None:
    """A type of TorchScript in the notation of the table."""
    if match := re.fullmatch(r"Optional\[(.*)\]", text):
        inner = of_type(match[1])
        return inner and f"{inner}?"
    if match := re.fullmatch(r"List\[(.*)\]", text):
        inner = of_type(match[1])
        return inner and f"{inner}[]"
    if text in ("Tensor", "int", "bool", "float", "str", *PLAIN):
        return PLAIN.get(text, text)
    return None


def of_function(name: str, function: Callable[..., Any], skip: bool) -> Iterator[str]:
    """The line of a Python function; a method's own tensor is its first argument."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    parts, keyword = [], False
    for position, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            if parameter.kind is parameter.VAR_POSITIONAL and len(signature.parameters) < 3:
                return
            continue
        if parameter.name.startswith("_"):
            continue
        if skip and position == 0:
            if name.startswith("Tensor."):
                parts.append("Tensor self")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        default = parameter.default
        shown = "" if default is parameter.empty else f"={default!r}"
        if len(shown) > 30 or "<" in shown or "," in shown:
            shown = "=None"
        parts.append(f"{of_annotation(parameter)} {parameter.name}{shown}")
    yield f"{name} ({', '.join(parts)})"


def of_annotation(parameter: inspect.Parameter) -> str:
    """The type of a parameter of Python, by its annotation or else its default."""
    if kind := BY_NAME.get(parameter.name):
        return kind
    note, default = parameter.annotation, parameter.default
    text = note if isinstance(note, str) else getattr(note, "__name__", "") or str(note)
    if not isinstance(note, str | type):
        text = str(note)
    optional = "?" if "None" in text and text not in ("None", "NoneType") else ""
    if "Tensor" in text and "float" not in text:
        return ("Tensor[]" if "list[" in text.lower() else "Tensor") + optional
    for part, kind in (("float", "float"), ("bool", "bool"), ("int", "int"), ("_size", "int")):
        if re.search(rf"\b{part}|{part}_", text):
            many = "[]" if re.search(r"list\[|tuple\[|_shape_t|_ratio", text) else ""
            return kind + many + optional
    if "str" in text:
        return "str" + optional
    if type(default) in (bool, int, float, str):
        return type(default).__name__
    return "any"


if __name__ == "__main__":
    main()
