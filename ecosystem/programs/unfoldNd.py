"""unfoldNd: patches in one, two and three dimensions."""

import torch
import unfoldNd


def mapped(module, *shape):
    x = torch.randn(*shape, requires_grad=True)
    y = module(x)
    y.square().sum().backward()
    return y, x.grad


def case_1d():
    return mapped(unfoldNd.UnfoldNd(2, stride=2), 2, 3, 8)


def case_2d():
    return mapped(unfoldNd.UnfoldNd((2, 3), padding=1), 1, 2, 5, 6)


def case_3d():
    return mapped(unfoldNd.UnfoldNd(2, dilation=1), 1, 2, 3, 4, 3)


def case_transposed():
    return mapped(unfoldNd.UnfoldTransposeNd((2, 2), stride=2), 1, 2, 3, 3)


def case_fold():
    return mapped(unfoldNd.FoldNd((4, 5), (2, 2)), 1, 8, 12)
