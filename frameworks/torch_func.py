"""torch's functional transforms on the tape, differentiated by `torch.func.vjp`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.overrides import get_overridable_functions

from frameworks.forms import Operators
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

# Modules of torch with operators, and the prefix of their names in a program.
_FOLDERS = (
    (torch, ""),
    (torch.nn.functional, "nn.functional."),
    (torch.linalg, "linalg."),
    (torch.special, "special."),
    (torch.fft, "fft."),
)
_TENSOR = ("view", "reshape", "permute", "expand", "masked_fill", "repeat", "sum_to_size")


class Func(Library):
    """`torch.func` of the installed torch."""

    name = "torch.func"
    version = str(torch.__version__)

    def __init__(self) -> None:
        self.operators = _operators()

    def array(self, values: np.ndarray) -> Any:
        kind = getattr(torch, values.dtype.name)
        return torch.tensor(values.tolist(), dtype=kind).reshape(values.shape)

    def numpy(self, array: Any) -> np.ndarray:
        if array.dtype == torch.bfloat16:
            import ml_dtypes

            return array.float().numpy().astype(ml_dtypes.bfloat16)
        return array.numpy(force=True)

    def cotangent(self, output: Any) -> Any:
        return torch.func.grad(lambda x: x)(output)

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        pull: Any = torch.func.vjp(function, *inputs)[1]
        return pull(tuple(cotangents))


def _operators() -> Operators:
    found: Operators = {}
    overridable = get_overridable_functions()
    for folder, prefix in _FOLDERS:
        known = set(map(id, overridable.get(folder, ())))
        for name, function in vars(folder).items():
            if id(function) in known and not name.startswith("_") and not name.endswith("_"):
                found[f"{prefix}{name}"] = _named(function)
    for name in _TENSOR:
        found[name] = getattr(torch.Tensor, name)
    found["getitem"] = lambda x, index: x[index]
    for name in ("detach", "is_complex", "is_floating_point", "numel"):
        found.pop(name, None)  # provided by the tape
    for name in [name for name in found if name.endswith("_like") or name == "allclose"]:
        del found[name]
    return found


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with structured results converted to named tuples, which the tape rebuilds."""

    def called(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        fields = getattr(type(result), "__match_args__", None)
        if isinstance(result, tuple) and fields:
            return _kind(type(result).__name__, fields)(*result)
        return result

    return called


@cache
def _kind(name: str, fields: tuple[str, ...]) -> type:
    return namedtuple(name, fields)  # type: ignore[no-any-return, misc]


backend = Ported("frameworks.torch_func:backend", Func())
