"""hyper-connections: several residual streams."""

import torch
from hyper_connections import HyperConnections


def case_streams():
    branch = torch.nn.Linear(8, 8)
    init, expand, reduce = HyperConnections.get_init_and_expand_reduce_stream_functions(4)
    layer = init(dim=8, branch=branch)
    x = torch.randn(2, 3, 8, requires_grad=True)
    y = reduce(layer(expand(x)))
    y.square().sum().backward()
    return y, x.grad, branch.weight.grad
