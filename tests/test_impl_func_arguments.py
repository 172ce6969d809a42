"""Arguments that a transform does not differentiate, on impl and on torch: the function writes
them, and they keep the history that they have outside."""

from __future__ import annotations

import pytest
from made_transforms import answers

PROGRAMS = {
    "a write": """
        t, z = torch.tensor([1.0, 2.0]), torch.zeros(2)
        show(func.grad(lambda a, b: b.copy_(a).sum())(t, z), z)
    """,
    "writes to views": """
        t, z = torch.tensor([1.0, 2.0]), torch.zeros(2)
        def f(a, b):
            b[0] = a[1]
            b.view(2, 1)[1].copy_(a[:1])
            return b.sum()
        show(func.grad(f)(t, z), z, z.add_(1))
    """,
    "a write to a view": """
        base = torch.zeros(4)
        z, t = base[:2], torch.ones(2, requires_grad=True)
        show(func.grad(lambda a, b: b.add_(a * a).sum())(t, z), z, base)
        base.sum().backward()
        show(t.grad)
    """,
    "a history outside": """
        t, z = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2)
        show(func.grad(lambda a, b: b.add_(a * a).sum())(t, z), z)
        z.sum().backward()
        show(t.grad)
        z = torch.zeros(2)
        with torch.no_grad():
            show(func.grad(lambda a, b: b.add_(a).sum())(t, z), z)
    """,
    "a result": """
        t = torch.tensor([1.0, 2.0])
        def f(a, b):
            b.add_(a * a)
            return b.sum(), b
        z = torch.zeros(2)
        (g, aux) = func.grad(f, has_aux=True)(t, z)
        show(g, aux, aux is z)
        z = torch.zeros(2)
        show(func.jacrev(lambda a, b: (b.add_(a * a), b[0], b.view(2, 1)))(t, z), z)
        g, aux = func.jacrev(lambda a, b: (b.add_(a), b[0]), has_aux=True)(t, z)
        show(aux, aux._base is z)
    """,
    "an error": """
        t, z = torch.tensor([1.0, 2.0]), torch.zeros(2)
        def f(a, b):
            b.copy_(a)
            raise ValueError
        try:
            func.grad(f)(t, z)
        except ValueError:
            show(z)
    """,
    "a keyword": """
        z = torch.zeros(2)
        show(func.grad(lambda a, k: k.add_(a).sum())(torch.ones(2), k=z), z)
    """,
    "vmap": """
        z = torch.zeros(2, 2)
        show(func.vmap(func.grad(lambda a, b: b.add_(a * a).sum()))(torch.ones(2, 2), z), z)
    """,
    "two levels": """
        t, z = torch.tensor([1.0, 2.0]), torch.zeros(2)
        def f(a, b):
            b.add_(a * a)
            return b.sum()
        show(func.grad(lambda a, b: func.grad(f)(a, b).sum())(t, z), z)
        func.grad(lambda a: func.grad(f)(a, z).sum())(t)
    """,
    "jacfwd": """
        t, z = torch.ones(2), torch.zeros(2)
        show(func.jacfwd(lambda a, b: (b.add_(a), a * b)[1])(t, z), z)
        func.jacfwd(lambda a: (t.add_(1), a * 2)[1])(t)
    """,
    "what it shows": """
        z = torch.zeros(2, requires_grad=True)
        def f(a, b):
            show(b.requires_grad, b.is_leaf, b.grad_fn is None, repr(b))
            show((b * 2).requires_grad)
            return (a * b).sum()
        show(func.grad(f)(torch.ones(2), z))
        show(func.grad(f)(torch.ones(2), z * 1))
    """,
    "detach_": """
        z = torch.zeros(2, requires_grad=True) * 1
        def f(a, b):
            b.detach_()
            return (a * b).sum()
        show(func.grad(f)(torch.ones(2), z), z)
    """,
    "a hook": """
        z = torch.zeros(2, requires_grad=True)
        func.grad(lambda a, b: (b.register_hook(print), a.sum())[1])(torch.ones(2), z)
    """,
    "a flag": """
        t, z = torch.tensor([1.0, 2.0]), torch.zeros(2)
        def f(a, b):
            b.requires_grad = True
            show(b.requires_grad)
            return (a * torch.autograd.grad((b * b * a).sum(), b)[0]).sum()
        show(func.grad(f)(t, z), z)
        def g(a, b):
            b.requires_grad = True
            return a * b
        show(func.vmap(g)(t, z), z)
        show(func.vmap(func.grad(g))(t, z), z)
    """,
    "a leaf of the function": """
        x = torch.tensor([1.0, 2.0])
        def f(a):
            w = torch.ones(2, requires_grad=True)
            show(w.requires_grad, (w * 2).requires_grad)
            return (torch.autograd.grad((w * w * a).sum(), w)[0] * a).sum()
        show(func.grad(f)(x), func.hessian(f)(x), func.vmap(func.grad(f))(x[None]))
        m = lambda a: torch.nn.PReLU()(a).sum()
        show(func.jvp(f, (x,), (x,)), func.grad(m)(x))
    """,
    "autograd.grad of outside": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y, one = x * 3, torch.ones(2)
        show(func.jvp(lambda a: a * torch.autograd.grad(y, x, one)[0], (one,), (one,)))
        y = x * 3
        func.jvp(lambda a: a * torch.autograd.grad(y.sum(), x)[0], (one,), (one,))
    """,
    "autograd.grad of an argument": """
        z = torch.zeros(2, requires_grad=True)
        f = lambda a, b: (a * torch.autograd.grad((b * b).sum(), b)[0]).sum()
        func.grad(f)(torch.ones(2), z)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_are_as_torch_leaves_them(name: str):
    mine, theirs = answers(PROGRAMS[name])
    assert mine == theirs
