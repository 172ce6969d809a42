"""`torch.special`: special functions, many of them aliases of functions in `torch`."""

from impl.core.registry import FUNCTIONS, tensor_ops
from impl.operators.pointwise.arithmetic import require_tensor
from impl.operators.pointwise.entropy import xlog1py
from impl.operators.pointwise.gamma import zeta
from impl.operators.pointwise.normal_distribution import ndtr
from impl.operators.pointwise.polynomials import POLYNOMIALS
from impl.tensor.tensor import Tensor

# Functions of `torch` taken unchanged, and those whose errors have the name in `torch.special`.
_SAME = ("log_softmax", "logsumexp", "polygamma", "softmax", "xlogy")
_UNCHANGED = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "sinc",
)  # fmt: skip
_RENAMED = {name: name for name in _UNCHANGED} | {
    "expit": "sigmoid",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "psi": "digamma",
}
# Functions in `torch.special` only.
_OWN = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1",
    "i1e", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "ndtri", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
)  # fmt: skip


def round(input, *, decimals=0, out=None):
    """Round to the nearest multiple of 10 ** -decimals (torch.special.round)."""
    require_tensor("special_round", input)
    return FUNCTIONS["round"](input, decimals=decimals, out=out)


def _renamed(name: str, other: str):
    """The function `other` of `torch` under its name in `torch.special`, which its errors have."""
    function = FUNCTIONS[other]
    tensors = ("input", "other") if other in ("igamma", "igammac") else ("input",)

    def call(*args, **options):
        for place, (parameter, value) in enumerate(zip(tensors, args, strict=False), 1):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"special_{name}(): argument '{parameter}' (position {place}) must be Tensor, "
                    f"not {type(value).__name__}"
                )
        return function(*args, **options)

    call.__name__ = call.__qualname__ = f"special_{name}"
    call.__doc__ = function.__doc__
    return call


globals().update({name: FUNCTIONS[name] for name in _SAME})
globals().update({name: _renamed(name, other) for name, other in _RENAMED.items()})
globals().update({name: getattr(tensor_ops, f"special_{name}") for name in _OWN})
globals().update(POLYNOMIALS)

__all__ = ["ndtr", "round", "xlog1py", "zeta", *_SAME, *_RENAMED, *_OWN, *POLYNOMIALS]
