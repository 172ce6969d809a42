"""`torch.linalg`: what this project has of it."""

from impl.operators.norms import linalg_norm as norm
from impl.operators.norms import matrix_norm, vector_norm
from impl.operators.products import matmul

__all__ = ["matmul", "matrix_norm", "norm", "vector_norm"]
