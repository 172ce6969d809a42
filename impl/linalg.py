"""`torch.linalg`: what this project has of it."""

from impl.operators.cholesky import cholesky_ex
from impl.operators.cholesky import linalg_cholesky as cholesky
from impl.operators.condition_numbers import cond
from impl.operators.determinants import det, slogdet
from impl.operators.eigenvalues import eig, eigh, eigvals, eigvalsh
from impl.operators.householder import householder_product
from impl.operators.lapack import _LinAlgError as LinAlgError
from impl.operators.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from impl.operators.least_squares import lstsq
from impl.operators.linear_systems import inv, inv_ex, solve, solve_ex
from impl.operators.lu import lu, lu_factor, lu_factor_ex
from impl.operators.lu_systems import lu_solve
from impl.operators.matrix_chains import multi_dot
from impl.operators.matrix_functions import matrix_exp, matrix_power
from impl.operators.norms import linalg_norm as norm
from impl.operators.norms import matrix_norm, vector_norm
from impl.operators.products import matmul
from impl.operators.pseudoinverse import matrix_rank, pinv
from impl.operators.qr import qr
from impl.operators.singular_values import decomposed as svd
from impl.operators.singular_values import svdvals
from impl.operators.tensor_systems import tensorinv, tensorsolve, vander
from impl.operators.triangular_systems import solve_triangular
from impl.operators.vector_products import cross_along as cross
from impl.operators.vector_products import diagonal, vecdot

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
    "multi_dot",
    "norm",
    "pinv",
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
