"""torch-interpol: splines of images, their gradients and adjoints, as custom Functions."""

import interpol
import torch


def deformation(*shape):
    grid = interpol.identity_grid(shape) + 0.3 * torch.randn(1, *shape, len(shape))
    return grid.requires_grad_()


def pulled(order, bounds=("zero", "dct2", "dft", "dst1", "replicate")):
    made = []
    for bound in bounds:
        image, grid = torch.randn(1, 2, 5, 6, requires_grad=True), deformation(4, 5)
        out = interpol.grid_pull(image, grid, interpolation=order, bound=bound, extrapolate=True)
        out.square().sum().backward()
        made += [out.detach(), image.grad, grid.grad]
    return made


def case_nearest():
    return pulled(0)


def case_linear():
    return pulled(1)


def case_cubic():
    return pulled(3, ("dct2", "zero"))


def case_volume():
    image, grid = torch.randn(1, 1, 3, 4, 3, requires_grad=True), deformation(2, 3, 2)
    out = interpol.grid_pull(image, grid, interpolation=1, bound="dct2")
    out.square().sum().backward()
    return out, image.grad, grid.grad


def case_push_and_count():
    image, grid = torch.randn(1, 2, 4, 5, requires_grad=True), deformation(4, 5)
    out = interpol.grid_push(image, grid, shape=[5, 6], interpolation=1)
    count = interpol.grid_count(grid, [5, 6], interpolation=1)
    (out.square().sum() + count.square().sum()).backward()
    return out, count, image.grad, grid.grad


def case_prefilter():
    image = torch.randn(1, 1, 6, 5, requires_grad=True)
    coefficients = interpol.spline_coeff_nd(image, 3, "dct2", 2)
    coefficients.square().sum().backward()
    return coefficients, image.grad


def case_resize():
    image = torch.randn(1, 1, 6, 5)
    larger = interpol.resize(image, factor=2, interpolation=2, bound="dct2", prefilter=True)
    smaller = interpol.restrict(image, factor=2)
    return larger, smaller
