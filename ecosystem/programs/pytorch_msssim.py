"""pytorch-msssim: similarity of images."""

import torch
from pytorch_msssim import SSIM, ms_ssim, ssim


def images(size):
    return torch.rand(1, 2, size, size, requires_grad=True), torch.rand(1, 2, size, size)


def case_ssim():
    x, y = images(16)
    value = ssim(x, y, data_range=1, size_average=True)
    value.backward()
    return value, x.grad


def case_module():
    x, y = images(16)
    value = SSIM(win_size=7, data_range=1, channel=2)(x, y)
    value.backward()
    return value, x.grad


def case_scales():
    x, y = images(64)
    value = ms_ssim(x, y, data_range=1, win_size=3)
    value.backward()
    return value, x.grad
