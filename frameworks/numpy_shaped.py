"""torch's operators over a library with NumPy's names and semantics.

An operator that the library lacks is left out rather than composed of others: the gradient of a
composition made here would not be a property of the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frameworks.forms import Operators, Selected, find, positional, reduction, shaped, sizes

# torch's name, and NumPy's name.
_SAME = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "remainder": "remainder",
    "floor_divide": "floor_divide",
    "pow": "power",
    "matmul": "matmul",
    "dot": "dot",
    "neg": "negative",
    "abs": "abs",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "square": "square",
    "reciprocal": "reciprocal",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2",
    "sign": "sign",
    "floor": "floor",
    "ceil": "ceil",
    "round": "round",
    "trunc": "trunc",
    "fmod": "fmod",
    "copysign": "copysign",
    "sinc": "sinc",
    "nan_to_num": "nan_to_num",
    "maximum": "maximum",
    "minimum": "minimum",
    "fmax": "fmax",
    "fmin": "fmin",
    "where": "where",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "isnan": "isnan",
    "isinf": "isinf",
    "isfinite": "isfinite",
    "conj": "conj",
    "real": "real",
    "imag": "imag",
    "angle": "angle",
    "outer": "outer",
    "kron": "kron",
    "tril": "tril",
    "triu": "triu",
    "broadcast_to": "broadcast_to",
    "linalg.det": "linalg.det",
    "linalg.inv": "linalg.inv",
    "linalg.cholesky": "linalg.cholesky",
    "linalg.solve": "linalg.solve",
}
# torch's name, and the name of a function with `axis` and `keepdims`.
_REDUCTIONS = {
    "sum": "sum",
    "mean": "mean",
    "prod": "prod",
    "amax": "max",
    "amin": "min",
    "logsumexp": "logsumexp",
    "all": "all",
    "any": "any",
    "count_nonzero": "count_nonzero",
    "argmax": "argmax",
    "argmin": "argmin",
}


def operators(xp: Any) -> Operators:
    """The operators of `xp`, by torch's names."""
    found: Operators = {
        name: positional(function)
        for name, numpys in _SAME.items()
        if (function := find(xp, numpys)) is not None
    }
    for name, numpys in _REDUCTIONS.items():
        if (function := find(xp, numpys)) is not None:
            found[name] = reduction(function)
    if hasattr(xp, "einsum"):
        found["einsum"] = lambda form, *factors: xp.einsum(form, *sizes(factors))
    found.update(_extrema(xp))
    found.update(_shapes(xp))
    found.update(_statistics(xp))
    return found


def _extrema(xp: Any) -> Operators:
    def either(whole: Any, between: Any, place: Any) -> Callable[..., Any]:
        def called(x: Any, other: Any = None, keepdim: bool = False, dim: Any = None) -> Any:
            axis = other if dim is None else dim
            if axis is None:
                return whole(x)
            if not isinstance(axis, int):
                return between(x, axis)
            values = whole(x, axis=axis, keepdims=keepdim)
            return Selected(values, place(x, axis=axis, keepdims=keepdim))

        return called

    made: Operators = {}
    if hasattr(xp, "argmax"):
        made["max"] = either(xp.max, xp.maximum, xp.argmax)
        made["min"] = either(xp.min, xp.minimum, xp.argmin)
    if hasattr(xp, "clip"):
        made["clamp"] = lambda x, min=None, max=None: xp.clip(x, min, max)
    return made


def _statistics(xp: Any) -> Operators:
    made: Operators = {}
    for name in ("median", "nanmedian"):
        if hasattr(xp, name):  # along a dimension torch returns values and indices
            made[name] = _of_all(getattr(xp, name), name)
    if hasattr(xp, "quantile"):
        made["quantile"] = lambda x, q, dim=None: xp.quantile(x, q, axis=dim)
    for name in ("std", "var"):
        if hasattr(xp, name):
            made[name] = _spread(getattr(xp, name))
    if hasattr(xp, "sort"):

        def sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
            if descending:
                raise NotImplementedError("torch.sort(descending=True)")
            return Selected(xp.sort(x, axis=dim), xp.argsort(x, axis=dim))

        made["sort"] = sort
    for name in ("cumsum", "cumprod"):
        if hasattr(xp, name):
            made[name] = _along(getattr(xp, name))
    if find(xp, "linalg.norm") is not None:
        made["linalg.vector_norm"] = lambda x, ord=2, dim=None: xp.linalg.norm(x, ord, axis=dim)
    return made


def _of_all(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def called(x: Any, *dim: Any) -> Any:
        if dim:
            raise NotImplementedError(f"torch.{name} of a dimension")
        return function(x)

    return called


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(x: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
        if isinstance(dim, bool):
            raise NotImplementedError("the older form of std and var")
        return function(x, axis=dim, ddof=correction, keepdims=keepdim)

    return called


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim: function(x, axis=dim)


def _shapes(xp: Any) -> Operators:
    """Operators on shapes; `squeeze` and similar ones are NumPy's with other parameter names."""

    def expand(x: Any, *shape: Any) -> Any:
        wanted = sizes(shape)
        lead = len(wanted) - x.ndim
        kept = [x.shape[i - lead] if n == -1 else n for i, n in enumerate(wanted)]
        return xp.broadcast_to(x, tuple(kept))

    def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
        first, last = start_dim % x.ndim, end_dim % x.ndim
        return xp.reshape(x, (*x.shape[:first], -1, *x.shape[last + 1 :]))

    return {
        "reshape": shaped(xp.reshape),
        "view": shaped(xp.reshape),
        "flatten": flatten,
        "expand": expand,
        "permute": shaped(xp.transpose),
        "transpose": lambda x, a, b: xp.swapaxes(x, a, b),
        "t": lambda x: xp.transpose(x),
        "squeeze": lambda x, dim=None: xp.squeeze(x, axis=dim),
        "unsqueeze": lambda x, dim: xp.expand_dims(x, axis=dim),
        "stack": lambda tensors, dim=0: xp.stack(tensors, axis=dim),
        "cat": lambda tensors, dim=0: xp.concatenate(tensors, axis=dim),
        "getitem": lambda x, index: x[index],
        "clone": lambda x: x * 1,
    }
