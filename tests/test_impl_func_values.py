"""Functions that read values, by numbers, conditions and indices, within transforms, on impl and on
torch: the examples of `vmap` have none in common, and `linearize` reads only constants."""

from __future__ import annotations

import pytest
from made_transforms import answers

INDICES = {
    "a computed one": "z[e.argmax()]",
    "of the argument": "z[z.argmax()]",
    "one of several": "z.expand(2, 2)[[0, 1], e.argmax()]",
    "a truth": "z[z[0] > 0]",
    "a bound": "z[e.argmax() :]",
    "a place to write": "z.clone().__setitem__(e.argmax(), 1.0)",
    "one for each example": "z[i]",
    "one for all": "z[k[0]]",
    "one for all, computed": "z[k[0] - 1]",
}
READINGS = (
    "x.item()",
    "bool(x)",
    "int(x)",
    "float(x)",
    "complex(x)",
    "x.__index__()",
    "f'{x:.1f}'",
)
SIZES = ("torch.ones(2)", "torch.ones(2, 2)", "torch.ones(2, 0)", "torch.ones(2, 1).long()")
TRACED = {
    "an item": "z * z[0].item()",
    "a condition": "z * 2 if z.sum() > 0 else z",
    "an index": "z[z.argmax()]",
    "a comparison": "z if torch.equal(z, z) else z * 2",
    "closeness": "z * torch.allclose(z, z)",
    "a number of an operator": "torch.add(z, z, alpha=z[0])",
    "a format": "z * float(f'{c:.2f}')",
    "an operand": "torch.tensor([z[0], 1.0]) * z",
    "what is captured": "z * c.item()",
    "a view of what is captured": "z * c.view(()).item()",
    "what is computed of it": "z * (c + 1).item()",
    "given numbers": "z * torch.tensor(2).item() + torch.as_tensor(3).item() + z.new_tensor(1)",
    "what is computed of them": "z[torch.tensor(2) - 1] * (torch.tensor([2.0]) * 2 + c).item()",
    "a sum of them": "z * torch.tensor([1, 2]).sum().item()",
    "a filled tensor": "z * torch.zeros(()).item()",
    "a tensor like them": "z * torch.zeros_like(torch.tensor(2.0)).item()",
    "a drawn one like them": "z * torch.rand_like(torch.tensor(2.0)).item()",
    "a new one": "z * torch.tensor(2.0).new_ones(()).item()",
    "a view of them": "z * torch.tensor(2.0).view(1).item() * torch.tensor([3.0])[0].item()",
    "a part of them": "z * torch.tensor([2.0]).unbind()[0].item()",
    "a stack of them": "z * torch.stack([torch.tensor(2.0)]).item()",
    "one of two in a stack": "z * torch.stack([torch.tensor(2.0), z[0]])[0].item()",
    "a joined one": "z * torch.cat([torch.tensor([2.0])]).item()",
    "their alias": "z * torch.tensor(2.0).detach().item() * torch.tensor(3.0).data.item()",
    "an alias of a computed one": "z * z[0].detach().item()",
    "a scattered one": "z * torch.tensor([2.0]).as_strided_scatter(c[None], (1,), (1,)).item()",
    "numbers written": "z * torch.tensor(2.0).add_(1).item() * torch.tensor(2.0).copy_(c).item()",
    "a written one": "z * torch.tensor(2.0).mul_(z[1]).item()",
    "within grad": "func.grad(lambda y: (y * y[0].item()).sum())(z)",
    "the text": "repr(z) and z",
    "a list": "z * z.tolist()[0]",
}


@pytest.mark.parametrize("transform", ["grad", "jvp", "vjp", "no other transform"])
@pytest.mark.parametrize("name", INDICES)
def test_an_index_that_a_transform_in_vmap_wraps_is_read(name: str, transform: str):
    within = {
        "grad": "func.grad(lambda z: f(z, e, i).sum())(z)",
        "jvp": "func.jvp(lambda z: f(z, e, i), (z,), (z,))",
        "vjp": "func.vjp(lambda z: f(z, e, i), z)[0]",
    }.get(transform, "f(z, e, i)")
    program = f"""
        e, k = torch.tensor([[1.0, 2.0], [5.0, 3.0]]), torch.tensor([1, 0])
        f = lambda z, e, i: {INDICES[name]}
        show(func.vmap(lambda z, e, i: {within})(e / 10, e, k))
    """
    mine, theirs = answers(program)
    assert mine == theirs


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reading", READINGS)
def test_examples_are_not_read(reading: str, size: str):
    for within in ("(x, {})", "func.vjp(lambda x: (x, {})[0], x)[0]"):
        mine, theirs = answers(f"show(func.vmap(lambda x: {within.format(reading)})({size}))")
        assert mine == theirs


@pytest.mark.parametrize("name", TRACED)
def test_linearize_reads_constants_only(name: str):
    program = f"""
        z, c = torch.tensor([1.0, 2.0]), torch.tensor([3.0])[0]
        show(func.linearize(lambda z: {TRACED[name]}, z)[1](z))
    """
    mine, theirs = answers(program)
    assert mine == theirs


ALIASES = ("c.detach()", "c.data", "c[0:].detach()", "c.detach()[0:]", "c.detach().view(2, 1).t()")
TRANSFORMS = {
    "grad": "func.grad(f)(z)",
    "jvp": "func.jvp(f, (z,), (z,))",
    "jacfwd": "func.jacfwd(f)(z)",
    "vmap of grad": "func.vmap(func.grad(f))(z[None])",
    "vmap in grad": "func.grad(lambda z: func.vmap(f)(z[None]).sum())(z)",
    "grad in grad": "func.grad(lambda z: func.grad(f)(c).sum() * z.sum())(z)",
    "vmap": "func.vmap(f)(z[None])",
    "linearize": "func.linearize(f, z)[1](z)",
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_of_a_captured_tensor_is_not_written(alias: str, transform: str):
    program = f"""
        c, z = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])
        def f(a):
            {alias}.zero_()
            return a.mul_(2).sum()
        try:
            show({TRANSFORMS[transform]})
        finally:
            show(c, z)
    """
    mine, theirs = answers(program)
    assert mine == theirs


@pytest.mark.parametrize("array", ["c.numpy()", "c.numpy(force=True)", "c.__array__()"])
@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap of grad", "vmap in grad", "vmap"])
def test_an_array_of_a_captured_tensor_is_refused(array: str, transform: str):
    program = f"""
        c, z = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])
        def f(a):
            {array}
            return a.sum()
        show({TRANSFORMS[transform]})
    """
    mine, theirs = answers(program)
    assert mine == theirs
