"""Parameters of kernels, by place and by name, and the names of nodes.

Importing impl reads those of 600 kernels and 700 formulas. `inspect.signature`, which takes 40 us,
is asked once for a kernel, and for formulas only where the code object does not say the same.
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType

signature_of = functools.cache(inspect.signature)


def names_of(function) -> list[str]:
    """The names of a function's parameters."""
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return list(inspect.signature(function).parameters)
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return list(inspect.signature(function).parameters)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def positional(kernel):
    """The kernel as an operator calls it, with keyword-only parameters by position too."""
    parameters = signature_of(kernel).parameters.values()
    if not any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return kernel
    names = [p.name for p in parameters]
    call = [f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters]
    return eval(
        f"lambda {', '.join(names)}: _kernel({', '.join(call)})",
        {"_kernel": kernel, "__name__": __name__},
    )


def camel(name: str) -> str:
    """A snake_case name in CamelCase, as nodes have it."""
    return "".join(part.capitalize() for part in name.split("_"))


def public_name(parameter: str) -> str:
    """The name by which a caller passes a kernel's parameter: torch calls the first one `input`."""
    return "input" if parameter == "self" else parameter
