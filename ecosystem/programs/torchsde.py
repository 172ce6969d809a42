"""torchsde: stochastic differential equations."""

import torch
import torchsde


class Noisy(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Parameter(torch.tensor(0.5))

    def f(self, t, y):
        return -self.drift * y

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


def case_euler():
    sde, y0 = Noisy(), torch.ones(2, 3, requires_grad=True)
    ts = torch.linspace(0, 1, 4)
    bm = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(2, 3), dtype=torch.float64, entropy=7)
    y = torchsde.sdeint(sde, y0, ts, bm=bm, method="euler", dt=0.1)
    y.square().sum().backward()
    return y, y0.grad, sde.drift.grad
