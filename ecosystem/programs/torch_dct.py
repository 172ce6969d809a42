"""torch-dct: discrete cosine transforms by way of the FFT."""

import torch
import torch_dct as dct


def mapped(function, *shape):
    x = torch.randn(*shape, requires_grad=True)
    y = function(x)
    y.square().sum().backward()
    return y, x.grad


def case_dct():
    return mapped(dct.dct, 3, 8)


def case_orthogonal():
    return mapped(lambda x: dct.dct(x, norm="ortho"), 3, 8)


def case_inverse():
    return mapped(lambda x: dct.idct(dct.dct(x)), 3, 8)


def case_dct1():
    return mapped(dct.dct1, 3, 8)


def case_2d():
    return mapped(dct.dct_2d, 2, 4, 6)


def case_3d():
    return mapped(dct.dct_3d, 3, 4, 5)


def case_layer():
    layer = dct.LinearDCT(8, "dct")
    return mapped(layer, 3, 8)
