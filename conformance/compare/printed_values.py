"""Comparison of observations with printed values, and observations as printed values."""

from __future__ import annotations

import math
from typing import Any

from conformance.program.literals import _KINDS, DtypeLiteral, SizeLiteral, TensorLiteral

# A comment shows values as torch prints them, with four decimals.
PRINTED_RTOL = 1e-4
PRINTED_ATOL = 1e-6


def shows(literal: Any, got: dict[str, Any]) -> bool:
    """Say whether the observation `got` is of what `literal` (from `read_literal`) shows."""
    kind = got.get("kind")
    if literal is None:
        return kind == "none"
    if isinstance(literal, TensorLiteral):
        return kind == "tensor" and _shows_tensor(literal, got)
    if isinstance(literal, SizeLiteral):
        return kind == "size" and got["value"] == list(literal.dims)
    if isinstance(literal, DtypeLiteral):
        return kind == "dtype" and got["value"] == literal.name
    if isinstance(literal, (list, tuple)):
        if kind == "size":
            return isinstance(literal, tuple) and got["value"] == list(literal)
        if kind != ("list" if isinstance(literal, list) else "tuple"):
            return False
        items = got["items"]
        return len(items) == len(literal) and all(map(shows, literal, items))
    if isinstance(literal, dict):
        items = got.get("items", {})
        keys = [key if isinstance(key, str) else repr(key) for key in literal]
        return (
            kind == "dict"
            and keys == list(items)
            and all(map(shows, literal.values(), items.values()))
        )
    return kind == _KINDS[type(literal)] and _close(literal, got["value"])


def _shows_tensor(literal: TensorLiteral, got: dict[str, Any]) -> bool:
    values, dtype, flag = got["values"], got["dtype"], got.get("requires_grad")
    if got["shape"] != list(literal.shape) or not isinstance(values, list):
        return False
    indices = None if literal.indices is None else list(map(list, literal.indices))
    if got.get("sparse", {}).get("indices") != indices:
        return False
    if literal.dtype is not None and dtype != literal.dtype:
        return False
    if literal.requires_grad is not None and flag not in (None, literal.requires_grad):
        return False
    if literal.grad_fn is not None and got.get("grad_fn", literal.grad_fn) != literal.grad_fn:
        return False
    if literal.values and not _same_sort(literal.values, str(dtype)):
        return False
    return len(values) == len(literal.values) and all(map(_close, literal.values, values))


def _same_sort(values: tuple[Any, ...], dtype: str) -> bool:
    """Torch prints 2 for an integer and 2. for a float, so the comment must, too."""
    if any(isinstance(v, bool) for v in values):
        return dtype == "bool"
    if any(isinstance(v, complex) for v in values):
        return dtype.startswith("complex")
    if any(isinstance(v, float) for v in values):
        return "float" in dtype
    return dtype.startswith(("int", "uint"))


def _close(literal: Any, got: Any) -> bool:
    if isinstance(literal, complex):
        return isinstance(got, list) and all(
            map(_close, (literal.real, literal.imag), (float(got[0]), float(got[1])))
        )
    if isinstance(literal, float):
        value = float(got)
        if math.isnan(literal) or math.isinf(literal) or not math.isfinite(value):
            return value == literal or (math.isnan(value) and math.isnan(literal))
        return abs(value - literal) <= PRINTED_ATOL + PRINTED_RTOL * abs(literal)
    return bool(literal == got)


def shown(observed: dict[str, Any] | None) -> str:
    """Return an observation in the form that a comment would have."""
    if observed is None:
        return "nothing"
    match observed.get("kind"):
        case "none":
            return "None"
        case "tensor":
            return _tensor_text(observed)
        case "dtype":
            return f"torch.{observed['value']}"
        case "size":
            return f"torch.Size({observed['value']})"
        case "list":
            return "[" + ", ".join(map(shown, observed["items"])) + "]"
        case "tuple":
            items = observed["items"]
            return "(" + ", ".join(map(shown, items)) + (",)" if len(items) == 1 else ")")
        case "dict":
            items = observed["items"]
            return "{" + ", ".join(f"{k!r}: {shown(v)}" for k, v in items.items()) + "}"
        case "str":
            return repr(observed["value"])
        case "bool" | "int" | "float" | "complex":
            return _element(observed["value"])
        case "array":
            nested = _nested(observed["values"], observed["shape"])
            return f"array({nested}, dtype={observed['dtype']})"
        case "node":
            return f"<{observed['name']}>"
    return f"<{observed.get('type', observed.get('kind', '?'))}>"


def _tensor_text(observed: dict[str, Any]) -> str:
    values, dtype = observed["values"], observed["dtype"]
    shape = observed["shape"]
    if not isinstance(values, list) or not isinstance(shape, list):
        return f"tensor(<values cannot be read: {values}>)"
    if "sparse" in observed:
        text = _sparse_parts(observed["sparse"], values, shape)
    elif not values and shape != [0]:
        text = f"[], size={tuple(shape)}"
    else:
        text = _nested(values, shape)
    usual = dtype in ("float32", "int64", "bool", "complex64")
    if not usual or not (values or "sparse" in observed):
        text += f", dtype=torch.{dtype}"
    if observed.get("grad_fn") and isinstance(observed["grad_fn"], str):
        text += f", grad_fn=<{observed['grad_fn']}>"
    elif observed.get("requires_grad") is True:
        text += ", requires_grad=True"
    return f"tensor({text})"


def _sparse_parts(sparse: dict[str, Any], values: list[Any], shape: list[int]) -> str:
    """The indices, the stored values and the layout of a sparse tensor."""
    indices = sparse["indices"]
    count = len(indices[0]) if indices else 1
    stored = [count, *shape[len(indices) :]]
    shown = f"[], size={tuple(stored)}" if 0 in stored else _nested(values, stored)
    places = f"[], size={(len(indices), 0)}" if not count else str(indices)
    return (
        f"indices=tensor({places}), values=tensor({shown}), size={tuple(shape)}, nnz={count}, "
        f"layout=torch.{sparse['layout']}"
    )


def _nested(values: list[Any], shape: list[int]) -> str:
    if not values:
        return "[]"
    if not shape:
        return _element(values[0])
    rows = len(values) // shape[0]
    inner = (_nested(values[i * rows : (i + 1) * rows], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(inner) + "]"


def _element(value: Any) -> str:
    if isinstance(value, list):
        real, imaginary = map(_element, value)
        return f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if isinstance(value, float):
        text = f"{value:.7g}"
        return text if any(c in text for c in ".en") else text + "."
    return str(value)
