"""BackPACK: second-order quantities during a backward pass."""

import torch
from backpack import backpack, extend, extensions


def case_batch_grad():
    model = extend(torch.nn.Linear(3, 2))
    loss = extend(torch.nn.MSELoss())(model(torch.randn(4, 3)), torch.randn(4, 2))
    with backpack(extensions.BatchGrad()):
        loss.backward()
    return model.weight.grad_batch, model.bias.grad_batch
