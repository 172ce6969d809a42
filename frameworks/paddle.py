"""PaddlePaddle on the tape, differentiated by `paddle.grad`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import paddle
    import paddle.nn.functional as F

from frameworks.forms import Operators, Selected, either, find, selected, shaped
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

_SAME = {
    name: name
    for name in (
        "add matmul dot neg abs sqrt rsqrt square reciprocal exp expm1 log log2 log10 log1p sin "
        "cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot logaddexp sign floor "
        "ceil round trunc frac copysign sinc nan_to_num maximum minimum fmax fmin where isnan "
        "isinf isfinite conj real imag angle outer kron tril triu erf erfinv lgamma digamma "
        "logit dist cdist lerp gather einsum remainder floor_divide"
    ).split()
}
_SAME |= {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less_than",
    "le": "less_equal",
    "gt": "greater_than",
    "ge": "greater_equal",
    "linalg.det": "linalg.det",
    "linalg.inv": "linalg.inv",
    "linalg.cholesky": "linalg.cholesky",
    "linalg.solve": "linalg.solve",
}
_REDUCTIONS = "sum mean prod amax amin logsumexp all any argmax argmin".split()
_FUNCTIONAL = (
    "relu relu6 leaky_relu prelu elu selu celu silu mish gelu softplus softsign softshrink "
    "hardshrink hardtanh hardswish hardsigmoid softmax log_softmax max_pool2d "
    "adaptive_max_pool2d l1_loss margin_ranking_loss hinge_embedding_loss "
    "multi_margin_loss"
).split()


class Paddle(Library):
    """PaddlePaddle on the CPU, in its eager mode."""

    name = "paddle"
    version = str(paddle.__version__)

    def __init__(self) -> None:
        paddle.set_device("cpu")
        self.operators = _operators()
        self._depth = 0

    def array(self, values: np.ndarray) -> Any:
        return paddle.to_tensor(values, dtype=values.dtype.name)

    def numpy(self, array: Any) -> np.ndarray:
        return array.numpy()

    def cotangent(self, output: Any) -> Any:
        root = output.detach()
        root.stop_gradient = False
        (seed,) = paddle.grad(root, root)
        return seed.detach()

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        nested = self._depth > 0
        given = [self._differentiable(x) for x in inputs]
        self._depth += 1
        try:
            outputs = function(*given)
        finally:
            self._depth -= 1
        return paddle.grad(
            list(outputs), given, list(cotangents), create_graph=nested, allow_unused=True
        )

    def _differentiable(self, x: Any) -> Any:
        """The array with `stop_gradient` unset: itself in a second derivative, else detached."""
        if not x.stop_gradient:
            return x
        x = x.detach()
        x.stop_gradient = False
        return x


def _operators() -> Operators:
    found: Operators = {
        name: function for name, own in _SAME.items() if (function := find(paddle, own)) is not None
    }
    for name in _REDUCTIONS:
        found[name] = _reduction(getattr(paddle, name))
    for name in _FUNCTIONAL:
        found[f"nn.functional.{name}"] = getattr(F, name)
    for name in ("max_pool1d", "adaptive_max_pool1d"):
        found[f"nn.functional.{name}"] = _batched(getattr(F, name))
    for name in ("max", "min"):
        found[name] = either(getattr(paddle, name), getattr(paddle, f"{name}imum"))
    for name in ("kthvalue", "mode", "topk", "cummax", "cummin"):
        found[name] = selected(getattr(paddle, name))
    for name in ("median", "nanmedian"):
        found[name] = _of_all(getattr(paddle, name), name)
    return {
        **found,
        "pow": lambda x, y: x**y,
        "relu": F.relu,
        "sigmoid": F.sigmoid,
        "softmax": F.softmax,
        "clamp": lambda x, min=None, max=None: paddle.clip(x, min, max),
        "std": lambda x, dim=None: paddle.std(x, axis=dim),
        "var": lambda x, dim=None: paddle.var(x, axis=dim),
        "quantile": lambda x, q: paddle.quantile(x, q),
        "cumsum": lambda x, dim: paddle.cumsum(x, dim),
        "cumprod": lambda x, dim: paddle.cumprod(x, dim),
        "sort": lambda x, dim=-1, stable=False: Selected(
            paddle.sort(x, dim, stable=stable), paddle.argsort(x, dim, stable=stable)
        ),
        "linalg.vector_norm": lambda x, ord=2: paddle.linalg.vector_norm(x, ord),
        "nn.functional.huber_loss": lambda x, y: F.smooth_l1_loss(x, y, is_huber=True),
        "nn.functional.threshold": lambda x, at, value: F.thresholded_relu(x, at, value),
        "reshape": shaped(paddle.reshape),
        "view": shaped(paddle.reshape),
        "expand": shaped(paddle.expand),
        "flatten": paddle.flatten,
        "permute": shaped(paddle.transpose),
        "transpose": _swapped,
        "t": paddle.t,
        "squeeze": lambda x, dim=None: paddle.squeeze(x, dim),
        "unsqueeze": lambda x, dim: paddle.unsqueeze(x, dim),
        "stack": lambda tensors, dim=0: paddle.stack(tensors, dim),
        "cat": lambda tensors, dim=0: paddle.concat(tensors, dim),
        "getitem": lambda x, index: x[index],
        "clone": paddle.clone,
    }


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False: function(x, axis=dim, keepdim=keepdim)


def _batched(pool: Callable[..., Any]) -> Callable[..., Any]:
    """Pooling of one image without a batch dimension, which Paddle requires."""
    return lambda x, size: pool(x[None], size)[0] if x.ndim == 2 else pool(x, size)


def _of_all(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def called(x: Any, dim: int | None = None) -> Any:
        if dim is None:
            return function(x)
        if name == "nanmedian":
            raise NotImplementedError("torch.nanmedian of a dimension")
        return Selected(*function(x, dim, mode="min"))

    return called


def _swapped(x: Any, a: int, b: int) -> Any:
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return paddle.transpose(x, order)


backend = Ported("frameworks.paddle:backend", Paddle())
