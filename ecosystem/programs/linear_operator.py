"""linear_operator: structured matrices."""

import torch
from linear_operator import operators, to_linear_operator


def matrix():
    x = torch.randn(4, 4, requires_grad=True)
    return x, x @ x.T + 4 * torch.eye(4)


def case_solve():
    x, a = matrix()
    y = torch.linalg.solve(to_linear_operator(a), torch.ones(4, 1))
    y.sum().backward()
    return y, x.grad


def case_inv_quad_logdet():
    x, a = matrix()
    quad, logdet = to_linear_operator(a).inv_quad_logdet(torch.ones(4, 1), logdet=True)
    (quad + logdet).backward()
    return quad, logdet, x.grad


def case_diagonal():
    d = torch.rand(4, requires_grad=True)
    y = operators.DiagLinearOperator(d + 1) @ torch.randn(4, 2)
    y.square().sum().backward()
    return y, d.grad


def case_kronecker():
    x, a = matrix()
    y = operators.KroneckerProductLinearOperator(a, a).matmul(torch.ones(16, 1))
    y.sum().backward()
    return y, x.grad


def case_toeplitz():
    c = torch.randn(4, requires_grad=True)
    y = operators.ToeplitzLinearOperator(c).matmul(torch.randn(4, 2))
    y.square().sum().backward()
    return y, c.grad


def case_low_rank():
    x = torch.randn(5, 2, requires_grad=True)
    y = operators.RootLinearOperator(x).add_diagonal(torch.ones(5)).to_dense()
    y.square().sum().backward()
    return y, x.grad
