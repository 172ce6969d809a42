"""opt_einsum: contractions in a good order."""

import opt_einsum
import torch


def case_chain():
    a, b, c = (torch.randn(*s, requires_grad=True) for s in ((3, 4), (4, 5), (5, 2)))
    y = opt_einsum.contract("ij,jk,kl->il", a, b, c)
    y.square().sum().backward()
    return y, a.grad, b.grad, c.grad


def case_trace():
    a = torch.randn(3, 3, requires_grad=True)
    y = opt_einsum.contract("ii->", a)
    y.backward()
    return y, a.grad


def case_expression():
    expression = opt_einsum.contract_expression("bij,bjk,bk->bi", (2, 3, 4), (2, 4, 5), (2, 5))
    operands = [torch.randn(*s, requires_grad=True) for s in ((2, 3, 4), (2, 4, 5), (2, 5))]
    y = expression(*operands)
    y.sum().backward()
    return y, *(x.grad for x in operands)
