"""Random numbers in transforms, on impl and on torch: of tensors whose layout is not row-major, and
of examples that are not batched."""

from __future__ import annotations

import pytest
from made_transforms import answers

DRAWS = {
    "dropout": "F.dropout({}, 0.5)",
    "dropout in place": "F.dropout({}.clone(), 0.5, inplace=True)",
    "alpha_dropout": "F.alpha_dropout({}, 0.5, True)",
    "feature_alpha_dropout": "F.feature_alpha_dropout({}, 0.5, True)",
    "dropout1d": "F.dropout1d({}, 0.5)",
    "native_dropout": "torch.native_dropout({}, 0.5, True)[0]",
    "rand_like": "torch.rand_like({})",
    "randint_like": "torch.randint_like({}, 5)",
    "bernoulli": "torch.bernoulli({}, 0.5)",
    "uniform_": "{}.clone().uniform_()",
    "bernoulli_": "{}.clone().bernoulli_(0.5)",
    "rrelu": "F.rrelu(-{}, training=True)",
}
WAYS = {
    "plain": "f(x)",
    "grad": "func.grad(lambda a: f(a).sum())(x)",
    "vjp": "func.vjp(f, x)[1](torch.ones(3, 2))",
    "jvp": "func.jvp(f, (x,), (torch.ones(3, 2),))",
    "jacrev": "func.jacrev(f)(x).sum(0)",
    "jacfwd": "func.jacfwd(f, randomness='same')(x).sum(0)",
    "vmap, different": "func.vmap(f, in_dims=1, randomness='different')(x)",
    "vmap, same": "func.vmap(f, in_dims=1, randomness='same')(x)",
    "vmap of grad": "func.vmap(func.grad(lambda a: f(a).sum()), randomness='same')(pair)",
    "linearize": "func.linearize(f, x)[1](torch.ones(3, 2))",
}
# Here torch expands a tensor that is not batched, which is not followed.
LEFT = {("native_dropout", "vmap, different"), ("native_dropout", "jacfwd")}

UNBATCHED = ["dropout", "rand_like", "bernoulli", "uniform_", "rrelu"]


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_drawn_in_the_order_of_torch(name: str):
    program = f"f = lambda a: a * {DRAWS[name].format('a')}\n"
    program += "x = torch.arange(1.0, 7.0).view(2, 3).t()\npair = torch.stack([x, x], 2)\n"
    for way, call in WAYS.items():
        if (name, way) not in LEFT:
            text = f"{program}show({call})\nshow(torch.rand(1))"
            mine, other = answers(text)
            assert _without_history(mine) == _without_history(other), way


def _without_history(shown: list[str]) -> list[str]:
    return [line.rpartition("]")[0] if "]" in line else line for line in shown]


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("name", UNBATCHED)
def test_examples_share_a_tensor_that_is_not_batched(name: str, randomness: str):
    program = f"""
        t = torch.arange(1.0, 7.0).view(2, 3).t()
        f = lambda a: a * {DRAWS[name].format("t")}
        show(func.vmap(f, randomness={randomness!r})(torch.ones(2)))
        show(torch.rand(1))
    """
    mine, theirs = answers(program)
    assert mine == theirs
