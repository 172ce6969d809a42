"""`linearize` on impl and on torch: transforms around it and within it, constants, random numbers
and errors."""

from __future__ import annotations

import pytest
from made_transforms import answers

PROGRAMS = {
    "of transforms": """
        x = torch.tensor([1.0, 2.0])
        g = lambda b: (b**3).sum()
        show(func.linearize(func.grad(g), x)[1](x))
        show(func.linearize(func.grad_and_value(g), x)[1](x))
        show(func.linearize(func.grad(lambda a: func.grad(g)(a).sum()), x)[1](x))
        show(func.linearize(lambda a: func.grad(lambda b: (b * b * a).sum())(a), x)[1](x))
        show(func.linearize(lambda a: func.vjp(torch.sin, a)[1](a)[0], x)[1](x))
        show(func.linearize(func.vmap(func.grad(lambda a: a**3)), x)[1](x))
    """,
    "a constant": """
        f = lambda a: (torch.zeros(2), a, a.detach() * 2, torch.tensor([1, 2]))
        push = func.linearize(f, torch.tensor([1.0, 2.0]))[1]
        show(push(torch.ones(2)), push(torch.ones(2))[0] is push(torch.ones(2))[0])
    """,
    "the identity": """
        x = torch.ones(2, requires_grad=True)
        found = func.linearize(lambda a: a, torch.ones(2))[1](x)
        show(found, found.data_ptr() == x.data_ptr())
    """,
    "random numbers": """
        push = func.linearize(lambda a: a * torch.rand(2), torch.ones(2))[1]
        show(push(torch.ones(2)), push(torch.ones(2)), torch.rand(1))
        show(func.linearize(lambda a: F.dropout(a, 0.5), torch.ones(6))[1](torch.ones(6)))
        generator = torch.Generator().manual_seed(4)
        f = lambda a: a * torch.rand(2, generator=generator)
        show(func.linearize(f, torch.ones(2))[1](torch.ones(2)))
        show(torch.rand(1, generator=generator), torch.rand(1))
    """,
    "no wrapper": """
        def f(a):
            a.data_ptr()
            b = torch.ones(2).requires_grad_()
            return a * torch.autograd.grad((b * b).sum(), b)[0]
        show(func.linearize(f, torch.ones(2))[1](torch.ones(2)))
    """,
}
REFUSED = {
    "jvp": "func.linearize(lambda a: func.jvp(torch.sin, (a,), (x,))[1], x)",
    "hessian": "func.linearize(func.hessian(lambda a: (a**3).sum()), x)",
    "linearize": "func.linearize(lambda a: func.linearize(torch.sin, a)[1](a), x)",
    "in jvp": "func.jvp(lambda a: func.linearize(torch.sin, x)[1](a), (x,), (x,))",
    "in jacfwd": "func.jacfwd(lambda a: func.linearize(torch.sin, a)[1](a))(x)",
    "in vmap": "func.vmap(lambda a: func.linearize(torch.sin, a)[1](a))(x[None])",
    "integers": "func.linearize(lambda a: a * 1.0, torch.ones(2, dtype=torch.int64))",
    "another dtype": "func.linearize(torch.sin, x)[1](torch.ones(2, dtype=torch.int64))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_linearize_answers_as_torch_does(name: str):
    mine, theirs = answers(PROGRAMS[name])
    assert mine == theirs


@pytest.mark.parametrize("name", REFUSED)
def test_linearize_refuses_what_torch_does(name: str):
    program = f"x = torch.tensor([1.0, 2.0])\n{REFUSED[name]}"
    mine, theirs = answers(program)
    assert mine == theirs and "Error: " in mine[0]
