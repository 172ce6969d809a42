"""ATen's names of writes in place, as torch shows them: in errors of transforms, in warnings of
`vmap`, and to dispatch modes.
"""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest
import torch

import impl

# By target and arguments, both made by `_values`: the methods that are called.
WRITES = {
    ("t", ""): (
        "abs_ absolute_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ "
        "asinh_ atan_ atanh_ bernoulli_ cauchy_ ceil_ conj_physical_ cos_ cosh_ deg2rad_ "
        "detach_ digamma_ erf_ erfc_ erfinv_ exp2_ exp_ expm1_ exponential_ fix_ floor_ frac_ "
        "i0_ lgamma_ log10_ log1p_ log2_ log_ log_normal_ logical_not_ logit_ nan_to_num_ "
        "neg_ negative_ normal_ rad2deg_ random_ reciprocal_ relu_ round_ rsqrt_ sgn_ "
        "sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_ t_ tan_ tanh_ trunc_ uniform_ "
        "zero_"
    ),
    ("t", "2.0"): (
        "add_ clamp_ clamp_max_ clamp_min_ clip_ copy_ copysign_ div_ divide_ eq_ fill_ "
        "floor_divide_ fmod_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ lt_ mul_ "
        "multiply_ ne_ not_equal_ pow_ remainder_ sub_ subtract_ true_divide_ xlogy_ __iadd__ "
        "__isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__"
    ),
    ("a", "c, c"): "addbmm_",
    ("t", "v, v"): "addcdiv_ addcmul_ lerp_",
    ("a", "e, e"): "addmm_",
    ("t", "w, e[0]"): "addmv_",
    ("a", "e[0], e[0]"): "addr_",
    ("t", "s"): (
        "arctan2_ atan2_ bernoulli_ clamp_ clamp_max_ clamp_min_ clip_ copysign_ eq_ fill_ "
        "fmod_ ge_ geometric_ greater_ greater_equal_ gt_ heaviside_ hypot_ igamma_ igammac_ "
        "ldexp_ le_ less_ less_equal_ logical_and_ logical_or_ logical_xor_ lt_ ne_ "
        "nextafter_ not_equal_ pow_ remainder_ xlogy_ __imod__ __ipow__"
    ),
    ("t", "(2,), (1,)"): "as_strided_",
    ("c", "c, c"): "baddbmm_",
    ("k", "1"): (
        "bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ "
        "__iand__ __ior__ __ixor__ __ilshift__ __irshift__"
    ),
    ("k", "n"): (
        "bitwise_and_ bitwise_left_shift_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ gcd_ "
        "lcm_ __iand__ __ior__ __ixor__ __ilshift__ __irshift__"
    ),
    ("k", ""): "bitwise_not_",
    ("a", "1"): "cumprod_ cumsum_ fill_diagonal_ squeeze_",
    ("t", "0, i, v[:2]"): "index_add_ index_copy_ scatter_ scatter_add_",
    ("t", "0, i, 0.5"): "index_fill_ scatter_",
    ("t", "0, i, s"): "index_fill_",
    ("t", "(i,), v[:2]"): "index_put_",
    ("t", '0, i, v[:2], "prod"'): "index_reduce_",
    ("t", "v, 0.5"): "lerp_",
    ("t", "m, 0.5"): "masked_fill_",
    ("t", "m, s"): "masked_fill_",
    ("t", "m, v"): "masked_scatter_",
    ("t", "1"): "mvlgamma_ polygamma_ random_ unsqueeze_",
    ("t", "i, v[:2]"): "put_",
    ("a", "0, 1"): "random_ squeeze_",
    ("a", "2.0, 0, 1.0"): "renorm_",
    ("t", '0, i, v[:2], "sum"'): "scatter_reduce_",
    ("t", "0.25, 0.75"): "subtract_",
    ("t", "0, 0"): "swapaxes_ swapdims_ transpose_",
    ("a", ""): "tril_ triu_",
}


def _values(lib: Any) -> dict[str, Any]:
    return {
        **{"t": lib.tensor([0.3, 0.5, 0.7]), "k": lib.tensor([3, 5, 7]), "s": lib.tensor(0.5)},
        **{"a": lib.full((2, 2), 0.5), "c": lib.full((2, 2, 2), 0.5), "v": lib.full((3,), 0.5)},
        **{"e": lib.ones(2, 2), "w": lib.ones(3, 2), "i": lib.tensor([0, 1])},
        **{"m": lib.tensor([True, False, True]), "n": lib.tensor([1, 2, 1])},
    }


def _written(lib: Any, target: str, arguments: str, method: str) -> tuple[Any, Any]:
    """A target, and a function that writes it."""
    values = _values(lib)
    operands = eval(f"({arguments},)" if arguments else "()", values)
    return values[target], lambda tensor: getattr(tensor, method)(*operands)


def _captured(lib: Any, tensor: Any, write: Any) -> str:
    """The name in the error for a write to a tensor that a transform has captured."""

    def function(x):
        write(tensor)
        return x.sum()

    with pytest.raises(RuntimeError, match="captured Tensor") as raised:
        lib.func.grad(function)(lib.ones(3))
    return re.search(r"aten::(\S+)\)", str(raised.value))[1]  # type: ignore[index]


def _mapped(lib: Any, tensor: Any, write: Any) -> tuple:
    """The warnings of a write to mapped tensors, and the error."""
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            lib.func.vmap(write, randomness="different")(lib.stack([tensor, tensor]))
        except RuntimeError as raised:
            error = str(raised)
    texts = {str(one.message).partition(" (Triggered")[0] for one in caught}
    return sorted(text for text in texts if "batching rule" in text), error  # others come once


def _dispatched(lib: Any, tensor: Any, write: Any) -> list[str]:
    """The operators that a dispatch mode sees of a write."""
    seen = []
    modes = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")

    class Mode(modes.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Mode():
        write(tensor)
    return seen


@pytest.mark.parametrize("shown", [_captured, _mapped, _dispatched])
@pytest.mark.parametrize(("target", "arguments"), WRITES)
def test_a_write_has_the_name_that_torch_shows(target, arguments, shown):
    for method in WRITES[target, arguments].split():
        expected, got = (
            shown(lib, *_written(lib, target, arguments, method)) for lib in (torch, impl)
        )
        assert got == expected, method
