"""The operators in place that torch's `vmap` has no rules for: ATen's names of them, which its
warnings show, and the spellings of which only one has a rule (BatchRulesDecompositions.cpp).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from impl.core.state import STATE
from impl.tensor.tensor import Tensor

_ONE = {
    **{name: f"{name}_" for name in ("addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr")},
    **{name: f"{name}_" for name in ("as_strided", "baddbmm", "hypot", "igamma", "igammac")},
    **{name: f"{name}_" for name in ("index_copy", "index_reduce", "ldexp", "masked_scatter")},
    **{name: f"{name}_" for name in ("nextafter", "put", "renorm", "tril", "triu")},
    **{"heaviside_into": "heaviside_", "polygamma_into": "polygamma_"},
    **{"conj_physical_of_real": "conj_physical_", "cumsum_along": "cumsum_"},
    **{"cumprod_along": "cumprod_", "floor_divide_into": "floor_divide_.Tensor"},
    **{f"{name}_number_into": f"{name}_.Scalar" for name in ("eq", "ge", "gt", "le", "lt", "ne")},
    **{f"{name}_tensor_into": f"{name}_.Tensor" for name in ("eq", "ge", "gt", "le", "lt", "ne")},
}
# Those with an overload for a number and one for a tensor, by the last argument.
_TWO = {
    **{name: (f"{name}_.Scalar", f"{name}_.Tensor") for name in ("fmod", "lerp", "remainder")},
    **{"pow": (None, "pow_.Tensor"), "xlogy": ("xlogy_.Scalar_Other", "xlogy_.Tensor")},
    **{"clamp": ("clamp_", "clamp_.Tensor"), "scatter": ("scatter_.value", "scatter_.src")},
}
# Spellings of operators that have a rule by another name, or that show by this one.
_SPELLED = {
    **{"clip_": "clamp_", "greater_": "gt_", "greater_equal_": "ge_", "less_": "lt_"},
    **{"less_equal_": "le_", "not_equal_": "ne_", "negative_": "neg_", "fix_": "trunc_"},
    **{"subtract_": "sub_", "subtract_.Scalar": "sub_.Tensor", "square_": "pow_.Scalar"},
}
_WITH_RULES = {"sub": "sub_.Tensor", "neg": "neg_", "trunc": "trunc_", "pow": "pow_.Scalar"}


def slow_name(name: str, args: tuple) -> str | None:
    """ATen's name of the write by the operator of this name, if `vmap` has no rule for it."""
    found = _ONE.get(name)
    if name in _TWO:
        of_tensor = any(isinstance(a, Tensor) for a in (args[1:] if name == "clamp" else args[-1:]))
        found = _TWO[name][of_tensor]
    spelled = STATE.spelled
    if spelled is None:
        return found
    plain = found or _WITH_RULES.get(name, "")
    if not plain.startswith(_SPELLED[spelled]):
        return found
    return spelled + plain.removeprefix(_SPELLED[spelled])


def spelled(name: str, method: Callable) -> Callable:
    """A method in place that shows by the name of another spelling where `vmap` has no rule; the
    method itself where the spelling makes no difference."""
    if name not in _SPELLED:
        return method

    @functools.wraps(method)
    def call(*args, **named):
        if not STATE.batched:
            return method(*args, **named)
        before, STATE.spelled = STATE.spelled, name
        try:
            return method(*args, **named)
        finally:
            STATE.spelled = before

    return call
