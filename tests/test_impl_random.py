"""impl's random numbers against torch's, bit for bit: a seed means the same numbers on both."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import impl

SEEDS = (0, 1, 42, 5489, 2**31, 2**32, 2**32 + 42, 2**63, 2**64 - 1, -1, -(2**63), 123456789012345)

# From 16 normal numbers on torch uses vector instructions, whose polynomials impl follows; a
# processor without them has other last bits.
vectorised = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="torch draws normal numbers without vector instructions on this processor",
)


def bits(tensor) -> tuple[str, tuple[int, ...], bytes]:
    """The dtype, shape and bytes of a tensor, which are to be equal on both sides."""
    dtype = str(tensor.dtype)
    if dtype in ("torch.bfloat16", "torch.float16"):  # exact, and torch has no NumPy bfloat16
        tensor = tensor.to((torch if isinstance(tensor, torch.Tensor) else impl).float32)
    return dtype, tuple(tensor.shape), tensor.numpy().tobytes()


def agree(draw: Callable[[Any], list], seed: int = 0) -> None:
    """Assert that `draw` has the same results on both namespaces, and leaves the same state."""
    made = {}
    for namespace in (torch, impl):
        namespace.manual_seed(seed)
        made[namespace] = [*draw(namespace), namespace.get_rng_state()]
    for i, (expected, got) in enumerate(zip(made[torch], made[impl], strict=True)):
        assert bits(got) == bits(expected), f"draw {i} of seed {seed}"


@vectorised
@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_starts_the_same_stream(seed):
    agree(
        lambda n: [
            n.rand(3),
            n.randn(5),
            n.randn(40),
            n.rand(7, dtype=n.float64),
            n.randint(0, 100, (9,)),
            n.randperm(12),
            n.bernoulli(n.full((6,), 0.3)),
        ],
        seed,
    )


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_a_seed_beyond_64_bits_is_refused(seed):
    with pytest.raises(Exception) as theirs:
        torch.manual_seed(seed)
    with pytest.raises(type(theirs.value)) as ours:
        impl.manual_seed(seed)
    assert str(ours.value) == str(theirs.value)


def test_equal_seeds_repeat_and_others_do_not():
    """On impl alone: the comparisons of this module are not comparisons of constants."""
    impl.manual_seed(3)
    first = impl.rand(20).tolist()
    assert impl.rand(20).tolist() != first
    impl.manual_seed(3)
    assert impl.rand(20).tolist() == first
    impl.manual_seed(4)
    assert impl.rand(20).tolist() != first
    assert impl.initial_seed() == 4


# -- distributions ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 623, 624, 625, 2000])
def test_uniform_numbers(dtype, size):
    agree(lambda n: [n.rand(size, dtype=getattr(n, dtype)) for _ in range(2)])


@vectorised
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 1000, 1023])
def test_normal_numbers(dtype, size):
    """Below 16 numbers are drawn in pairs, one of which may be kept; from 16 on in blocks."""
    agree(lambda n: [n.randn(size, dtype=getattr(n, dtype)) for _ in range(3)], seed=size)


@vectorised
def test_normal_numbers_in_several_dimensions_and_none():
    agree(lambda n: [n.randn(()), n.randn(3, 5, 7), n.randn(2, 0, 3), n.randn((4, 4)), n.randn(1)])


@pytest.mark.parametrize(
    "low, high",
    [(0, 1), (0, 2), (-5, 5), (0, 2**28 - 1), (0, 2**28), (-(2**40), 2**40), (0, 2**62), (7, 8)],
)
def test_integers(low, high):
    agree(lambda n: [n.randint(low, high, (50,)), n.randint(low, high, (3, 3))])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_integers_of_other_dtypes(dtype):
    agree(lambda n: [n.randint(0, 100, (20,), dtype=getattr(n, dtype))])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 1000])
def test_permutations(size):
    agree(lambda n: [n.randperm(size), n.randperm(size)])


def test_zeros_and_ones():
    agree(
        lambda n: [
            n.bernoulli(n.linspace(0, 1, 50)),
            n.bernoulli(n.linspace(0, 1, 50, dtype=n.float64)),
            n.bernoulli(n.zeros(30), 0.25),
            n.zeros(30).bernoulli_(0.75),
            n.zeros(30, dtype=n.int64).bernoulli_(),
            n.zeros(30).bernoulli_(n.linspace(0, 1, 30)),
        ]
    )


@vectorised
def test_fills():
    agree(
        lambda n: [
            n.zeros(30).uniform_(-2, 3),
            n.zeros(30, dtype=n.float64).uniform_(0.1, 0.2),
            n.zeros(30).normal_(1.5, 0.1),
            n.zeros(5).normal_(-1, 3),
            n.zeros(30, dtype=n.float64).normal_(2, 0.5),
            n.zeros(30, dtype=n.int32).random_(),
            n.zeros(30, dtype=n.int64).random_(),
            n.zeros(30, dtype=n.bool).random_(),
            n.zeros(30).random_(),
            n.zeros(30).random_(10),
            n.zeros(30, dtype=n.uint8).random_(3, 20),
            n.zeros(30, dtype=n.float64).exponential_(),
        ]
    )


@vectorised
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [16384, 50000, 50021])
def test_many_numbers_are_drawn_in_blocks(size, dtype):
    """The blocks of memory in which impl draws show nowhere; a last one may be short or odd."""

    def draw(n) -> list:
        x = n.zeros(size, dtype=getattr(n, dtype))
        return [
            x.clone().uniform_(-0.3, 0.7),
            x.clone().normal_(0.1, 1.3),
            x.clone().normal_(),
            x.clone().log_normal_(0.2, 0.5),
            x.clone().exponential_(1.5),
            x.clone().cauchy_(0.3, 1.7),
            x.clone().geometric_(0.3),
            x.clone().random_(),
            x.clone().bernoulli_(0.4),
            n.zeros(2, size // 2, dtype=x.dtype).t().uniform_(),
            n.zeros(size, 2, dtype=x.dtype)[:, 1].log_normal_(),
            n.randint(-5, 2**40, (size,)),
            n.randperm(size),
        ]

    agree(draw, seed=size)


@vectorised
def test_like_and_normal():
    agree(
        lambda n: [
            n.rand_like(n.zeros(3, 4)),
            n.randn_like(n.zeros(5, 4, dtype=n.float64)),
            n.randint_like(n.zeros(6), 9),
            n.normal(0.0, 2.0, (20,)),
        ]
    )


@vectorised
@pytest.mark.parametrize("size", [(4, 3), (8, 5), (3, 2, 4)])
def test_numbers_are_drawn_in_the_order_of_memory(size):
    """Of a transposed tensor the first column is drawn first; a strided one is drawn singly."""
    agree(
        lambda n: [
            n.zeros(*size).transpose(0, 1).uniform_(),
            n.zeros(*size).transpose(0, 1).normal_(),
            n.zeros(2, *size)[:, 1].uniform_(),
            n.zeros(2, *size)[:, 1].normal_(),
            n.zeros(2, *size)[:, 1].random_(100),
            n.rand_like(n.zeros(*size).transpose(0, 1)),
        ]
    )


# -- interleaving and state -------------------------------------------------------------------

SIZES = st.integers(0, 40)
DRAWS = st.one_of(
    st.tuples(st.sampled_from(["rand", "randn"]), st.sampled_from(["float32", "float64"]), SIZES),
    st.tuples(st.just("randint"), st.integers(1, 2**40), SIZES),
    st.tuples(st.just("randperm"), st.none(), SIZES),
    st.tuples(st.just("bernoulli"), st.floats(0, 1), SIZES),
    st.tuples(st.sampled_from(["save", "restore"]), st.none(), st.none()),
    st.tuples(st.just("seed"), st.integers(-(2**63), 2**64 - 1), st.none()),
)


def perform(namespace, steps) -> list:
    """The results of a sequence of draws; `restore` returns to the state last `save`d."""
    made, state = [], namespace.get_rng_state()
    for kind, argument, size in steps:
        if kind == "save":
            state = namespace.get_rng_state()
        elif kind == "restore":
            namespace.set_rng_state(state)
        elif kind == "seed":
            namespace.manual_seed(argument)
        elif kind == "randint":
            made.append(namespace.randint(argument, (size,)))
        elif kind == "randperm":
            made.append(namespace.randperm(size))
        elif kind == "bernoulli":
            made.append(namespace.zeros(size).bernoulli_(argument))
        else:
            made.append(getattr(namespace, kind)(size, dtype=getattr(namespace, argument)))
    return made


@vectorised
@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.lists(DRAWS, max_size=12))
def test_any_sequence_of_draws(steps):
    """A number kept from one draw is the first of the next: the state is compared too."""
    agree(lambda n: perform(n, steps), seed=7)


@pytest.mark.parametrize("drawn", [0, 1, 2, 3, 311, 312, 623, 624, 625])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_a_state_is_restored_and_is_torchs(drawn, normals):
    torch.manual_seed(11)
    impl.manual_seed(11)
    for namespace in (torch, impl):
        namespace.rand(drawn)
        namespace.randn(normals)
    state = impl.get_rng_state()
    assert bits(state) == bits(torch.get_rng_state())
    following = [impl.randn(3).tolist(), impl.rand(700).tolist()]
    impl.manual_seed(0)
    # A state from torch is accepted too.
    impl.set_rng_state(impl.tensor(torch.get_rng_state().tolist(), dtype=impl.uint8))
    assert bits(impl.get_rng_state()) == bits(state)
    assert [impl.randn(3).tolist(), impl.rand(700).tolist()] == following
    assert [torch.randn(3).tolist(), torch.rand(700).tolist()] == following
    assert impl.initial_seed() == torch.initial_seed() == 11


@pytest.mark.parametrize(
    "wrong",
    {
        "a list": lambda n: [1],
        "floats": lambda n: n.zeros(5056),
        "too short": lambda n: n.zeros(10, dtype=n.uint8),
        "too long": lambda n: n.zeros(5057, dtype=n.uint8),
        "strided": lambda n: n.zeros(5056, 2, dtype=n.uint8)[:, 0],
    }.items(),
    ids=lambda item: item[0],
)
def test_what_is_no_state_is_refused(wrong):
    errors = []
    for namespace in (torch, impl):
        before = bits(namespace.get_rng_state())
        with pytest.raises((TypeError, RuntimeError)) as caught:
            namespace.set_rng_state(wrong[1](namespace))
        errors.append((caught.type, str(caught.value)))
        assert bits(namespace.get_rng_state()) == before
    assert errors[0] == errors[1]


def test_a_generator_has_a_stream_of_its_own():
    made = {}
    for namespace in (torch, impl):
        namespace.manual_seed(1)
        own = namespace.Generator()
        fresh = own.initial_seed()
        own.manual_seed(2)
        first = namespace.rand(4, generator=own).tolist()
        shared = namespace.rand(4).tolist()
        second = namespace.randint(0, 50, (5,), generator=own).tolist()
        saved = own.get_state()
        third = namespace.randperm(6, generator=own).tolist()
        own.set_state(saved)
        assert namespace.randperm(6, generator=own).tolist() == third
        made[namespace] = (fresh, first, shared, second, third, own.initial_seed())
    assert made[impl] == made[torch]
    assert made[impl][1] != made[impl][2]


def test_seed_draws_another_seed_each_time():
    assert len({impl.seed() for _ in range(20)}) > 1
    chosen = impl.seed()
    assert impl.initial_seed() == chosen
    first = impl.rand(3).tolist()
    impl.manual_seed(chosen)
    assert impl.rand(3).tolist() == first


def test_the_values_that_the_documentation_gives_for_ports():
    text = (Path(__file__).parent.parent / "docs" / "porting.md").read_text(encoding="utf-8")
    table = text.partition("after `torch.manual_seed(0)`")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"\| `(torch\.rand\(3.*?\))` \| (.*?) \|", table))
    assert len(rows) == 2
    for call, numbers in rows.items():
        impl.manual_seed(0)
        drawn = eval(call, {"torch": impl}).tolist()
        assert drawn == [float(number) for number in numbers.split(", ")], call
