"""The operators in place that torch's `vmap` has no rules for, by ATen's names, which its warnings
show (BatchRulesDecompositions.cpp).
"""

from __future__ import annotations

from impl.dispatch import aten

_COMPARISONS = (
    *("eq", "ge", "gt", "le", "lt", "ne", "greater", "greater_equal", "less", "less_equal"),
    "not_equal",
)
_WITHOUT_RULES = {
    *("addbmm_", "addcdiv_", "addcmul_", "addmm_", "addmv_", "addr_", "as_strided_", "baddbmm_"),
    *("clamp_", "clamp_.Tensor", "clip_", "clip_.Tensor", "conj_physical_", "cumprod_", "cumsum_"),
    *("fix_", "floor_divide_.Tensor", "fmod_.Scalar", "fmod_.Tensor", "heaviside_", "hypot_"),
    *("igamma_", "igammac_", "index_copy_", "index_reduce_", "ldexp_", "lerp_.Scalar"),
    *("lerp_.Tensor", "masked_scatter_", "negative_", "nextafter_", "polygamma_", "pow_.Tensor"),
    *("put_", "remainder_.Scalar", "remainder_.Tensor", "renorm_", "scatter_.src"),
    *("scatter_.value", "square_", "subtract_.Scalar", "subtract_.Tensor", "tril_", "triu_"),
    *("xlogy_.Scalar_Other", "xlogy_.Tensor"),
    *(f"{name}_.{kind}" for name in _COMPARISONS for kind in ("Scalar", "Tensor")),
}


def slow_name(op, args: tuple) -> str | None:
    """ATen's name of a write by an operator, if `vmap` has no rule for it."""
    name = aten.written_name(op, args)
    return name if name in _WITHOUT_RULES else None
