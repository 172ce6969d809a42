"""normflows: normalizing flows by couplings and by splines."""

import normflows as nf
import torch


def trained(flow, x):
    loss = flow.forward_kld(x)
    loss.backward()
    return loss, *(p.grad for p in flow.parameters() if p.grad is not None)


def case_coupling():
    net = nf.nets.MLP([1, 8, 2], init_zeros=False)
    flows = [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
    return trained(
        nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), flows), torch.randn(5, 2)
    )


def case_spline():
    flows = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)]
    return trained(
        nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), flows), torch.rand(5, 2)
    )


def case_mixture():
    target = nf.distributions.base.GaussianMixture(3, 2)
    x, log_prob = target(4)
    log_prob.sum().backward()
    return x, log_prob, *(p.grad for p in target.parameters() if p.grad is not None)
