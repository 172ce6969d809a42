"""einops: shapes by expressions, and its layers."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce


def case_rearrange():
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    y = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3)
    (y * torch.arange(y.numel()).view_as(y)).sum().backward()
    return y, x.grad


def case_reduce():
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    y = reduce(x, "b c (h p) (w q) -> b c h w", "max", p=2, q=2)
    z = reduce(x, "b c h w -> b c", "mean")
    (y.sum() + (z**2).sum()).backward()
    return y, z, x.grad


def case_repeat():
    x = torch.randn(2, 3, requires_grad=True)
    y = repeat(x, "a b -> a (b r) s", r=2, s=4)
    (y**2).sum().backward()
    return y, x.grad


def case_einsum():
    a = torch.randn(2, 3, 4, requires_grad=True)
    b = torch.randn(2, 4, 5, requires_grad=True)
    y = einsum(a, b, "batch i k, batch k j -> batch i j")
    y.square().sum().backward()
    return y, a.grad, b.grad


def case_pack():
    x = [torch.randn(2, 3), torch.randn(2, 4, 3)]
    packed, shapes = pack(x, "b * c")
    return packed, *unpack(packed, shapes, "b * c")


def case_layers():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        Reduce("b c (h 2) (w 2) -> b c h w", "max"),
        Rearrange("b c h w -> b (c h w)"),
        torch.nn.Linear(36, 2),
    )
    loss = model(torch.randn(2, 1, 8, 8)).square().mean()
    loss.backward()
    return loss, *(p.grad for p in model.parameters())
