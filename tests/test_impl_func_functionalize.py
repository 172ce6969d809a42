"""`functionalize` on impl and on torch: writes stay in the function until it has ended."""

from __future__ import annotations

import pytest
from made_transforms import answers

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
ARGUMENTS = {
    "stepped": "torch.arange(8.0)[::2]",
    "stepped columns": "torch.arange(12.0).reshape(3, 4)[:, ::2]",
    "transposed": "torch.arange(6.0).reshape(2, 3).t()",
    "with an offset": "torch.arange(6.0)[1:5:2]",
    "expanded": "torch.arange(2.0).expand(3, 2)",
    "complex": "torch.complex(torch.arange(4.0), torch.ones(4))[::2].abs()",
}
READS = ["a[1]", "a[1:]", "a.detach()", "(a.stride(), a.storage_offset())", "a.clone().mul_(a)"]
TRANSFORMED = {
    "hessian": "func.hessian({})(torch.ones(2))",
    "jvp": "func.jvp({}, (torch.ones(2),), (torch.tensor([1.0, 2.0]),))[1]",
    "jacfwd": "func.jacfwd({})(torch.ones(2))",
    "jacrev": "func.jacrev({})(torch.ones(2))",
    "grad": "func.grad({})(torch.ones(2))",
    "vmap": "torch.vmap({})(torch.arange(4.0).view(2, 2))",
    "vmap of jacfwd": "torch.vmap(func.jacfwd({}))(torch.arange(4.0).view(2, 2))",
}
FUNCTIONS = {
    "a cube": "lambda a: (a ** 3).sum()",
    "a write": "lambda a: (a.mul_(2), (a ** 3).sum())[1]",
    "a view": "lambda a: a[:1].sum() * a[1]",
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
    mine, theirs = answers(PROGRAMS[name])
    assert mine == theirs


@pytest.mark.parametrize("removed", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shares_the_memory_that_it_has_on_torch(name: str, removed: str):
    program = f"""
        t = torch.tensor([1.0, 2.0])
        found = func.functionalize(lambda a: {RESULTS[name]}, remove={removed!r})(t)
        show(found, found is t, found._base is t)
        found.mul_(3)
        show(found, t)
    """
    mine, theirs = answers(program)
    assert mine == theirs


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("read", READS)
def test_a_result_has_the_elements_of_the_argument(argument: str, read: str):
    program = f"""
        t = {ARGUMENTS[argument]}
        found = func.functionalize(lambda a: {read})(t)
        show(found, found.stride() if isinstance(found, torch.Tensor) else None, t)
    """
    mine, theirs = answers(program)
    assert mine == theirs


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_transforms_see_through_a_function_without_writes(transform: str, function: str):
    call = TRANSFORMED[transform].format(f"func.functionalize({FUNCTIONS[function]})")
    program = f"show({call}.detach())"
    mine, theirs = answers(program)
    assert mine == theirs
