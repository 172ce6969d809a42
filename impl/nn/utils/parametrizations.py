"""Parametrisations of PyTorch: orthogonal weights, weight norm and spectral norm.

T. Salimans and D. P. Kingma, NeurIPS 2016; T. Miyato et al., ICLR 2018; M. Lezcano-Casado,
NeurIPS 2019.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.nn import functional as F
from impl.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from impl.nn.modules.module import Module
from impl.nn.utils import parametrize
from impl.operators.linalg.householder import householder_product
from impl.operators.linalg.linear_systems import solve
from impl.tensor.tensor import Tensor


def _tensor_of(module: Module, name: str) -> Tensor:
    value = getattr(module, name, None)
    if not isinstance(value, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return value


# -- orthogonal ---------------------------------------------------------------------------------


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.size(-2), matrix.size(-1)
    kind = matrix.dtype
    precision = np.finfo(kind.numpy).eps
    identity = C.eye(columns, dtype=kind)
    return C.allclose(matrix.mH @ matrix, identity, atol=10.0 * rows * precision)


def _orthogonalised(matrix: Tensor) -> Tensor:
    """Q of the QR decomposition of a tall matrix in which the diagonal of R is not negative."""
    reflectors, factors = C.geqrf(matrix)
    result = householder_product(reflectors, factors)
    result *= reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return result


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight, orthogonal_map: _OrthMaps, *, use_trivialization=True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        if self.orthogonal_map is _OrthMaps.householder:
            result = self._reflected(tall)
        else:
            result = self._mapped(tall)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if wide else result

    def _mapped(self, X: Tensor) -> Tensor:
        """The orthogonal map of the skew-Hermitian matrix that the lower triangle of X defines."""
        rows, columns = X.size(-2), X.size(-1)
        X = X.tril()
        if rows != columns:
            blank = X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)
            X = C.cat([X, blank], dim=-1)
        skew = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            result = C.matrix_exp(skew)
        else:
            identity = C.eye(rows, dtype=skew.dtype)
            add = C.add
            result = solve(add(identity, skew, alpha=-0.5), add(identity, skew, alpha=0.5))
        return result if rows == columns else result[..., :columns]

    def _reflected(self, X: Tensor) -> Tensor:
        """The product of the Householder reflections below the diagonal, and the signs on it."""
        below = X.tril(diagonal=-1)
        factors = 2.0 / (1.0 + (below * below).sum(dim=-2))
        result = householder_product(below, factors)
        return result * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if not hasattr(self, "base"):
            return self._unreflected(tall, wide)
        rows, columns = tall.size(-2), tall.size(-1)
        if rows != columns:
            more = C.randn(*tall.size()[:-2], rows, rows - columns, dtype=tall.dtype)
            tall = _orthogonalised(C.cat([tall, more], dim=-1))
        else:
            tall = tall.clone() if _is_orthogonal(tall) else _orthogonalised(tall)
        self.base = tall
        negative = C.zeros_like(Q)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative

    def _unreflected(self, Q: Tensor, wide: bool) -> Tensor:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        reflectors, factors = C.geqrf(Q)
        reflectors.diagonal(dim1=-2, dim2=-1).sign_()
        # A factor of zero means no reflection.
        reflectors.diagonal(dim1=-2, dim2=-1)[factors == 0.0] *= -1
        return reflectors.mT if wide else reflectors


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Make a tensor (..., m, n) of the module orthogonal or unitary
    (torch.nn.utils.parametrizations.orthogonal).

    `orthogonal_map` is "matrix_exp" or "cayley", of a skew-Hermitian matrix, or "householder"; by
    default "matrix_exp" for square and complex tensors, else "householder". Raises ValueError for
    fewer dimensions or another map.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# -- norms --------------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return C._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor):
        return C.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Reparametrise a tensor of the module as norms `original0` of its slices along `dim`, or of
    the whole for None, times a direction `original1`. States of the deprecated function are loaded
    too (torch.nn.utils.parametrizations.weight_norm)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *_) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


def check_iterations(count: int) -> None:
    """Raise ValueError unless the number of power iterations is positive."""
    if count <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}"
        )


def dimension_of(module: Module, dim: int | None) -> int:
    """The given dimension, or by default that of a weight's outputs."""
    if dim is not None:
        return dim
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def slices_first(weight: Tensor, dim: int) -> Tensor:
    """The weight with `dim` as its first dimension."""
    if dim == 0:
        return weight
    return weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.size()
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in (rows, columns))
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the slices along `dim`."""
        return slices_first(weight, self.dim).flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, times: int) -> None:
        # In place, because the buffers may be shared.
        for _ in range(times):
            self._u = F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
            self._v = F.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Clones, so that a second forward pass does not change saved tensors.
        u, v = self._u.clone(), self._v.clone()
        return weight / C.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a tensor of the module by its greatest singular value, as a matrix whose rows are the
    slices along `dim` (torch.nn.utils.parametrizations.spectral_norm).

    Power iterations estimate the value, on each access in training mode. Raises ValueError for an
    unknown name or no iterations, IndexError for another dimension.
    """
    weight = _tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, dimension_of(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)
