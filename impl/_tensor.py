"""The methods of tensors that torch writes in Python and that call its functions."""

from __future__ import annotations

import contextlib
import itertools

from impl import _linalg_utils, functional
from impl.arg_parser.publish import parsed
from impl.core.memory_formats import channels_last, memory_format
from impl.core.registry import C, method_of
from impl.core.tensor_iterator import dimension_order, is_unambiguous
from impl.factories.copy_and_pickle import _rebuild_from_type_v2
from impl.operators.views import shape
from impl.tensor.tensor import Tensor

__all__ = ["_rebuild_from_type_v2"]


def _method(function):
    """Decorator that adds a method whose errors name it as torch's do."""
    function.__qualname__ = f"Tensor.{function.__name__}"
    return method_of(Tensor)(function)


@_method
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See `torch.norm`."""
    return functional.norm(self, p, dim, keepdim, dtype=dtype)


@_method
def module_load(self, other, assign=False):
    """The tensor that `load_state_dict` swaps this one with: its own values, after `other` is
    copied into it, or those of `other` to `assign` (torch.Tensor.module_load)."""
    return other.detach() if assign else self.copy_(other).detach()


@_method
def dim_order(self, *, ambiguity_check=False):
    """The dimensions in the order of memory, outermost first (torch.Tensor.dim_order).

    With `ambiguity_check`, or a list of memory formats to tell them apart, RuntimeError for a
    tensor that has several orders.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(
        isinstance(each, memory_format) for each in formats
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    sizes, strides = tuple(self.shape), self.stride()
    several = 1 in sizes or any(a == b for a, b in itertools.pairwise(strides))
    if ambiguity_check is not False and several:
        legal = sum(self.is_contiguous(memory_format=each) for each in formats)
        if legal != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
    if self.dim() < 2:
        return tuple(range(self.dim()))
    flat = self.is_contiguous()
    last = self.dim() == 4 and self.is_contiguous(memory_format=channels_last)
    if flat is not last:
        return tuple(range(self.dim())) if flat else (0, 2, 3, 1)
    order = dimension_order(sizes, [(sizes, strides)])
    if ambiguity_check and not is_unambiguous(sizes, strides, order):
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(reversed(order))


@_method
def lu(self, pivot=True, get_infos=False):
    """See `torch.lu`."""
    factors, pivots, infos = C._lu_with_info(self, pivot=pivot, check_errors=not get_infos)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@_method
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


@_method
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


@_method
def split(self, split_size, dim=0):
    """See `torch.split`."""
    if isinstance(split_size, Tensor):
        with contextlib.suppress(ValueError):
            split_size = int(split_size)
    if isinstance(split_size, int):
        return C.split(self, split_size, dim)
    return C.split_with_sizes(self, split_size, dim)


_unflatten = parsed(shape.unflatten, "unflatten", ["int dim, SymInt[] sizes"], method=True)


@_method
def unflatten(self, dim, sizes):
    """See `torch.unflatten`."""
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    return _unflatten(self, dim, sizes)


@_method
def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """See `torch.unique`."""
    return functional.unique(
        self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


@_method
def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """See `torch.unique_consecutive`."""
    return functional.unique_consecutive(
        self, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


@_method
def cholesky(self, upper=False):
    """See `torch.cholesky`."""
    return _linalg_utils.cholesky(self, upper=upper)


@_method
def eig(self, eigenvectors=False):
    """See `torch.eig`."""
    return _linalg_utils.eig(self, eigenvectors=eigenvectors)


@_method
def lstsq(self, other):
    """See `torch.lstsq`."""
    return _linalg_utils.lstsq(self, other)


@_method
def qr(self, some=True):
    """See `torch.qr`."""
    return _linalg_utils.qr(self, some=some)


@_method
def solve(self, other):
    """See `torch.solve`."""
    return _linalg_utils.solve(self, other)


@_method
def symeig(self, eigenvectors=False):
    """See `torch.symeig`."""
    return _linalg_utils._symeig(self, eigenvectors=eigenvectors)
