"""higher: gradients through steps of an optimizer."""

import higher
import torch


def adapted(make, steps=2):
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = make(model.parameters())
    x, y = torch.randn(5, 2), torch.randn(5, 1)
    loop = higher.innerloop_ctx(model, optimizer, copy_initial_weights=False)
    with loop as (inner, differentiable):
        for _ in range(steps):
            differentiable.step((inner(x) - y).square().mean())
        loss = (inner(x + 1) - y).square().mean()
        loss.backward()
    return loss, *(p.grad for p in model.parameters())


def case_sgd():
    return adapted(lambda p: torch.optim.SGD(p, lr=0.1))


def case_momentum():
    return adapted(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01))


def case_adam():
    return adapted(lambda p: torch.optim.Adam(p, lr=0.01))


def case_rmsprop():
    return adapted(lambda p: torch.optim.RMSprop(p, lr=0.01))


def case_adagrad():
    return adapted(lambda p: torch.optim.Adagrad(p, lr=0.1))
