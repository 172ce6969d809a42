"""impl's storages and layouts against torch: strides, contiguity, identity, versions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import impl
from impl.core.storage import Storage
from impl.core.strides import (
    contiguous_strides,
    empty_strided,
    is_contiguous,
    is_dense,
    strided,
    strides_of,
)
from impl.core.tensor_iterator import elementwise_strides

BOTH = (torch, impl)

# Every layout of up to three dimensions, with small sizes and strides that can collide.
LAYOUTS = [
    (shape, strides)
    for ndim, sizes, steps in ((0, (), ()), (1, (0, 1, 2, 3), (0, 1, 2)), (2, range(4), range(5)))
    for shape in itertools.product(sizes, repeat=ndim)
    for strides in itertools.product(steps, repeat=ndim)
] + [
    (shape, strides)
    for shape in itertools.product((1, 2, 3), repeat=3)
    for strides in itertools.product((0, 1, 2, 3, 6, 9), repeat=3)
]


def same_storage(a, b) -> bool:
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


# -- layouts ----------------------------------------------------------------------------------


def test_row_major_strides_are_torchs():
    for shape in {shape for shape, _ in LAYOUTS} | {(2, 0, 3), (0, 0, 2), (5, 1, 0, 4)}:
        assert contiguous_strides(shape) == torch.empty(shape).stride()
        assert impl.empty(shape).stride() == torch.empty(shape).stride()


def test_contiguity_and_density_are_torchs():
    seen = set()
    for shape, strides in LAYOUTS:
        theirs = torch.empty_strided(shape, strides)
        answers = (theirs.is_contiguous(), torch.ops.aten.is_non_overlapping_and_dense(theirs))
        assert (is_contiguous(shape, strides), is_dense(shape, strides)) == answers, (
            shape,
            strides,
        )
        seen.add(answers)
    assert seen == {(True, True), (False, True), (False, False)}


@st.composite
def operands(draw) -> tuple[tuple[int, ...], list]:
    """Layouts of two or three operands that broadcast, and the shape they broadcast to."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple))
    step = st.sampled_from([0, 1, 1, 2, 3, 4, 6, 12])
    made = []
    for _ in range(draw(st.integers(1, 3))):
        kept = draw(st.integers(0, len(shape)))
        sizes = tuple(draw(st.sampled_from([n, n, 1])) for n in shape[len(shape) - kept :])
        how = draw(st.sampled_from(["any", "row-major", "permuted"]))
        if how == "any":
            strides = tuple(draw(step) for _ in sizes)
        elif how == "row-major":
            strides = contiguous_strides(sizes)
        else:
            order = draw(st.permutations(range(len(sizes))))
            inner = contiguous_strides([sizes[d] for d in order])
            strides = tuple(inner[order.index(d)] for d in range(len(sizes)))
        made.append((sizes, strides))
    return tuple(np.broadcast_shapes(*(sizes for sizes, _ in made))), made


@settings(derandomize=True, max_examples=300, deadline=None)
@given(operands())
def test_an_elementwise_result_has_torchs_strides(drawn):
    shape, layouts = drawn
    tensors = [torch.empty_strided(*layout) for layout in layouts]
    result = [torch.exp, torch.add, torch.addcmul][len(tensors) - 1](*tensors)
    assert tuple(result.shape) == shape
    got = elementwise_strides(shape, layouts)
    assert got != contiguous_strides(shape), "row-major is spelled None"
    # For images torch has a second layout, in which the stride of a dimension of size one matters.
    matter = [d for d, size in enumerate(shape) if size > 1 or len(shape) != 4]
    strides = got or contiguous_strides(shape)
    assert [strides[d] for d in matter] == [result.stride(d) for d in matter]


@settings(derandomize=True, max_examples=200, deadline=None)
@given(operands(), st.sampled_from(["neg", "clone", "double", "contiguous", "zeros_like"]))
def test_tensors_keep_their_layouts_as_torchs_do(drawn, name):
    layout = drawn[1][0]
    made = []
    for n in BOTH:
        x = n.ones(200).as_strided(*layout).detach()
        y = n.zeros_like(x) if name == "zeros_like" else getattr(x, name)()
        made.append((y.stride(), y.is_contiguous(), y.tolist(), y is x))
    assert made[0] == made[1]


def significant(tensor) -> list[int]:
    """The strides that matter: those of dimensions with more than one element."""
    return [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1]


