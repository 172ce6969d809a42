"""TensorFlow on the tape, differentiated by `tf.GradientTape`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

from frameworks.forms import Operators, Selected, either, positional, reduction, shaped
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

# torch's name, and the name within tf.math, or a full name if it has a dot.
_SAME = {
    name: name
    for name in (
        "add abs sqrt rsqrt square reciprocal exp expm1 log log1p sin cos tan asin acos atan "
        "atan2 sinh cosh tanh asinh acosh atanh sign floor ceil round maximum minimum erf erfc "
        "erfinv lgamma digamma sigmoid conj real imag angle cumsum cumprod"
    ).split()
}
_SAME |= {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negative",
    "pow": "pow",
    "fmod": "truncatemod",
    "remainder": "floormod",
    "floor_divide": "floordiv",
    "xlogy": "xlogy",
    "isnan": "is_nan",
    "isinf": "is_inf",
    "isfinite": "is_finite",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_REDUCTIONS = {"amax": "max", "amin": "min", "sum": "sum", "mean": "mean", "prod": "prod"}
_REDUCTIONS |= {"logsumexp": "logsumexp", "all": "all", "any": "any"}


class TensorFlow(Library):
    """TensorFlow on the CPU, in its eager mode."""

    name = "tensorflow"
    version = tf.__version__

    def __init__(self) -> None:
        self.operators = _operators()

    def array(self, values: np.ndarray) -> Any:
        return tf.constant(values)

    def numpy(self, array: Any) -> np.ndarray:
        return array.numpy()

    def cotangent(self, output: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(output)
            root = tf.identity(output)
        return tape.gradient(root, output)

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        with tf.GradientTape() as tape:
            given = [tf.identity(x) for x in inputs]
            tape.watch(given)
            outputs = list(function(*given))
        found = tape.gradient(outputs, given, output_gradients=list(cotangents))
        return [None if g is None else tf.convert_to_tensor(g) for g in found]


def _operators() -> Operators:
    found: Operators = {
        name: positional(getattr(tf.math, own))
        for name, own in _SAME.items()
        if hasattr(tf.math, own)
    }
    for name, own in _REDUCTIONS.items():
        found[name] = reduction(getattr(tf.math, f"reduce_{own}"))
    nn = tf.nn
    functional = {
        "relu": nn.relu,
        "relu6": nn.relu6,
        "leaky_relu": lambda x, slope=0.01: nn.leaky_relu(x, slope),
        "elu": lambda x: nn.elu(x),
        "selu": nn.selu,
        "silu": nn.silu,
        "softplus": tf.math.softplus,
        "softsign": nn.softsign,
        "logsigmoid": tf.math.log_sigmoid,
        "softmax": lambda x, dim: nn.softmax(x, axis=dim),
        "log_softmax": lambda x, dim: nn.log_softmax(x, axis=dim),
        "max_pool1d": _pool1d,
        "max_pool2d": _pool2d,
    }
    found |= {f"nn.functional.{name}": run for name, run in functional.items()}
    for name in ("max", "min"):
        found[name] = either(found[f"a{name}"], getattr(tf.math, f"{name}imum"))
    return {
        **found,
        "relu": nn.relu,
        "softmax": functional["softmax"],
        "matmul": tf.matmul,
        "clamp": _clamp,
        "topk": lambda x, k: Selected(*tf.math.top_k(x, k)),
        "sort": lambda x, dim=-1: Selected(tf.sort(x, axis=dim), tf.argsort(x, axis=dim)),
        "linalg.vector_norm": lambda x, ord=2: tf.norm(x, ord if ord != float("inf") else np.inf),
        "where": tf.where,
        "scatter_reduce": _onto,
        "reshape": shaped(tf.reshape),
        "view": shaped(tf.reshape),
        "permute": shaped(tf.transpose),
        "t": tf.transpose,
        "expand": shaped(tf.broadcast_to),
        "squeeze": lambda x, dim=None: tf.squeeze(x, dim),
        "unsqueeze": lambda x, dim: tf.expand_dims(x, dim),
        "stack": lambda tensors, dim=0: tf.stack(tensors, dim),
        "cat": lambda tensors, dim=0: tf.concat(tensors, dim),
        "getitem": lambda x, index: x[index],
        "clone": tf.identity,
        "std": lambda x, *, correction: _population(tf.math.reduce_std, x, correction),
        "var": lambda x, *, correction: _population(tf.math.reduce_variance, x, correction),
        "linalg.det": tf.linalg.det,
        "linalg.inv": tf.linalg.inv,
        "linalg.cholesky": tf.linalg.cholesky,
        "linalg.solve": tf.linalg.solve,
    }


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None or max is None:
        raise NotImplementedError("torch.clamp with one bound")
    return tf.clip_by_value(x, min, max)


def _population(function: Callable[..., Any], x: Any, correction: int) -> Any:
    if correction:
        raise NotImplementedError("a correction")
    return function(x)


def _onto(base: Any, dim: int, index: Any, source: Any, reduce: str) -> Any:
    """TensorFlow's scatter of a maximum or minimum, for one dimension."""
    if reduce not in ("amax", "amin"):
        raise NotImplementedError(f"torch.scatter_reduce({reduce!r})")
    scatter = tf.tensor_scatter_nd_max if reduce == "amax" else tf.tensor_scatter_nd_min
    return scatter(base, index[:, None], source)


def _pool1d(x: Any, size: int) -> Any:
    """Pooling over windows that do not overlap; TensorFlow's CPU pooling has channels last."""
    pooled = tf.nn.max_pool1d(tf.transpose(x[None], (0, 2, 1)), size, size, "VALID")
    return tf.transpose(pooled, (0, 2, 1))[0]


def _pool2d(x: Any, size: int) -> Any:
    pooled = tf.nn.max_pool2d(tf.transpose(x, (0, 2, 3, 1)), size, size, "VALID")
    return tf.transpose(pooled, (0, 3, 1, 2))


backend = Ported("frameworks.tensorflow:backend", TensorFlow())
