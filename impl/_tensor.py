"""The methods of tensors that torch writes in Python and that call its functions."""

from __future__ import annotations

import contextlib

from impl import _linalg_utils, functional
from impl.core.registry import C, method_of
from impl.tensor.tensor import Tensor


@method_of(Tensor)
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See `torch.norm`."""
    return functional.norm(self, p, dim, keepdim, dtype=dtype)


@method_of(Tensor)
def lu(self, pivot=True, get_infos=False):
    """See `torch.lu`."""
    factors, pivots, infos = C._lu_with_info(self, pivot=pivot, check_errors=not get_infos)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@method_of(Tensor)
def stft(
    self,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """See `torch.stft`."""
    return functional.stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        center,
        pad_mode,
        normalized,
        onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )


@method_of(Tensor)
def istft(
    self,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """See `torch.istft`."""
    return C.istft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        center,
        normalized,
        onesided,
        length,
        return_complex=return_complex,
    )


@method_of(Tensor)
def split(self, split_size, dim=0):
    """See `torch.split`."""
    if isinstance(split_size, Tensor):
        with contextlib.suppress(ValueError):
            split_size = int(split_size)
    if isinstance(split_size, int):
        return C.split(self, split_size, dim)
    return C.split_with_sizes(self, split_size, dim)


@method_of(Tensor)
def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """See `torch.unique`."""
    return functional.unique(
        self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


@method_of(Tensor)
def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """See `torch.unique_consecutive`."""
    return functional.unique_consecutive(
        self, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


@method_of(Tensor)
def cholesky(self, upper=False):
    """See `torch.cholesky`."""
    return _linalg_utils.cholesky(self, upper=upper)


@method_of(Tensor)
def eig(self, eigenvectors=False):
    """See `torch.eig`."""
    return _linalg_utils.eig(self, eigenvectors=eigenvectors)


@method_of(Tensor)
def lstsq(self, other):
    """See `torch.lstsq`."""
    return _linalg_utils.lstsq(self, other)


@method_of(Tensor)
def qr(self, some=True):
    """See `torch.qr`."""
    return _linalg_utils.qr(self, some=some)


@method_of(Tensor)
def solve(self, other):
    """See `torch.solve`."""
    return _linalg_utils.solve(self, other)


@method_of(Tensor)
def symeig(self, eigenvectors=False):
    """See `torch.symeig`."""
    return _linalg_utils._symeig(self, eigenvectors=eigenvectors)


for _name in (
    *("norm", "lu", "stft", "istft", "split", "unique", "unique_consecutive", "cholesky"),
    *("eig", "lstsq", "qr", "solve", "symeig"),
):
    getattr(Tensor, _name).__qualname__ = f"Tensor.{_name}"
