"""A layer defined by a fixed point: found without a graph, differentiated by the implicit function.

Forward, z = f(z, x) is solved by iteration under no_grad. Backward, a hook solves the linear system
of the implicit function theorem by iterating vector-Jacobian products.
"""

import torch
from torch import nn

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


class Cell(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.outer = nn.Linear(2, width)
        with torch.no_grad():
            self.inner.weight.mul_(0.5 / torch.linalg.vector_norm(self.inner.weight))

    def forward(self, z, x):
        return torch.tanh(self.inner(z) + self.outer(x))


def solve(step, start, tolerance=1e-12, limit=100):
    z = start
    for count in range(limit):
        following = step(z)
        if (following - z).norm() < tolerance:
            return following, count
        z = following
    return z, limit


class Equilibrium(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell
        self.iterations = {}

    def forward(self, x):
        with torch.no_grad():
            z, self.iterations["forward"] = solve(lambda z: self.cell(z, x), x.new_zeros(len(x), 3))
        z = self.cell(z, x)
        held = z.clone().detach().requires_grad_()
        value = self.cell(held, x)

        def implicit(grad):
            solution, self.iterations["backward"] = solve(
                lambda g: torch.autograd.grad(value, held, g, retain_graph=True)[0] + grad, grad
            )
            return solution

        z.register_hook(implicit)
        return z


x = torch.randn(4, 2)
layer = Equilibrium(Cell())
z = layer(x)
(layer.cell(z, x) - z).norm() < 1e-10
loss = z.square().sum()
loss.backward()
implicit_gradient = layer.cell.inner.weight.grad
layer.iterations

# The same gradient through all the iterations, at the price of keeping them.
unrolled = Cell()
unrolled.load_state_dict(layer.cell.state_dict())
z = torch.zeros(4, 3)
for _ in range(60):
    z = unrolled(z, x)

z.square().sum().backward()
torch.allclose(unrolled.inner.weight.grad, implicit_gradient, atol=1e-9)
torch.allclose(unrolled.outer.bias.grad, layer.cell.outer.bias.grad, atol=1e-9)

# Without the hook only the last application counts: the gradient is another one.
z = layer.cell(z.detach(), x)
(short,) = torch.autograd.grad(z.square().sum(), layer.cell.inner.weight)
torch.allclose(short, implicit_gradient, atol=1e-3)


# A square root as a fixed point, with the implicit gradient in a custom function.
class ImplicitRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        root = a.clone()
        for _ in range(30):
            root = 0.5 * (root + a / root)
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, grad):
        (root,) = ctx.saved_tensors
        return grad / (2 * root)


a = torch.tensor([2.0, 9.0], requires_grad=True)
root = ImplicitRoot.apply(a)
(slope,) = torch.autograd.grad(root.sum(), a, create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), a)
torch.allclose(curvature, -0.25 * a**-1.5)

# An optimum's dependence on its problem: the gradient of argmin by the same theorem.
rows = torch.randn(5, 2)
decay = torch.tensor(0.3, requires_grad=True)
goal = torch.randn(5)
matrix = rows.T @ rows + decay * torch.eye(2)
best = torch.linalg.solve(matrix, rows.T @ goal)
best.square().sum().backward()
decay.grad
