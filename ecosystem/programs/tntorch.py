"""tntorch: tensor networks, and learning with them."""

import tntorch as tn
import torch


def made(*shape, rank=2):
    return tn.rand(list(shape), ranks_tt=rank, requires_grad=True)


def text(value):
    return torch.tensor(list(repr(value).encode()))


def with_gradients(value, *tensors):
    cores = [core for t in tensors for core in t.cores]
    found = torch.autograd.grad(value.square().sum(), cores, allow_unused=True)
    return value, *(g for g in found if g is not None)


def case_arithmetic():
    a, b = made(3, 4, 2), made(3, 4, 2)
    return with_gradients((a * b + 2 * a - b / 3).torch(), a, b)


def case_indices():
    a = made(3, 4, 2, 3)
    parts = a[0], a[:, 1:3], a[..., -1], a[None, :, [0, 2]], a[:, :, 1]
    return *with_gradients(sum(p.torch().sum() for p in parts), a), *(p.torch() for p in parts)


def case_statistics():
    a, b = made(3, 4, 2), made(3, 4, 2)
    values = [
        tn.sum(a),
        tn.mean(a),
        tn.var(a),
        tn.std(a),
        tn.norm(a),
        tn.dot(a, b),
        tn.dist(a, b),
        tn.relative_error(a, b),
        tn.r_squared(a, b),
        tn.normsq(a),
    ]
    return *with_gradients(sum(values), a, b), *values


def case_decompositions():
    x = torch.randn(4, 3, 5)
    return [
        tn.Tensor(x, **kind).torch()
        for kind in ({"ranks_tt": 2}, {"ranks_tucker": 2}, {"ranks_cp": 2})
    ]


def case_rounding():
    a = made(3, 4, 2)
    b = tn.round_tt(a + a, eps=1e-8)
    return (*with_gradients(tn.round_tucker(b, rmax=2).torch(), a), text(b))


def case_cross():
    found = tn.cross(
        lambda x, y: torch.sin(x) * y, domain=[torch.linspace(0, 1, 6)] * 2, verbose=False
    )
    return found.torch(), tn.partial(found, 0).torch(), tn.laplacian(found, [0, 1]).torch()


def case_training():
    a = tn.rand([4, 4, 4], ranks_tt=2, requires_grad=True)
    goal = torch.randn(4, 4, 4)
    tn.optimize(a, lambda t: tn.relative_error(goal, t), max_iter=4, verbose=False)
    return a.torch()


def case_sensitivity():
    a = made(3, 3, 3)
    return tn.norm(a).detach(), tn.mean(a), tn.anova_decomposition(a).torch()


def case_others():
    a = made(4, 4, 4)
    return (
        tn.cumsum(a).torch(),
        tn.transpose(a).torch(),
        tn.flip(a, 1).torch(),
        tn.cat([a, a], dim=0).torch(),
        tn.unbind(a, 1)[0].torch(),
        tn.convolve(a, a, mode="full").torch(),
        text(a),
        a.numel(),
    )
