"""`torch.special`: special functions, many of them aliases of functions in `torch`."""

from impl.core.registry import FUNCTIONS, tensor_ops
from impl.operators.pointwise.entropy import xlog1py
from impl.operators.pointwise.gamma import zeta
from impl.operators.pointwise.normal_distribution import ndtr
from impl.operators.pointwise.polynomials import POLYNOMIALS

# Functions of `torch`, by their names in `torch.special`.
_SAME = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "log_softmax", "logit",
    "logsumexp", "polygamma", "sinc", "softmax", "xlogy",
)  # fmt: skip
_RENAMED = {
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
    """`torch.round` to a number of decimals, recorded as such even for 0 (torch.special.round)."""
    return FUNCTIONS["round"](input, decimals=decimals, out=out)


globals().update({name: FUNCTIONS[name] for name in _SAME})
globals().update({name: FUNCTIONS[other] for name, other in _RENAMED.items()})
globals().update({name: getattr(tensor_ops, f"special_{name}") for name in _OWN})
globals().update(POLYNOMIALS)

__all__ = ["ndtr", "round", "xlog1py", "zeta", *_SAME, *_RENAMED, *_OWN, *POLYNOMIALS]
