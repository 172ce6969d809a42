"""Operators over lists of tensors (`torch._foreach_add_` and others), as optimizers use them.

Each applies the operator of that name to the tensors of the list in turn; torch's kernels differ
in speed only. An operand that is a list is paired with the list of tensors.
"""

from __future__ import annotations

import functools

from impl.core.registry import FUNCTIONS, C
from impl.core.state import STATE
from impl.tensor.tensor import Tensor

_NAMES = (
    *("abs", "add", "addcdiv", "addcmul", "div", "exp", "lerp", "log", "maximum", "minimum"),
    *("mul", "neg", "pow", "reciprocal", "sigmoid", "sign", "sqrt", "sub", "tanh"),
)
_ONLY_NEW = ("maximum", "minimum")
_WITH_VALUE = ("addcdiv", "addcmul")  # whose last operand may be the number of that name


def _called(method, tensor, *operands, **options):
    return method(tensor, *operands, **options)


def _uncounted(method, tensor, *operands, **options):
    """A write as a kernel makes it under a dispatch mode: no version counter shows it."""
    version = tensor._storage.version
    result = method(tensor, *operands, **options)
    tensor._storage.version = version
    return result


def _publish(name: str, in_place: bool) -> None:
    spelled = name + "_" if in_place else name

    def each(self, *operands, **options):
        tensors = tuple(self)
        columns = [o if isinstance(o, (list, tuple)) else [o] * len(tensors) for o in operands]
        for column in columns:
            if len(column) != len(tensors):
                raise RuntimeError(
                    "Tensor lists must have the same number of tensors, got "
                    f"{len(tensors)} and {len(column)}"
                )
        call = _uncounted if in_place and STATE.before_write is not None else _called
        call = functools.partial(call, getattr(Tensor, spelled))
        rows = zip(tensors, *columns, strict=True)
        if name in _WITH_VALUE and len(columns) == 3:
            results = [call(*row, value=value, **options) for *row, value in rows]
        else:
            results = [call(*row, **options) for row in rows]
        return results if in_place else tuple(results)

    each.__name__ = each.__qualname__ = f"_foreach_{spelled}"
    each.__doc__ = f"`{spelled}` on every tensor of a list; operands that are lists are paired."
    FUNCTIONS[each.__name__] = each


def _foreach_norm(self, ord=2, dtype=None):
    """The vector norm of every tensor of a list."""
    return tuple(C.linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in self)


FUNCTIONS["_foreach_norm"] = _foreach_norm


for _name in _NAMES:
    _publish(_name, False)
    if _name not in _ONLY_NEW:
        _publish(_name, True)
_publish("zero", True)