@settings(derandomize=True, max_examples=200, deadline=None)
@given(operands())
def test_gradients_have_the_layout_torch_gives_them(drawn):
    layout = drawn[1][0]
    assume(is_dense(*layout) or 0 not in layout[1])
    made = []
    for n in BOTH:
        x = n.ones(200).as_strided(*layout).detach().requires_grad_()
        (x * x).sum().backward()
        first = significant(x.grad)
        (x * 2).sum().backward()
        made.append((first, significant(x.grad), x.grad._version, x.grad.tolist()))
    assert made[0] == made[1]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(operands())
def test_memory_is_laid_out_as_asked(drawn):
    for shape, strides in drawn[1]:
        if not is_dense(shape, strides):
            continue
        made = empty_strided(shape, strides, np.dtype(np.int16))
        assert made.shape == shape
        made[...] = np.arange(made.size).reshape(shape)  # no two elements overlap
        assert made.reshape(-1).tolist() == list(range(made.size))
        if made.size:
            matter = [d for d, size in enumerate(shape) if size > 1]
            assert [made.strides[d] for d in matter] == [2 * strides[d] for d in matter]
            found = strides_of(made) or contiguous_strides(shape)
            assert [found[d] for d in matter] == [strides[d] for d in matter]


def test_a_window_of_memory_is_a_view():
    flat = np.arange(12.0)
    window = strided(flat, (2, 3), (1, 4), 1)
    assert window.tolist() == [[1, 5, 9], [2, 6, 10]]
    window[0, 1] = -1
    assert flat[5] == -1
    assert strided(flat, (0, 3), (3, 1), 40).shape == (0, 3)  # out of bounds, but without elements
    with pytest.raises(ValueError):
        strided(flat, (4,), (4,), 0)


# -- identity and versions --------------------------------------------------------------------


def aliases(n) -> dict[str, Any]:
    x = n.arange(6.0)
    return {
        "tensor": x,
        "detach": x.detach(),
        "data": x.data,
        "slice": x[1:],
        "view": x.view(2, 3),
        "transposed": x.view(2, 3).t(),
        "detached view": x[2:].detach(),
        "data of a view": x[2:].data,
        "clone": x.clone(),
        "sum": x + 0,
    }


def state(values: dict[str, Any]) -> dict[str, tuple]:
    return {
        name: (t._version, same_storage(t, values["tensor"]), t.storage_offset(), t.tolist())
        for name, t in values.items()
    }


@pytest.mark.parametrize("written", aliases(impl))
def test_a_write_is_seen_and_counted_where_torch_has_it(written):
    made = []
    for n in BOTH:
        values = aliases(n)
        before = state(values)
        values[written].add_(1)
        after = state(values)
        values["tensor"].mul_(2)
        made.append((before, after, state(values)))
    assert made[0] == made[1]
    assert made[1][0] != made[1][1]


def test_data_shares_memory_and_not_the_counter():
    """A case of the table above in explicit steps."""
    x = impl.arange(3.0)
    detached, data = x.detach(), x.data
    data.add_(1)
    assert (x._version, detached._version, data._version) == (0, 0, 1)
    x.add_(1)
    assert (x._version, detached._version, data._version) == (1, 1, 1)
    assert x.tolist() == detached.tolist() == data.tolist() == [2.0, 3.0, 4.0]
    assert x.data_ptr() == detached.data_ptr() == data.data_ptr()


def test_assigning_data_moves_the_memory_and_not_the_counter():
    made = []
    for n in BOTH:
        x, other = n.ones(3), n.zeros(2, 2)
        detached = x.detach()
        x.add_(1)
        x.data = other
        log = [x._version, other._version, same_storage(x, other), same_storage(x, detached)]
        x.add_(1)
        log += [x._version, other._version, detached._version, other.tolist(), detached.tolist()]
        other.add_(1)
        log += [x._version, other._version, x.tolist(), tuple(x.shape), x.stride()]
        made.append(log)
    assert made[0] == made[1]


def test_an_array_is_shared_and_each_tensor_over_it_counts_for_itself():
    made = []
    for n in BOTH:
        array = np.arange(4.0)
        a, b = n.from_numpy(array), n.from_numpy(array)
        array[0] = 9
        a[1] = 7
        a.mul_(1)
        log = [a.tolist(), b.tolist(), array.tolist(), a._version, b._version]
        log += [same_storage(a, b), a.data_ptr() == b.data_ptr()]
        part = n.from_numpy(array[1::2])
        part.zero_()
        log += [a.tolist(), part.stride(), part.tolist()]
        made.append(log)
    assert made[0] == made[1]


