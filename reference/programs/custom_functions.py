"""Custom functions: a straight-through estimator, an in-place one, and one differentiated twice."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Rounded(Function):
    """Rounds forward, passes the gradient straight through where the input is within bounds."""

    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high).round()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ((x >= ctx.low) & (x <= ctx.high)), None, None


class DropNegative(Function):
    """relu written into its argument, with the mask as a second, integer output."""

    @staticmethod
    def forward(ctx, x):
        kept = x > 0
        x.mul_(kept)
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(kept)
        ctx.save_for_backward(kept)
        return x, kept

    @staticmethod
    def backward(ctx, grad, grad_kept):
        (kept,) = ctx.saved_tensors
        return grad * kept


class Halve(Function):
    """Half of its argument, in its place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.div_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad / 2


class Cube(Function):
    """x ** 3 with a backward made of operators, so that it has derivatives of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


class CubeOnce(Cube):
    """The same, but its author says that the backward is not to be differentiated."""

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


class Select(Function):
    """One of two inputs: the other has no gradient; None is for what is no tensor."""

    @staticmethod
    def forward(ctx, a, b, first):
        ctx.first = first
        ctx.needs = ctx.needs_input_grad
        ctx.set_materialize_grads(False)
        return (a if first else b).clone()

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None, None
        return (grad, None, None) if ctx.first else (None, grad, None)


# Quantisation-aware training of one weight.
weight = torch.tensor([0.4, 1.6, -3.2, 7.0], requires_grad=True)
quantised = Rounded.apply(weight, -4.0, 4.0)
loss = ((quantised - torch.tensor([1.0, 1.0, -2.0, 5.0])) ** 2).sum()
loss.backward()
weight.grad

# The same by detach: the value of one expression, the gradient of another.
other = torch.tensor([0.4, 1.6], requires_grad=True)
through = other + (other.round() - other).detach()
through.sum().backward()
other.grad

# In place: the argument itself becomes the output.
x = torch.tensor([-1.0, 2.0, -3.0, 4.0], requires_grad=True)
hidden = x * 2
result, kept = DropNegative.apply(hidden)
result is hidden
hidden.grad_fn
version = hidden._version
result.sum().backward()
x.grad
kept.requires_grad
DropNegative.apply(x)  # raises RuntimeError
x.grad_fn is None

# Through a view of a base, which is then rewritten: with one output only.
base = torch.arange(-3.0, 3.0, requires_grad=True) * 1
part = base[1:5]
DropNegative.apply(part)  # raises RuntimeError
base = torch.arange(-3.0, 3.0, requires_grad=True) * 1
part = Halve.apply(base[1:5])
base.grad_fn
part.grad_fn
base.sum().backward()

# Twice.
y = torch.tensor(2.0, requires_grad=True)
(first,) = torch.autograd.grad(Cube.apply(y), y, create_graph=True)
(second,) = torch.autograd.grad(first, y, create_graph=True)
(third,) = torch.autograd.grad(second, y)
(only,) = torch.autograd.grad(CubeOnce.apply(y), y, create_graph=True)
only.requires_grad
torch.autograd.grad(only, y)  # raises RuntimeError

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
chosen = Select.apply(a, b, False)
chosen.grad_fn
torch.autograd.grad(chosen.sum(), (a, b), allow_unused=True)
Select.apply(a, b.detach(), True).sum().backward()
a.grad
b.grad

torch.autograd.gradcheck(
    Cube.apply, torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
)
