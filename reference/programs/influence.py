"""Which training example pulls a prediction where: Hessian-vector products and conjugate gradients."""

import torch
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)
x = torch.randn(12, 3)
y = (x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 * torch.randn(12) > 0).double()
probe, wanted = torch.randn(1, 3), torch.ones(1)

model = torch.nn.Linear(3, 1)
parameters = list(model.parameters())


def loss_of(x, y, decay=0.05):
    fit = F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    return fit + decay * sum(p.square().sum() for p in model.parameters())


# Newton's method reaches the minimum in a few steps: the Hessian row by row.
def hessian(x, y):
    slopes = torch.autograd.grad(loss_of(x, y), parameters, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in slopes])
    rows = []
    for element in flat:
        row = torch.autograd.grad(element, parameters, retain_graph=True)
        rows.append(torch.cat([g.reshape(-1) for g in row]))
    return torch.stack(rows), flat.detach()


for _ in range(4):
    matrix, slope = hessian(x, y)
    step = torch.linalg.solve(matrix, slope)
    with torch.no_grad():
        vector_to_parameters(parameters_to_vector(parameters) - step, parameters)

matrix, slope = hessian(x, y)
slope.norm() < 1e-6
torch.allclose(matrix, matrix.T)


# The same products without the matrix.
def hessian_vector(v):
    slopes = torch.autograd.grad(loss_of(x, y), parameters, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in slopes])
    product = torch.autograd.grad(flat, parameters, grad_outputs=v)
    return torch.cat([g.reshape(-1) for g in product])


v = torch.tensor([1.0, 0.0, -1.0, 2.0])
hessian_vector(v)
torch.allclose(hessian_vector(v), matrix @ v)


def conjugate_gradient(multiply, b, steps=8):
    solution = torch.zeros_like(b)
    residual = b.clone()
    direction = residual.clone()
    square = residual.dot(residual)
    for _ in range(steps):
        image = multiply(direction)
        rate = square / direction.dot(image)
        solution += rate * direction
        residual -= rate * image
        new = residual.dot(residual)
        if new.sqrt() < 1e-9:
            break
        direction = residual + new / square * direction
        square = new
    return solution


probe_loss = F.binary_cross_entropy_with_logits(model(probe).squeeze(1), wanted)
target = torch.cat([g.reshape(-1) for g in torch.autograd.grad(probe_loss, parameters)])
direction = conjugate_gradient(hessian_vector, target)
torch.allclose(matrix @ direction, target)


def example_slope(i):
    loss = F.binary_cross_entropy_with_logits(model(x[i : i + 1]).squeeze(1), y[i : i + 1])
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, parameters)])


influence = torch.stack([-direction.dot(example_slope(i)) / len(x) for i in range(len(x))])
order = influence.argsort()

# Forward over reverse gives the same product as reverse over reverse, and so does `functional`.
rows, bias = parameters


def at(weight, bias):
    logits = F.linear(x, weight, bias).squeeze(1)
    fit = F.binary_cross_entropy_with_logits(logits, y)
    return fit + 0.05 * (weight.square().sum() + bias.square().sum())


value, products = torch.autograd.functional.hvp(
    at, (rows.detach(), bias.detach()), (v[:3].view(1, 3), v[3:])
)
torch.allclose(torch.cat([p.reshape(-1) for p in products]), matrix @ v)
blocks = torch.autograd.functional.hessian(at, (rows.detach(), bias.detach()))
torch.allclose(blocks[0][0].reshape(3, 3), matrix[:3, :3])
