"""Parameters of kernels, by place and by name, and the names of nodes."""

from __future__ import annotations

import inspect


def positional(kernel):
    """The kernel as an operator calls it, with keyword-only parameters by position too."""
    parameters = inspect.signature(kernel).parameters.values()
    if not any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return kernel
    names = [p.name for p in parameters]
    call = [f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters]
    return eval(f"lambda {', '.join(names)}: _kernel({', '.join(call)})", {"_kernel": kernel})


def camel(name: str) -> str:
    """A snake_case name in CamelCase, as nodes have it."""
    return "".join(part.capitalize() for part in name.split("_"))


def public_name(parameter: str) -> str:
    """The name by which a caller passes a kernel's parameter: torch calls the first one `input`."""
    return "input" if parameter == "self" else parameter
