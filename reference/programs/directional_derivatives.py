"""Forward mode: tangents through a model, Jacobians by columns, and Laplacians of a network."""

import torch
import torch.autograd.forward_ad as fwAD
from torch import nn
from torch.autograd import functional

torch.manual_seed(47)
torch.set_default_dtype(torch.float64)
x = torch.tensor([0.5, -1.0, 2.0])
t = torch.tensor([1.0, 0.0, -1.0])


def f(x):
    return torch.stack([x[0] * x[1], (x * x).sum().sqrt(), torch.sin(x[2]) * x[0].exp()])


with fwAD.dual_level():
    dual = fwAD.make_dual(x, t)
    value, tangent = fwAD.unpack_dual(f(dual))
    plain = fwAD.unpack_dual(f(x)).tangent

tangent
plain
jacobian = functional.jacobian(f, x)
torch.allclose(jacobian @ t, tangent)
functional.jvp(f, x, t)
functional.vjp(f, x, t)

# Columns in forward mode are rows in reverse mode.
columns = []
with fwAD.dual_level():
    for direction in torch.eye(3):
        columns.append(fwAD.unpack_dual(f(fwAD.make_dual(x, direction))).tangent)

torch.allclose(torch.stack(columns, 1), jacobian)

# Through a module: the parameters are replaced by dual numbers for one call.
model = nn.Linear(3, 2)
names = [name for name, _ in model.named_parameters()]
primals = {name: p.detach() for name, p in model.named_parameters()}
directions = {name: torch.ones_like(p) for name, p in primals.items()}
with fwAD.dual_level():
    duals = {n: fwAD.make_dual(p, directions[n]) for n, p in primals.items()}
    out = nn.functional.linear(x, duals["weight"], duals["bias"])
    change = fwAD.unpack_dual(out).tangent

torch.allclose(change, x.sum().expand(2) + 1)


# Forward over reverse: one product with the Hessian.
def energy(x):
    return (x**3).sum() + x[0] * x[1] * x[2]


with fwAD.dual_level():
    dual = fwAD.make_dual(x.clone().requires_grad_(), t)
    (slope,) = torch.autograd.grad(energy(dual), dual, create_graph=True)
    product = fwAD.unpack_dual(slope).tangent

product
torch.allclose(product, functional.hessian(energy, x) @ t)

# A physics-informed loss: second derivatives of a network in its input, then a backward.
net = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1))
points = torch.rand(4, 2, requires_grad=True)
u = net(points)
(du,) = torch.autograd.grad(u.sum(), points, create_graph=True)
laplacian = 0
for i in range(2):
    (ddu,) = torch.autograd.grad(du[:, i].sum(), points, create_graph=True)
    laplacian = laplacian + ddu[:, i]

residual = (laplacian + torch.sin(points.detach()).prod(1)).square().mean()
residual.backward()
net[0].weight.grad
net[2].bias.grad

# A damped pendulum: forces from an energy that is learnt, integrated with the graph kept.
q = torch.tensor(1.0)
p = torch.tensor(0.0)
stiffness = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    at = q if q.requires_grad else q.clone().requires_grad_()
    (force,) = torch.autograd.grad(stiffness * (1 - torch.cos(at)), at, create_graph=True)
    p = p - 0.1 * force
    q = q + 0.1 * p

q.backward()
stiffness.grad
