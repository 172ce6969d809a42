"""`functionalize` on impl and on torch: writes stay in the function until it has ended."""

from __future__ import annotations

import pytest
from made_transforms import lines

import impl

PROGRAMS = {
    "a captured alias": """
        t = torch.tensor([1.0, 2.0])
        def f(a):
            a[0] = 0.0
            return t * 1
        show(func.functionalize(f)(t), t)
    """,
    "arguments of one memory": """
        t = torch.tensor([1.0, 2.0])
        s = t.view(2, 1)
        def f(a, b):
            a.add_(1)
            return b * 1, a * 1
        show(func.functionalize(f)(t, s), t, s)
    """,
    "an error": """
        t = torch.tensor([1.0, 2.0])
        def f(a):
            a.add_(1)
            raise ValueError
        try:
            func.functionalize(f)(t)
        except ValueError:
            show(t)
    """,
    "a keyword and a tree": """
        t, u = torch.tensor([1.0, 2.0]), torch.ones(2)
        def f(d, k):
            k.add_(1)
            d["x"].mul_(k)
            return {"y": d["x"], "z": 3}
        found = func.functionalize(f)({"x": t}, k=u)
        show(found["y"], found["z"], t, u)
    """,
    "a history": """
        t = torch.ones(2, requires_grad=True)
        u = t * 1
        def f(a):
            a.add_(1)
            return a * 2
        found = func.functionalize(f)(u)
        show(found, u)
        found.sum().backward()
        show(t.grad)
        z = torch.zeros(2)
        show(func.functionalize(lambda a, b: (b.copy_(a), a * 2)[1])(t, z), z)
        func.functionalize(lambda a: a.add_(1))(t)
    """,
    "what it shows": """
        def f(a):
            show(repr(a), a.requires_grad)
            b = a * 2
            show(repr(b), repr(b.view(2, 1)), float(b.sum()))
            return b
        func.functionalize(f)(torch.ones(2))
        func.functionalize(f)(torch.ones(2, requires_grad=True))
    """,
    "other sizes": """
        t = torch.tensor([1.0, 2.0])
        def f(a):
            a.resize_(4).fill_(3)
            return a * 1
        show(func.functionalize(f)(t), t)
    """,
    "in a transform": """
        def f(a):
            a.add_(1)
            return (a * a).sum()
        t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        show(func.vmap(func.functionalize(f))(t), t)
        func.grad(func.functionalize(f))(t)
    """,
    "a Function": """
        class Double(torch.autograd.Function):
            forward = staticmethod(lambda x: x * 2)
            setup_context = staticmethod(lambda ctx, inputs, output: None)
        func.functionalize(Double.apply)(torch.ones(2))
    """,
    "a pass": """
        t = torch.ones(2, requires_grad=True)
        func.functionalize(lambda a: torch.autograd.grad(a.sum(), a)[0])(t)
    """,
    "requires_grad_": "func.functionalize(lambda a: a.requires_grad_())(torch.ones(2))",
    "tolist": "func.functionalize(lambda a: (a * 2).tolist())(torch.ones(2))",
}
RESULTS = {
    "an argument": "a",
    "a view": "a.view(2, 1)",
    "a view of a view": "a.view(2, 1)[1]",
    "a detached one": "a.detach()",
    "a written one": "a.add_(1)",
    "a view of a written one": "a.add_(1)[0]",
    "a written view": "a.view(2, 1).add_(1)",
    "another": "(a * 2).add_(1)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_shows_what_it_does_on_torch(name: str):
    torch = pytest.importorskip("torch")
    assert lines(impl, PROGRAMS[name]) == lines(torch, PROGRAMS[name])


@pytest.mark.parametrize("removed", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shares_the_memory_that_it_has_on_torch(name: str, removed: str):
    torch = pytest.importorskip("torch")
    program = f"""
        t = torch.tensor([1.0, 2.0])
        found = func.functionalize(lambda a: {RESULTS[name]}, remove={removed!r})(t)
        show(found, found is t, found._base is t)
        found.mul_(3)
        show(found, t)
    """
    assert lines(impl, program) == lines(torch, program)
