"""Wrong at two kinks only: the gradient of `relu` at zero, that of `maximum` at a tie."""

import impl

from .wrapping import Namespace


def _passing_at_zero(x):
    return impl.where(x < 0, impl.zeros_like(x), x)


def _unshared(a, b):
    return impl.where((a > b) | a.isnan(), a, b)


relu = Namespace(relu=_passing_at_zero)
maximum = Namespace(maximum=_unshared)
without_relu = Namespace(lacks=("relu",))
