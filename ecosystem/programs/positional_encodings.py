"""positional-encodings: sines and cosines of positions."""

import torch
from positional_encodings.torch_encodings import (
    PositionalEncoding1D,
    PositionalEncoding2D,
    PositionalEncoding3D,
    PositionalEncodingPermute1D,
    Summer,
)


def case_1d():
    return PositionalEncoding1D(10)(torch.zeros(1, 6, 10))


def case_2d():
    return PositionalEncoding2D(8)(torch.zeros(1, 6, 4, 8))


def case_3d():
    return PositionalEncoding3D(11)(torch.zeros(1, 2, 3, 4, 11))


def case_permuted():
    return PositionalEncodingPermute1D(4)(torch.zeros(1, 4, 7))


def case_sum():
    x = torch.randn(1, 6, 10, requires_grad=True)
    y = Summer(PositionalEncoding1D(10))(x)
    y.square().sum().backward()
    return y, x.grad
