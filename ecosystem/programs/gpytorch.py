"""gpytorch: a Gaussian process's marginal likelihood."""

import gpytorch
import torch


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def case_likelihood():
    x = torch.linspace(0, 1, 6)
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y)
    loss.backward()
    return loss, *(p.grad for p in model.parameters())
