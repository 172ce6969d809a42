"""impl's view operators: one function on geometries serves tensors, arrays and histories."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_operators import leaf, scratch

import impl
from impl.core.registry import FUNCTIONS, array_ops
from impl.dispatch.definition import formula_operation
from impl.dispatch.view_operator import view
from impl.tensor.geometry import Geometry

__all__ = ["scratch"]


def every_second(**settings):
    @view(**settings)
    def every_second(self: Geometry, start=0) -> Geometry:
        """Every second element of a vector."""
        (size,), (stride,) = self.shape, self.strides
        count = max((size - start + 1) // 2, 0)
        return Geometry((count,), (2 * stride,), self.offset + start * stride)

    return every_second


def test_a_geometry_makes_the_view_of_a_tensor_and_of_an_array():
    every_second()
    x = impl.arange(6.0)
    v = x.every_second(1)
    assert (v.tolist(), v.stride(), v.storage_offset()) == ([1.0, 3.0, 5.0], (2,), 1)
    assert v._is_view() and v._base is x
    v.every_second().zero_()
    assert x.tolist() == [0.0, 0.0, 2.0, 3.0, 4.0, 0.0] and x._version == v._version == 1
    array = np.arange(6.0)
    part = array_ops.every_second(array, 1)
    assert part.tolist() == [1.0, 3.0, 5.0] and np.shares_memory(part, array)
    assert FUNCTIONS["every_second"].__doc__ == "Every second element of a vector."


def test_a_view_differentiates_by_its_formula_and_once_written_by_its_geometry():
    every_second().gradient(
        self=lambda F, grad, self_shape, start: F.tripled_spread(grad, self_shape, start)
    )

    @formula_operation
    def tripled_spread(grad, shape, start):
        whole = np.zeros(shape, grad.dtype)
        whole[start::2] = 3 * grad  # deliberately wrong, to differ from as_strided's
        return whole

    x = leaf()
    v = x.every_second(1)
    assert v.grad_fn.name() == "EverySecondBackward0"
    v.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0, 0.0]
    y = x * 1
    v = y.every_second(1)
    y.mul_(5)
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert v.grad_fn is v.grad_fn  # regenerated once, then cached
    x.grad = None
    v.sum().backward()
    assert x.grad.tolist() == [0.0, 5.0, 0.0]


def test_several_views_are_one_node_and_must_not_be_written():
    @view(node="OddEvenBackward0", multiple=True)
    def odd_even(self: Geometry) -> list[Geometry]:
        (size,), (stride,) = self.shape, self.strides
        return [
            Geometry(((size + 1 - s) // 2,), (2 * stride,), self.offset + s * stride)
            for s in (0, 1)
        ]

    odd_even.gradient(self=lambda F, grads, self_shape: np.full(self_shape, 2, np.float32))
    x = leaf()
    even, odd = x.odd_even()
    assert even.grad_fn is odd.grad_fn and (even.output_nr, odd.output_nr) == (0, 1)
    assert (even.tolist(), odd.tolist()) == ([1.0, 3.0], [2.0])
    with pytest.raises(RuntimeError, match="Output 1 of OddEven is a view and is being modified"):
        (x * 1).odd_even()[1].mul_(2)
    odd.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_view_in_place_changes_the_geometry_of_the_tensor_itself():
    every_second(inplace=True, inplace_node="EverySecondBackward1").gradient(
        self=lambda F, grad, self_shape, start: np.repeat(grad, 2)[: self_shape[0]]
    )
    x = impl.arange(5.0)
    alias_of = x.detach()
    assert x.every_second_() is x
    assert (x.tolist(), x._version, x._is_view()) == ([0.0, 2.0, 4.0], 1, False)
    assert alias_of.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    y = leaf() * 1
    y.every_second_()
    assert y.grad_fn.name() == "EverySecondBackward1"
    assert "every_second_" not in FUNCTIONS


GEOMETRIES = {
    "transpose": lambda n, x: n.transpose(x, 0, -1),
    "permute": lambda n, x: n.permute(x, tuple(reversed(range(x.ndim)))),
    "unsqueeze": lambda n, x: n.unsqueeze(x, -1),
    "select": lambda n, x: n.select(x, 0, 1),
    "narrow": lambda n, x: n.narrow(x, -1, 1, 1),
    "diagonal": lambda n, x: n.diagonal(x, 0, 0, 1),
    "unfold": lambda n, x: x.unfold(0, 2, 1),
    "expand": lambda n, x: x.expand(3, *x.shape),
    "squeeze": lambda n, x: n.squeeze(x[:1], 0),
    "slice": lambda n, x: x[1:, ::2],
    "view_as_strided": lambda n, x: n.as_strided(x, (2, 2), (1, 2), 1),
}


@pytest.mark.parametrize("name", GEOMETRIES)
@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(3, 4), min_size=2, max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_a_view_of_any_tensor_is_torchs(name, shape, order):
    """Of permuted tensors as well: shape, strides, offset and elements."""
    dims = list(range(len(shape)))
    order.shuffle(dims)
    made = []
    for n in (torch, impl):
        base = n.arange(float(np.prod(shape))).view(*shape)
        v = GEOMETRIES[name](n, base.permute(*dims))
        made.append((tuple(v.shape), v.stride(), v.storage_offset(), v.tolist()))
        assert v._base is base._base
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "call",
    [
        "expand()",
        "view()",
        "reshape()",
        "repeat()",
        "tile()",
        "flip()",
        "permute()",
        "resize_()",
        "sum_to_size()",
        "size(2)",
        "size(-3)",
        "size(True)",
        "size(1.0)",
        "stride(5)",
        "sum().size(0)",
        "sum().stride(-1)",
        "sum().unbind()",
        "sum().roll(1,0)",
    ],
)
def test_sizes_and_dimensions_that_are_not_there_are_refused_in_torchs_words(call):
    said = []
    for n in (torch, impl):
        with pytest.raises((TypeError, IndexError)) as refused:
            eval(f"x.{call}", {"x": n.ones(2, 3)})
        said.append((refused.type, str(refused.value)))
    assert said[0] == said[1]
