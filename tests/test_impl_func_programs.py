"""Programs about transforms, on impl and on torch: what writes, changes of memory and texts do in
them, and operators whose rules are their own there."""

from __future__ import annotations

import pytest
from made_transforms import answers

PROGRAMS = {
    "jacfwd that writes, in vmap": """
        x = torch.tensor([1.0, 2.0])
        show(func.vmap(func.jacfwd(lambda a: a.sin_()))(x), x)
        x = torch.tensor([1.0, 2.0])
        show(func.jacfwd(func.jacfwd(lambda a: a.mul_(2)))(x).sum(0), x)
        x, one = torch.tensor([1.0, 2.0]), torch.ones(2)
        show(func.jacfwd(lambda a: func.jvp(lambda b: b.mul_(2), (a,), (a,))[1])(x).sum(0), x)
    """,
    "tangents of batched primals": """
        xs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        ts = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
        for f in (torch.sin, lambda a: a.outer(a) @ a, lambda a: a[torch.tensor([1, 0])]):
            along = lambda t: func.vmap(lambda a: func.jvp(f, (a,), (t,)))(xs)
            show(func.vmap(along)(ts))
            show(func.vmap(lambda a: func.vmap(lambda t: func.jvp(f, (a,), (t,)))(ts))(xs))
    """,
    "linearize of views of several": """
        t = torch.tensor([1.0, 3.0, 2.0, 1.0])
        for write in (
            lambda b: b.chunk(2)[0].mul_(2),
            lambda b: b.unbind()[0].mul_(b[1]),
            lambda b: b.split(1)[1].copy_(b[:1]),
            lambda b: b.tensor_split(2)[1].zero_(),
        ):
            f = lambda a: (b := a * 2, write(b), b)[2]
            show(func.linearize(f, torch.ones(4))[1](t).tolist())
        def f(a):
            k = torch.ones(4) * 3
            y = (a * k).exp()
            z = y.sin()
            k.zero_(), y.zero_()
            return z
        show([round(x, 2) for x in func.linearize(f, t / 9)[1](t).tolist()])
    """,
    "linearize of hardsigmoid": """
        x = torch.tensor([1.0, 2.0, 5.0, -4.0, 3.0])
        show(func.linearize(F.hardsigmoid, x)[1](torch.ones(5)))
        f = lambda a: F.hardsigmoid(a.clone(), inplace=True)
        show(func.linearize(f, x)[1](torch.ones(5)).tolist())
        func.grad(lambda a: func.jvp(F.hardsigmoid, (a,), (x,))[1].sum())(x)
    """,
    "grid_sample": """
        g, x = torch.tensor([0.2, 0.3]).view(1, 1, 1, 2).double(), torch.rand(1, 1, 2, 3).double()
        for mode in ("bilinear", "nearest", "bicubic"):
            f = lambda a, b: F.grid_sample(a, b, mode, align_corners=False)
            show(func.jacfwd(f)(x, g), func.jacfwd(f, 1)(x, g), func.jvp(f, (x, g), (x, g)))
        f = lambda a: F.grid_sample(a, torch.full((1, 1, 1, 1, 3), 0.3), align_corners=False)
        show(func.jvp(f, (torch.rand(1, 1, 2, 2, 2),), (torch.ones(1, 1, 2, 2, 2),)))
        func.hessian(lambda a: (F.grid_sample(a, g, align_corners=False) ** 2).sum())(x)
    """,
    "householder_product": """
        a, tau = torch.rand(2, 3, 2, dtype=torch.float64), torch.rand(2, 2, dtype=torch.float64)
        f = lambda m, t: torch.linalg.householder_product(m, t).sum()
        for argnums in (0, 1):
            g = func.grad(f, argnums=argnums)
            each = torch.stack([g(*one) for one in zip(a, tau)])
            show(torch.allclose(func.vmap(g)(a, tau), each))
            found = func.vmap(g, in_dims=(0, None))(a, tau[0])
            show([[round(x, 5) + 0.0 for x in row] for row in found.flatten(1).tolist()])
    """,
    "set_ and resize_ of wrappers": """
        x = torch.tensor([1.0, 2.0])
        f = lambda a: (torch.zeros(3).set_(a) * 2).sum()
        show(func.grad(f)(x))
        show(func.vmap(lambda a: (a.set_(torch.zeros(3)) * 2).sum())(x[None]), x)
        show(func.vmap(lambda a: (a * 1).resize_(1))(x[None]))
        show(func.vmap(lambda a: a.resize_as_(torch.zeros(3)) * 2)(x[None]))
    """,
    "repr": """
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        def f(a):
            for value in (a, a * w, w, w * 2, a.detach(), (a * w)[0], torch.ones(2)):
                show(repr(value))
            return a.sum()
        for x in (torch.ones(2), w, w * 1):
            func.grad(f)(x)
            func.jvp(f, (x,), (torch.ones(2),))
            func.vmap(f)(torch.stack([x, x]))
            func.vmap(func.grad(f))(torch.stack([x, x]))
            func.grad(lambda a: func.jvp(f, (a,), (torch.ones(2),))[0])(x)
        with torch.no_grad():
            func.grad(f)(w)
        func.grad(lambda a: (show(repr(a[None, None])), a.sum())[1])(torch.ones(2, 2, 2))
    """,
}
REFUSED = {
    "set_ of a dual tensor": "func.jvp(lambda a: a.set_(torch.zeros(3)), (x,), (x,))",
    "set_ to a dual tensor": "func.jvp(lambda a: torch.zeros(3).set_(a), (x,), (x,))",
    "set_ to examples": "func.vmap(lambda a: torch.zeros(3).set_(a))(x)",
    "set_ of an input": "func.grad(lambda a: a.set_(torch.zeros(3)))(x)",
    "set_ to a storage": "func.grad(lambda a: a.set_(x.untyped_storage()))(x)",
    "resize_ of a dual tensor": "func.jvp(lambda a: a.resize_(4), (x,), (x,))",
    "resize_ of an input": "func.vmap(func.grad(lambda a: a.resize_(4)))(x)",
    "resize_as_ of examples": "func.vmap(lambda a: torch.zeros(3).resize_as_(a))(x)",
    "data of an input": "func.grad(lambda a: setattr(a, 'data', x))(x)",
    "data of a dual tensor": "func.jvp(lambda a: setattr(a * 1, 'data', x), (x,), (x,))",
    "data of examples": "func.vmap(lambda a: setattr(a, 'data', x))(x)",
    "data of examples, read": "func.vmap(lambda a: a.data * 1)(x)",
    "data of examples in grad": "func.grad(lambda b: func.vmap(lambda a: a.data)(b).sum())(x)",
    "storage": "func.vmap(func.grad(lambda a: a.untyped_storage()))(x)",
    "numpy": "func.vmap(func.grad(lambda a: a.numpy()))(x)",
    "scatter_add_ to a captured one": "func.vmap(lambda a: x.clone().scatter_add_(0, i, a))(pair)",
}
INDEXED = {
    "scatter_add": "a.scatter_add(0, i, a)",
    "scatter": "a.scatter(0, i, a)",
    "scatter of a number": "a.scatter(0, i, 2.0)",
    "scatter_reduce": "a.scatter_reduce(0, i, a, 'sum')",
    "scatter_add_": "a.clone().scatter_add_(0, i, a)",
    "gather": "a.gather(0, i)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_shows_what_it_does_on_torch(name: str):
    mine, theirs = answers(PROGRAMS[name])
    assert mine == theirs


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_is_refused_as_by_torch(name: str):
    program = "x, i = torch.tensor([1.0, 2.0]), torch.tensor([0])\npair = torch.stack([x, x])\n"
    mine, theirs = answers(program + REFUSED[name])
    assert mine == theirs and "Error: " in mine[-1]


@pytest.mark.parametrize("name", INDEXED)
def test_an_index_without_dimensions_counts_as_one_of_one_element(name: str):
    for x in ("torch.arange(1.0, 5.0).view(2, 2)", "torch.tensor([1.0, 2.0])"):
        for index in ("torch.tensor(0)", "torch.tensor([0])"):
            program = f"""
                x, i = {x}, {index}
                show(func.vmap(lambda a: {INDEXED[name]})(x).tolist())
                show(func.vmap(lambda a, i: {INDEXED[name]})(x, torch.tensor([0, 0])).tolist())
                show(func.jacfwd(lambda a: {INDEXED[name]})(x[0]).tolist())
                show(func.jacrev(lambda a: {INDEXED[name]})(x[0]).tolist())
            """
            mine, theirs = answers(program)
            assert mine == theirs
