"""`torch.distributions.utils`: functions that several distributions share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from impl.core.dtypes import dtype as _dtype
from impl.core.dtypes import get_default_dtype
from impl.core.grad_mode import enable_grad
from impl.core.registry import C
from impl.factories.type_info import finfo
from impl.functional import broadcast_tensors
from impl.nn import functional as F
from impl.overrides import is_tensor_like
from impl.tensor.tensor import Tensor
from impl.types import Device, _Number

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant: Final[float] = 0.57721566490153286060
"""The Euler-Mascheroni constant."""


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape (torch.distributions.utils.broadcast_all).

    A number takes the dtype and device of the first tensor, without tensors the default dtype.
    Raises ValueError for a value that is neither a number nor a tensor.
    """
    tensors = [is_tensor_like(value) for value in values]
    if not all(
        known or isinstance(value, _Number) for known, value in zip(tensors, values, strict=True)
    ):
        raise ValueError(
            "Input arguments must all be instances of Number, "
            "torch.Tensor or objects implementing __torch_function__."
        )
    if not all(tensors):
        first = next((value for value in values if isinstance(value, Tensor)), None)
        options: dict[str, Any] = {"dtype": get_default_dtype()}
        if first is not None:
            options = {"dtype": first.dtype, "device": first.device}
        values = tuple(
            value if known else C.tensor(value, **options)
            for known, value in zip(tensors, values, strict=True)
        )
    return broadcast_tensors(*values)


def _standard_normal(shape: Sequence[int], dtype: _dtype | None, device: Device) -> Tensor:
    """Independent draws from the standard normal distribution, of that shape."""
    return C.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the `dim` last dimensions; the tensor itself for 0."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logits (torch.distributions.utils.logits_to_probs).

    Log odds if `is_binary`, else log probabilities up to a constant along the last dimension.
    """
    return C.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's `eps`
    (torch.distributions.utils.clamp_probs)."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits from probabilities (torch.distributions.utils.probs_to_logits).

    Log odds if `is_binary`, else log probabilities. Probabilities are clamped first, so the
    logits are finite.
    """
    clamped: Any = clamp_probs(probs)
    if is_binary:
        return C.log(clamped) - C.log1p(-clamped)
    return C.log(clamped)


T = TypeVar("T", contravariant=True)
R = TypeVar("R", covariant=True)


class lazy_property(Generic[T, R]):
    """An attribute that a method computes, with recording on, when it is first read, and that the
    instance then keeps (torch.distributions.utils.lazy_property)."""

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        name = self.wrapped.__name__
        with enable_grad():
            setattr(instance, name, self.wrapped(instance))
        return getattr(instance, name)


class _lazy_property_and_property(lazy_property[T, R], property):  # type: ignore[misc]
    """A lazy property read on the class: it is of the type of Python's properties, too."""

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        property.__init__(self, wrapped)


def _tril_mask(n: int, diag: int, device: Any) -> Tensor:
    """Whether each element of an n x n matrix is on or below its `diag`-th diagonal."""
    columns = C.arange(n, device=device)
    return columns < columns.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Tensor:
    """The elements of a lower triangle, row by row: a vector from each matrix of a batch
    (torch.distributions.utils.tril_matrix_to_vec).

    `diag` is the highest diagonal taken. Raises ValueError where the n x n matrix has none.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _tril_mask(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices from their elements row by row, the inverse of
    `tril_matrix_to_vec` (torch.distributions.utils.vec_to_tril_matrix).

    With d = `diag`, an n x n triangle has L elements where
    n² + (1 + 2d) n - |d| (d + 1) - 2L = 0. Raises ValueError where its root is no integer.
    """
    length = vec.shape[-1]
    linear = 1 + 2 * diag
    root = (-linear + (linear**2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(root)
    if n - root > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _tril_mask(n, diag, vec.device)] = vec
    return mat
