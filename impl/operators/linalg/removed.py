"""Functions that torch has removed in favour of those in `torch.linalg`, whose names say so."""

from __future__ import annotations

from impl.dispatch.definition import function

_REMOVED = "This function was deprecated since version 1.9 and is now removed."
_CHOLESKY = (
    f"{_REMOVED} `torch.cholesky` is deprecated in favor of `torch.linalg.cholesky`.\n"
    "L = torch.cholesky(A) should be replaced with:\n"
    "L = torch.linalg.cholesky(A)\n"
    "U = torch.cholesky(A, upper=True) should be replaced with:\n"
    "U = torch.linalg.cholesky(A).mH"
)
_QR = (
    f"{_REMOVED} `torch.qr` is deprecated in favor of `torch.linalg.qr` and the boolean parameter "
    "`some` has been replaced with a string parameter `mode`.\n\n"
    "Q, R = torch.qr(A) should be replaced with:\n"
    "Q, R = torch.linalg.qr(A, mode='reduced')\n\nand\n\n"
    "Q, R = torch.qr(A, some=False) should be replaced with:\n"
    "Q, R = torch.linalg.qr(A, mode='complete')\n\n"
    "Since `some` was set to {}, use mode='{}'."
)


@function()
def cholesky(input, upper=False, *, out=None):
    """Removed: raises RuntimeError (torch.cholesky)."""
    raise RuntimeError(_CHOLESKY)


@function()
def qr(input, some=True, *, out=None):
    """Removed: raises RuntimeError (torch.qr)."""
    raise RuntimeError(_QR.format(some, "reduced" if some else "complete"))
