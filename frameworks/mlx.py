"""MLX on the tape, differentiated by `mlx.core.vjp`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn

from frameworks.forms import Operators, Selected
from frameworks.numpy_shaped import operators
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

mx.set_default_device(mx.cpu)


class Mlx(Library):
    """MLX on the CPU, its only device with float64."""

    name = "mlx"
    version = version("mlx")

    def __init__(self) -> None:
        self.operators = {**operators(mx), **_own()}

    def array(self, values: np.ndarray) -> Any:
        kind = getattr(mx, "bool_" if values.dtype == bool else values.dtype.name, None)
        if kind is None:
            raise NotImplementedError(f"dtype {values.dtype.name}")
        return mx.array(values.tolist(), dtype=kind).reshape(values.shape)

    def numpy(self, array: Any) -> np.ndarray:
        return np.array(array)

    def cotangent(self, output: Any) -> Any:
        return mx.grad(lambda x: x)(output)

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        try:
            _, found = mx.vjp(lambda *given: list(function(*given)), list(inputs), list(cotangents))
        except ValueError as error:
            if "Not implemented" in str(error):
                raise NotImplementedError(str(error)) from None
            raise
        return tuple(found)


def _own() -> Operators:
    """MLX's operators beyond NumPy's."""
    functional = {
        "relu": nn.relu,
        "relu6": nn.relu6,
        "leaky_relu": lambda x, slope=0.01: nn.leaky_relu(x, slope),
        "prelu": nn.prelu,
        "elu": lambda x, alpha=1.0: nn.elu(x, alpha),
        "selu": nn.selu,
        "celu": lambda x, alpha=1.0: nn.celu(x, alpha),
        "silu": nn.silu,
        "mish": nn.mish,
        "gelu": nn.gelu,
        "softplus": nn.softplus,
        "softsign": nn.softsign,
        "softshrink": lambda x, lambd=0.5: nn.softshrink(x, lambd),
        "hardshrink": lambda x, lambd=0.5: nn.hard_shrink(x, lambd),
        "hardtanh": lambda x, low=-1.0, high=1.0: nn.hard_tanh(x, low, high),
        "hardswish": nn.hardswish,
        "logsigmoid": nn.log_sigmoid,
        "softmax": lambda x, dim: nn.softmax(x, axis=dim),
        "log_softmax": lambda x, dim: nn.log_softmax(x, axis=dim),
        "l1_loss": lambda x, target: nn.losses.l1_loss(x, target),
        "huber_loss": lambda x, target: nn.losses.huber_loss(x, target, reduction="mean"),
    }
    found: Operators = {f"nn.functional.{name}": run for name, run in functional.items()}
    return {
        **found,
        "relu": nn.relu,
        "sigmoid": mx.sigmoid,
        "softmax": functional["softmax"],
        "erf": mx.erf,
        "erfinv": mx.erfinv,
        "cummax": lambda x, dim: Selected(mx.cummax(x, axis=dim), x),
        "cummin": lambda x, dim: Selected(mx.cummin(x, axis=dim), x),
        "topk": lambda x, k: Selected(mx.topk(x, k), x),
        "flatten": mx.flatten,
    }


backend = Ported("frameworks.mlx:backend", Mlx())
