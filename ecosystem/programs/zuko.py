"""zuko: normalizing flows."""

import torch
import zuko


def case_spline():
    flow = zuko.flows.NSF(2, transforms=1, hidden_features=[8])
    loss = -flow().log_prob(torch.randn(4, 2)).mean()
    loss.backward()
    return loss, *(p.grad for p in flow.parameters() if p.grad is not None)
