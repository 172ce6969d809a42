"""`torch.linalg`: what this project has of it."""

from impl.operators.linear_systems import _LinAlgError as LinAlgError
from impl.operators.linear_systems import det, inv, slogdet, solve
from impl.operators.norms import linalg_norm as norm
from impl.operators.norms import matrix_norm, vector_norm
from impl.operators.products import matmul

__all__ = [
    "LinAlgError",
    "det",
    "inv",
    "matmul",
    "matrix_norm",
    "norm",
    "slogdet",
    "solve",
    "vector_norm",
]
