"""pytorch-wavelets: wavelet transforms and their inverses, which are custom Functions."""

import torch
from pytorch_wavelets import (
    DTCWTForward,
    DTCWTInverse,
    DWT1DForward,
    DWT1DInverse,
    DWTForward,
    DWTInverse,
    ScatLayer,
)


def there_and_back(x, forward, back):
    low, high = forward(x)
    y = back((low, [h * 2 for h in high]))
    (y.pow(3).sum() + low.sum()).backward()
    return low, *high, y, x.grad


def images(mode):
    x = torch.randn(2, 2, 12, 13, requires_grad=True)
    return there_and_back(x, DWTForward(2, "db3", mode), DWTInverse("db3", mode))


def case_zeros():
    return images("zero")


def case_symmetric():
    return images("symmetric")


def case_reflection():
    return images("reflect")


def case_periodization():
    return images("periodization")


def case_sequences():
    x = torch.randn(2, 2, 16, requires_grad=True)
    return there_and_back(x, DWT1DForward(2, "db2", "zero"), DWT1DInverse("db2", "zero"))


def case_dual_tree():
    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    names = dict(biort="near_sym_b", qshift="qshift_b")
    return there_and_back(x, DTCWTForward(J=2, **names), DTCWTInverse(**names))


def case_scattering():
    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    y = ScatLayer()(x)
    y.square().sum().backward()
    return y, x.grad
