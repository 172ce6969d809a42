"""Lazily conjugated tensors of impl: lifetimes of their gradients, and their classes."""

import gc
import weakref

import numpy as np
import pytest

import impl as torch
from impl.tensor import lazy_conj


def test_no_origin_outlives_the_gradient_made_from_it():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z.conj() * 2).real.sum().backward()
    torch.autograd.grad(z.conj().reshape(2, 1).conj().mT.conj(), z, torch.tensor([[1j, 2j]]))
    z.grad = None
    gc.collect()
    assert lazy_conj.SOURCES == {}


def test_a_taken_over_gradient_holds_its_memory_and_no_copy():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    seed = torch.tensor([1j, 2j])
    z.conj().backward(seed)
    assert np.shares_memory(z.grad._array(), seed._array())
    assert lazy_conj.SOURCES == {}


def test_a_conjugated_view_does_not_outlive_its_last_name():
    base = torch.tensor([1j])
    view = base.conj()
    gone = weakref.ref(view)
    del view
    assert gone() is None


@pytest.mark.parametrize("conjugates", [True, False])
def test_a_view_of_a_remembered_gradient_knows_its_place_in_the_origin(conjugates):
    origin = np.arange(6, dtype=complex).reshape(2, 3) + 1j
    made = (lazy_conj.conjugated if conjugates else lazy_conj.negated)(origin.T)
    part = made[1:, ::-1]
    source, conjugated = lazy_conj.source_of(part)
    assert conjugated is conjugates
    assert np.shares_memory(source, origin)
    assert (source == origin.T[1:, ::-1]).all()
    assert lazy_conj.source_of(part * 2) is None


def test_bits_are_told_apart_from_the_class_users_see():
    view = torch.tensor([1j]).conj()
    assert isinstance(view, torch.Tensor)
    assert type(view).__name__ == "Tensor"
    assert lazy_conj.conj_neg_bits(view) == (True, False)
    assert lazy_conj.conj_neg_bits(view.imag) == (False, True)
    assert lazy_conj.conj_neg_bits(view._neg_view()) == (True, True)
    assert lazy_conj.conj_neg_bits(view * 1) == (False, False)


def test_what_numpy_has_no_type_for_is_refused():
    half = torch.ones(2, dtype=torch.float16)
    for call in (lambda: half * 1j, lambda: torch.complex(half, half)):
        with pytest.raises(NotImplementedError, match="complex32"):
            call()
    with pytest.raises(NotImplementedError, match="Parameter"):
        torch.nn.Parameter(torch.tensor([1j]).conj())
