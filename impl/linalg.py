"""`torch.linalg`: the implemented subset."""

from impl.operators.linalg.cholesky import cholesky_ex
from impl.operators.linalg.cholesky import linalg_cholesky as cholesky
from impl.operators.linalg.condition_numbers import cond
from impl.operators.linalg.determinants import det, slogdet
from impl.operators.linalg.eigenvalues import eig, eigh, eigvals, eigvalsh
from impl.operators.linalg.hermitian_functions import matrix_sqrth, polar
from impl.operators.linalg.householder import householder_product
from impl.operators.linalg.lapack import _LinAlgError as LinAlgError
from impl.operators.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from impl.operators.linalg.least_squares import lstsq
from impl.operators.linalg.linear_systems import inv, inv_ex, solve, solve_ex
from impl.operators.linalg.lu import lu, lu_factor, lu_factor_ex
from impl.operators.linalg.lu_systems import lu_solve
from impl.operators.linalg.matrix_functions import matrix_exp, matrix_power
from impl.operators.linalg.norms import linalg_norm as norm
from impl.operators.linalg.norms import matrix_norm, vector_norm
from impl.operators.linalg.pseudoinverse import matrix_rank, pinv
from impl.operators.linalg.qr import qr
from impl.operators.linalg.singular_values import decomposed as svd
from impl.operators.linalg.singular_values import svdvals
from impl.operators.linalg.tensor_systems import tensorinv, tensorsolve, vander
from impl.operators.linalg.triangular_systems import solve_triangular
from impl.operators.products.multi_dot import multi_dot
from impl.operators.products.products import matmul
from impl.operators.products.vector_products import cross_along as cross
from impl.operators.products.vector_products import diagonal, vecdot

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "multi_dot",
    "norm",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
