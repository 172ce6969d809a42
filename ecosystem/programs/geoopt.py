"""geoopt: manifolds, their tensors and parameters, and optimizers on them."""

import contextlib
import copy
import io

import geoopt
import torch


def text(value):
    return torch.tensor(list(repr(value).encode()))


def walked(manifold, shape):
    x = manifold.random(*shape)
    x = x.as_subclass(torch.Tensor).detach().requires_grad_()
    v = manifold.proju(x.detach(), 0.1 * torch.randn(*shape))
    y = (manifold.retr if "Stiefel" in manifold.name else manifold.expmap)(x, v)
    values = [y]
    for name, operands in {
        "inner": (x, v),
        "norm": (x, v),
        "retr": (x, v),
        "transp": (x, y, v),
        "egrad2rgrad": (x, v),
        "projx": (x + v,),
        "dist": (x, y),
        "logmap": (x, y),
    }.items():
        with contextlib.suppress(NotImplementedError):
            values.append(getattr(manifold, name)(*operands))
    values += torch.autograd.grad(sum(value.sum() for value in values), x)
    return *values, text(manifold)


def case_sphere():
    return walked(geoopt.Sphere(), (3, 4))


def case_poincare():
    return walked(geoopt.PoincareBall(c=1.3, learnable=True), (3, 4))


def case_lorentz():
    manifold = geoopt.Lorentz(k=1.0)
    x, y = (manifold.random_normal(3, 4).as_subclass(torch.Tensor) for _ in range(2))
    x = x.detach().requires_grad_()
    v = manifold.logmap(x, y)
    values = [
        manifold.dist(x, y),
        v,
        manifold.expmap(x, 0.5 * v),
        manifold.dist0(x),
        manifold.transp(x, y, v),
        manifold.geodesic_unit(torch.tensor(0.3), x, v),
    ]
    return *values, *torch.autograd.grad(sum(value.sum() for value in values), x)


def case_stiefel():
    return *walked(geoopt.Stiefel(), (4, 2)), *walked(geoopt.EuclideanStiefelExact(), (4, 2))


def case_definite():
    return *walked(geoopt.SymmetricPositiveDefinite(), (3, 3)), *walked(
        geoopt.SymmetricPositiveDefinite("LEM"), (3, 3)
    )


def case_others():
    product = geoopt.ProductManifold((geoopt.Sphere(), 3), (geoopt.Euclidean(1), 2))
    return (
        *walked(geoopt.Stereographic(-0.7), (2, 3)),
        *walked(geoopt.BirkhoffPolytope(), (3, 3)),
        *walked(product, (4, 5)),
        *walked(geoopt.SphereProjection(), (2, 3)),
        *walked(geoopt.Scaled(geoopt.Sphere(), 2.0), (2, 3)),
    )


def case_gyrovectors():
    ball = geoopt.PoincareBall(c=0.9)
    x, y = (ball.random(4, 3).as_subclass(torch.Tensor).requires_grad_() for _ in range(2))
    values = [
        ball.mobius_add(x, y),
        ball.mobius_scalar_mul(torch.tensor(1.7), x),
        ball.mobius_matvec(torch.randn(3, 3), x),
        ball.geodesic(torch.linspace(0, 1, 4)[:, None], x, y),
        ball.dist2plane(x, y, torch.randn(4, 3)),
        ball.gyration(x, y, torch.randn(4, 3)),
        ball.lambda_x(x),
        ball.weighted_midpoint(x, torch.rand(4)),
    ]
    grads = torch.autograd.grad(sum(v.square().sum() for v in values), (x, y), create_graph=True)
    return *values, *grads, *torch.autograd.grad(grads[0].square().sum(), (x, y))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        ball = geoopt.PoincareBall()
        self.point = geoopt.ManifoldParameter(ball.random(3, 2), manifold=ball)
        self.frame = geoopt.ManifoldParameter(torch.eye(3, 2), manifold=geoopt.Stiefel())
        self.bias = torch.nn.Parameter(torch.zeros(2))

    def forward(self):
        return (self.point.sum(0) @ (self.frame.T @ torch.ones(3, 2)) + self.bias).square().sum()


def optimised(make):
    model = Model()
    optimizer = make(model.parameters())
    values = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model()
        loss.backward()
        optimizer.step()
        values.append(loss.detach())
    return *values, *(p.detach() for p in model.parameters()), text(optimizer)


def case_adam():
    return optimised(lambda p: geoopt.optim.RiemannianAdam(p, lr=0.05, amsgrad=True, stabilize=2))


def case_sgd():
    return optimised(lambda p: geoopt.optim.RiemannianSGD(p, lr=0.01, momentum=0.9, nesterov=True))


def case_states():
    model = Model()
    other = copy.deepcopy(model)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    other.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=False))
    return (
        *(p.detach() for p in other.parameters()),
        text(type(other.point)),
        text(other.point),
        text(other.point.manifold),
        text(geoopt.ManifoldTensor([0.5])),
    )
