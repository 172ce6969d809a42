"""JAX on the tape, differentiated by `jax.vjp`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from frameworks.forms import Operators, selected
from frameworks.numpy_shaped import operators
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)


class Jax(Library):
    """JAX on the CPU, with 64-bit types enabled."""

    name = "jax"
    version = jax.__version__

    def __init__(self) -> None:
        self.operators = {**operators(jnp), **_own()}

    def array(self, values: np.ndarray) -> Any:
        return jnp.asarray(values)

    def numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def cotangent(self, output: Any) -> Any:
        return jax.grad(lambda x: x, holomorphic=jnp.iscomplexobj(output))(output)

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        _, pull = jax.vjp(function, *inputs)
        return pull(tuple(cotangents))


def _window(x: Any, size: int, dims: int) -> Any:
    """Max pooling over windows that do not overlap; -inf makes JAX recognise it as a maximum."""
    shape = (1,) * (x.ndim - dims) + (size,) * dims
    return lax.reduce_window(x, -jnp.inf, lax.max, shape, shape, "VALID")


def _topk(x: Any, k: int) -> Any:
    return tuple(lax.top_k(x, k))


def _onto(base: Any, dim: int, index: Any, source: Any, reduce: str) -> Any:
    if base.ndim != 1 or reduce not in ("amax", "amin"):
        raise NotImplementedError(f"torch.scatter_reduce({reduce!r})")
    place = base.at[index]
    return place.max(source) if reduce == "amax" else place.min(source)


def _own() -> Operators:
    """JAX's operators beyond NumPy's."""
    functional = {
        "relu": nn.relu,
        "relu6": nn.relu6,
        "leaky_relu": lambda x, slope=0.01: nn.leaky_relu(x, slope),
        "elu": lambda x, alpha=1.0: nn.elu(x, alpha),
        "selu": nn.selu,
        "celu": lambda x, alpha=1.0: nn.celu(x, alpha),
        "silu": nn.silu,
        "mish": nn.mish,
        "softplus": nn.softplus,
        "logsigmoid": nn.log_sigmoid,
        "hardtanh": nn.hard_tanh,
        "hardsigmoid": nn.hard_sigmoid,
        "hardswish": nn.hard_swish,
        "softmax": lambda x, dim: nn.softmax(x, axis=dim),
        "log_softmax": lambda x, dim: nn.log_softmax(x, axis=dim),
        "max_pool1d": lambda x, size: _window(x, size, 1),
        "max_pool2d": lambda x, size: _window(x, size, 2),
    }
    found: Operators = {f"nn.functional.{name}": run for name, run in functional.items()}
    special = jax.scipy.special
    found |= {
        "relu": nn.relu,
        "sigmoid": nn.sigmoid,
        "softmax": functional["softmax"],
        "rsqrt": lax.rsqrt,
        "logsumexp": lambda x, dim, keepdim=False: nn.logsumexp(x, axis=dim, keepdims=keepdim),
        "cummax": lambda x, dim: (lax.cummax(x, dim % x.ndim), x),
        "cummin": lambda x, dim: (lax.cummin(x, dim % x.ndim), x),
        "topk": _topk,
        "scatter_reduce": _onto,
        "xlogy": special.xlogy,
        "erf": special.erf,
        "erfc": special.erfc,
        "erfinv": special.erfinv,
        "lgamma": special.gammaln,
        "digamma": special.digamma,
        "logit": special.logit,
    }
    # torch.cummax, torch.cummin and torch.topk return named tuples.
    for name in ("cummax", "cummin", "topk"):
        found[name] = selected(found[name])
    return found


backend = Ported("frameworks.jax:backend", Jax())
