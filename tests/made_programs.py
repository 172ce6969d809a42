"""The tensors, the error and the warnings that a program leaves, with torch or with impl."""

from __future__ import annotations

import math
import warnings


def observed(program: str, module) -> list:
    """The tensors that a program leaves, its warnings, and the error that ends it."""
    lines = "\n".join(line[8:] for line in program.splitlines())
    scope: dict = {"torch": module, "math": math}
    scope["scope"] = scope
    seen: list = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.set_warn_always(True)
        try:
            exec(compile(lines, "<program>", "exec"), scope)
        except Exception as error:
            seen.append((type(error).__name__, str(error).splitlines()[0].rstrip('"')))
        finally:
            module.set_warn_always(False)
    seen += [str(w.message).split(" (Triggered")[0] for w in caught if w.category is UserWarning]
    for name, value in [*scope.items()]:
        values = value if isinstance(value, tuple) else (value,)
        seen += [(name, _described(v)) for v in values if isinstance(v, (module.Tensor, bool))]
    return seen


def _described(value):
    if isinstance(value, bool):
        return value
    node = None if value.grad_fn is None else value.grad_fn.name()
    version = None if value.is_inference() else value._version
    layout = value.stride(), value.storage_offset(), version, value._is_view()
    return str(value.dtype)[-7:], repr(value.tolist()), layout, value.requires_grad, node
