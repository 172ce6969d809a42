"""What torch does not have, refused in its words: kernels for some dtypes, some derivatives."""

from __future__ import annotations

from impl import messages
from impl.dtypes import BY_NUMPY, REDUCED, dtype
from impl.modes import STATE
from impl.tensor import requires_grad


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """torch's error for a dtype that its kernel of that name was not compiled for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{d.legacy}'")


def refuse_bool(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for a bool value."""
    if value.dtype.kind == "b":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def refuse_integers(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for integers and bools."""
    if value.dtype.kind in "iub":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def require_floating(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for all but floating values."""
    if value.dtype.kind in "iubc":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def require_full_precision(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for half and bfloat16 too."""
    if value.dtype in REDUCED:
        raise not_implemented(kernel, BY_NUMPY[value.dtype])
    require_floating(value, kernel)


def refuse_gradient(name: str, argument: str, tensor) -> None:
    """Raise RuntimeError for a tensor that requires grad where torch has no derivative for it."""
    if tensor is not None and STATE.enabled and requires_grad(tensor):
        raise RuntimeError(
            f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
            "This input cannot have requires_grad True."
        )


# -- complex numbers ----------------------------------------------------------------------------

# By operator, the kernel that torch has for no complex dtype (where the operator's own kernel here
# does not say so itself, because it says nothing of other dtypes).
_KERNELS = {
    "gt": "gt_cpu", "ge": "ge_cpu", "lt": "lt_cpu", "le": "le_cpu",
    "gt_number_into": "gt_cpu", "ge_number_into": "ge_cpu",
    "lt_number_into": "lt_cpu", "le_number_into": "le_cpu",
    "gt_tensor_into": "gt_cpu", "ge_tensor_into": "ge_cpu",
    "lt_tensor_into": "lt_cpu", "le_tensor_into": "le_cpu",
    "amax_dim": "max_values_cpu", "amin_dim": "min_values_cpu",
    "max_all": "max_all", "min_all": "min_all", "aminmax_dim": "aminmax_cpu",
    "median_all": "median_cpu", "median_dim": "median_out",
    "nanmedian_all": "median_cpu", "nanmedian_dim": "median_out",
    "mode_dim": "mode_cpu", "kthvalue_dim": "kthvalue_cpu",
    "cummax_dim": "cummax_cpu", "cummin_dim": "cummin_cpu",
    "clamp_min_tensor": "maximum_cpu", "clamp_max_tensor": "minimum_cpu",
    "remainder": "remainder_cpu", "remainder_scalar": "remainder_cpu",
    "remainder_of_scalar": "remainder_cpu", "fmod": "fmod_cpu", "fmod_scalar": "fmod_cpu",
    "floor_divide": "div_floor_cpu", "floor_divide_scalar": "div_floor_cpu",
    "floor_divide_of_scalar": "div_floor_cpu", "floor_divide_into": "div_floor_cpu",
    "atan2": "atan2_cpu", "copysign": "copysign_cpu", "copysign_scalar": "copysign_cpu",
    "logaddexp2": "logaddexp2_cpu", "logit": "logit_cpu", "digamma": "digamma",
    "polygamma": "trigamma", "polygamma_into": "trigamma",
    "erf": "erf_vml_cpu", "erfc": "erfc_vml_cpu",
    "erfinv": "erfinv_vml_cpu", "lgamma": "lgamma_vml_cpu", "round_whole": "round_vml_cpu",
    "xlogy": "xlogy_cpu", "xlogy_scalar": "xlogy_cpu", "xlogy_of_scalar": "xlogy_cpu",
    "threshold": "threshold_cpu", "threshold_into": "threshold_cpu",
    "rrelu_with_noise": "leaky_relu_cpu", "rrelu_with_noise_into": "leaky_relu_cpu",
    "binary_cross_entropy": "binary_cross_entropy",
    "binary_cross_entropy_with_logits": "log_sigmoid_cpu",
    "max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d",
    "bernoulli_fill": "bernoulli_scalar_cpu_", "bernoulli_of": "bernoulli_tensor_cpu_self_",
    "max_unpool2d_to": "max_unpool2d", "max_unpool3d_to": "max_unpool3d",
}  # fmt: skip
_CLAMP = "clamp is not supported for complex types"
# By operator, what torch says elsewhere, and raises.
_WORDS: dict[str, tuple[type[Exception], str]] = {
    **{
        name: (NotImplementedError, _CLAMP)
        for name in ("clamp_numbers", "clamp_tensors", "clamp_min_number", "clamp_max_number")
    },
    **{name: (NotImplementedError, _CLAMP) for name in ("relu", "hardtanh")},
    **{
        name: (NotImplementedError, f"{name} is not supported for complex inputs")
        for name in ("floor", "ceil", "trunc")
    },
    **{
        name: (RuntimeError, f"{name} not implemented for complex tensors.")
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    **{
        f"{name}{suffix}": (RuntimeError, f"{name}(): does not support complex input")
        for name, suffix in (("argmax", ""), ("argmin", ""), ("max", "_dim"), ("min", "_dim"))
    },
    **{
        name: (RuntimeError, f"{name} does not support complex inputs.")
        for name in ("isposinf", "isneginf")
    },
    **{
        name: (RuntimeError, " Sort does not support complex dtypes on CPU")
        for name in ("sort_default", "sort_stable")
    },
    **{
        name: (RuntimeError, "heaviside is not yet implemented for complex tensors.")
        for name in ("heaviside", "heaviside_into")
    },
    "topk_dim": (RuntimeError, " topk does not support complex dtypes on CPU"),
    "nansum_dim": (RuntimeError, "nansum on CPU does not support complex inputs"),
    "signbit": (NotImplementedError, "signbit is not implemented for complex tensors."),
    "sign": (
        NotImplementedError,
        "Unlike NumPy, torch.sign is not intended to support complex numbers. "
        "Please use torch.sgn instead.",
    ),
}
# The operators that compute with complex numbers but do not record, and what torch calls them.
_UNDIFFERENTIATED = {"embedding_rows": "embedding", "pack_padded": "_pack_padded_sequence"} | {
    name: name
    for name in (
        "conv_tbc",
        "nan_to_num",
        "scatter_reduce",
        "select_scatter",
        "silu",
        "slice_scatter",
        "view_as_complex_copy",
    )
}


def refusal_of_complex(name: str):
    """What raises, given the dtype, for an operator that torch has not for complex numbers."""
    if name in _KERNELS:
        return lambda d: not_implemented(_KERNELS[name], d)
    if name in _WORDS:
        error, text = _WORDS[name]
        return lambda d: error(text)
    return None


def check_complex_derivative(name: str) -> None:
    """Raise RuntimeError for an operator that torch does not record for complex numbers."""
    if name in _UNDIFFERENTIATED:
        raise RuntimeError(
            f"{_UNDIFFERENTIATED[name]} does not support automatic differentiation for outputs "
            "with complex dtype."
        )


def refuse_complex(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for a complex value."""
    if value.dtype.kind == "c":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def no_derivative(name: str):
    """A formula for the operator `name`, which torch records but cannot differentiate.

    Raises RuntimeError when it runs.
    """

    def refuse(F, grad):
        raise RuntimeError(messages.UNDIFFERENTIABLE.format(name))

    refuse.operator = name  # type: ignore[attr-defined]
    return refuse


def not_differentiated(name: str):
    """A formula for an input by which torch's own formula refuses to differentiate.

    `name` is what torch calls it. Raises NotImplementedError when it runs.
    """

    def refuse(F, grad):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse
