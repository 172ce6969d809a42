"""entmax: sparse softmaxes, which are custom Functions."""

import torch
from entmax import budget_bisect, entmax15, entmax_bisect, normmax_bisect, sparsemax, sparsemax_loss


def mapped(function, *args, **options):
    x = torch.randn(3, 6, requires_grad=True)
    y = function(x, *args, **options)
    (y * torch.arange(6.0)).sum().backward()
    return y, x.grad


def case_sparsemax():
    return mapped(sparsemax, dim=-1)


def case_entmax15():
    return mapped(entmax15, dim=-1)


def case_bisection():
    return mapped(entmax_bisect, 1.7)


def case_alpha():
    alpha = torch.tensor(1.4, requires_grad=True)
    x = torch.randn(3, 6)
    entmax_bisect(x, alpha).square().sum().backward()
    return alpha.grad


def case_normmax():
    return mapped(normmax_bisect, 2)


def case_budget():
    return mapped(budget_bisect, 2)


def case_loss():
    x = torch.randn(3, 6, requires_grad=True)
    loss = sparsemax_loss(x, torch.tensor([0, 3, 5])).sum()
    loss.backward()
    return loss, x.grad
