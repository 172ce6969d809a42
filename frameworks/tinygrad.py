"""tinygrad on the tape, differentiated by its `Tensor.gradient`."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

# The device without a compiler; an environment variable that is already set takes precedence.
os.environ.setdefault("DEV", "PYTHON")
from tinygrad import Device, Tensor

from frameworks.forms import Operators, dims, either, selected, shaped
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

# Methods with torch's names and parameters.
_SAME = (
    "add sub mul div pow matmul dot neg abs sqrt rsqrt square reciprocal exp exp2 log log2 log10 "
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sign floor ceil round trunc fmod "
    "copysign maximum minimum relu sigmoid erf eq ne masked_fill flatten transpose squeeze "
    "unsqueeze where isnan isinf isfinite tril triu logaddexp lerp clone gather scatter_reduce "
    "cumsum cumprod einsum"
).split()
_REDUCTIONS = {"sum": "sum", "mean": "mean", "prod": "prod", "amax": "max", "amin": "min"}
_REDUCTIONS |= {name: name for name in ("logsumexp", "all", "any", "argmax", "argmin")}
_FUNCTIONAL = (
    "relu relu6 leaky_relu elu selu celu silu mish gelu softplus logsigmoid hardtanh hardsigmoid "
    "hardswish softmax log_softmax softsign max_pool2d"
).split()


class Tinygrad(Library):
    """tinygrad, on the device named by its environment variable."""

    name = "tinygrad"
    version = version("tinygrad")

    def __init__(self) -> None:
        self.operators = _operators()

    def array(self, values: np.ndarray) -> Any:
        if values.dtype.kind == "c":
            raise NotImplementedError(f"dtype {values.dtype.name}")
        # A realized buffer: tinygrad shares one constant among all equal scalars otherwise.
        flat = Tensor(np.ascontiguousarray(values).reshape(-1)).realize()
        return flat.reshape(values.shape)

    def numpy(self, array: Any) -> np.ndarray:
        if array.device is None:  # a constant has no device until it is realized
            array = array.clone(device=Device.DEFAULT)
        return array.numpy()

    def cotangent(self, output: Any) -> Any:
        (seed,) = output.gradient(output)
        return seed

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        outputs = function(*inputs)
        total = None
        for output, cotangent in zip(outputs, cotangents, strict=True):
            found = output.gradient(*inputs, gradient=cotangent)
            if total is not None:
                found = [a + b for a, b in zip(total, found, strict=True)]
            total = found
        return total or ()


def _operators() -> Operators:
    found: Operators = {name: getattr(Tensor, name) for name in _SAME}
    for name in ("reshape", "view", "expand", "permute"):
        found[name] = shaped(getattr(Tensor, name))
    for name, method in _REDUCTIONS.items():
        found[name] = _reduction(getattr(Tensor, method))
    for name in _FUNCTIONAL:
        found[f"nn.functional.{name}"] = getattr(Tensor, name)
    for name, between in (("max", "maximum"), ("min", "minimum")):
        found[name] = either(getattr(Tensor, name), getattr(Tensor, between))
    for name in ("sort", "topk", "cummax", "cummin"):
        found[name] = selected(getattr(Tensor, name))
    found["clamp"] = lambda x, min=None, max=None: x.clamp(min, max)
    found["std"] = lambda x, dim=None, *, correction=1: x.std(dim, correction=correction)
    found["var"] = lambda x, dim=None, *, correction=1: x.var(dim, correction=correction)
    found["stack"] = lambda tensors, dim=0: Tensor.stack(*tensors, dim=dim)
    found["cat"] = lambda tensors, dim=0: Tensor.cat(*tensors, dim=dim)
    found["getitem"] = lambda x, index: x[index]
    found["softmax"] = lambda x, dim: x.softmax(dim)
    for name, symbol in (("lt", "__lt__"), ("le", "__le__"), ("gt", "__gt__"), ("ge", "__ge__")):
        found[name] = getattr(Tensor, symbol)
    return found


def _reduction(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False: method(x, dims(dim), keepdim=keepdim)


backend = Ported("frameworks.tinygrad:backend", Tinygrad())