def test_numpy_shares_the_memory_and_its_writes_are_not_counted():
    made = []
    for n in BOTH:
        x = n.arange(6.0).view(2, 3)
        array = x.t().numpy()
        array[0, 1] = 50
        x[1, 2] = 60
        made.append((x.tolist(), array.tolist(), x._version, array.strides))
        assert np.shares_memory(array, x.numpy())
    assert made[0] == made[1]


# -- 0-dim tensors ----------------------------------------------------------------------------


def test_a_number_stays_a_scalar_until_somebody_shares_it():
    """Arithmetic on NumPy's scalars is many times cheaper than on arrays without dimensions."""
    y = impl.tensor(2.0) * 3
    assert isinstance(y._raw, np.generic)
    assert isinstance((y + y)._raw, np.generic)
    assert isinstance(y._raw, np.generic)
    detached = y.detach()
    assert isinstance(y._raw, np.ndarray) and isinstance(detached._raw, np.ndarray)
    assert np.shares_memory(y._raw, detached._raw)


SHARING = {
    "detach": lambda n, y: y.detach(),
    "data": lambda n, y: y.data,
    "view": lambda n, y: y.view(1),
    "expand": lambda n, y: y.expand(1),
    "alias": lambda n, y: y[...],
    "numpy": lambda n, y: n.from_numpy(y.detach().numpy()),
}


@pytest.mark.parametrize("first", SHARING)
@pytest.mark.parametrize("second", SHARING)
def test_a_shared_number_is_one_memory(first, second):
    made = []
    for n in BOTH:
        y = n.tensor(2.0) * 3
        a, b = SHARING[first](n, y), SHARING[second](n, y)
        log: list = []
        for target in (a, y, b):
            target.add_(1)
            log += [(float(t.sum()), t._version) for t in (y, a, b)]
        log += [same_storage(y, a), same_storage(y, b), same_storage(a, b)]
        log += [y.data_ptr() == a.data_ptr() == b.data_ptr()]
        made.append(log)
    assert made[0] == made[1]


@pytest.mark.parametrize("alias", ["detach", "data"])
def test_a_saved_number_is_the_memory_that_is_shared_later(alias):
    """exp saves its result, a scalar that becomes an array afterwards."""
    made = []
    for n in BOTH:
        x = n.tensor(2.0, requires_grad=True)
        y = x.exp()
        other = getattr(y, alias)() if alias == "detach" else y.data
        other.zero_()
        try:
            y.backward()
            made.append(x.grad.item())
        except RuntimeError as error:
            made.append(str(error))
    assert made[0] == made[1]
    assert (made[1] == 0) is (alias == "data")


# -- the storage itself -----------------------------------------------------------------------


def test_a_storage_is_one_memory_in_address_order():
    buffer = np.arange(6.0).reshape(2, 3).T
    storage = Storage(buffer)
    assert storage.flat.tolist() == [0, 1, 2, 3, 4, 5]
    assert storage.nbytes() == 48
    sharing = storage.sharing()
    storage.version += 1
    assert (storage.version, sharing.version) == (1, 0)
    assert storage._cdata == sharing._cdata != Storage(buffer.copy())._cdata


def test_a_storage_that_grows_keeps_its_identity_and_contents():
    made = []
    for n in BOTH:
        x = n.arange(3.0)
        before = x.untyped_storage()._cdata
        other = x.detach()
        x.resize_(5)
        data = x.data
        made.append(
            [
                x.untyped_storage()._cdata == before,
                same_storage(x, other),
                same_storage(x, data),
                x.untyped_storage().nbytes(),
                x[:3].tolist(),
                x._version,
                tuple(other.shape),
            ]
        )
    assert made[0] == made[1]


# -- printing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"threshold": 10, "edgeitems": 2},
        {"linewidth": 40},
        {"profile": "short"},
        {"profile": "full", "threshold": 3},
        {"profile": "default", "precision": 6},
        {"sci_mode": True},
        {"sci_mode": False},
    ],
    ids=str,
)
def test_tensors_print_as_was_chosen(options: dict[str, Any]) -> None:
    printed = []
    for n in (torch, impl):
        n.set_printoptions(**options)
        values = [
            n.tensor([1.23456, 1e6]),
            n.tensor([1e-7, 3.0]),
            n.arange(30.0).reshape(5, 6) / 7,
            n.arange(1200).reshape(30, 40) if "full" not in str(options) else n.zeros(2),
            n.tensor([1 + 2.5j, 3e6]),
            n.tensor([1e10, float("nan")]),
        ]
        printed.append([repr(value) for value in values])
        n.set_printoptions(profile="default")
    assert printed[0] == printed[1]
