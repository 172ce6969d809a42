"""Sparse COO tensors of impl: against torch, and their refusal by all other operators."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import impl
from impl.core.sparse_array import SparseArray

torch = pytest.importorskip("torch")
BOTH = (torch, impl)


def parts(tensor: Any) -> tuple:
    """A tensor as plain data: its layout and the stored parts."""
    if not tensor.is_sparse:
        return "strided", tensor.tolist()
    return tensor._indices().tolist(), tensor._values().tolist(), tensor.is_coalesced()


def made(library: Any, indices, values, size, **options) -> Any:
    places = library.tensor(indices, dtype=library.int64).reshape(len(indices), -1)
    return library.sparse_coo_tensor(places, values, size, check_invariants=False, **options)


LISTS = ([1, 3, 1], [0, 3], [3, 2, 1, 0], [2], [])


@pytest.mark.parametrize(("first", "second"), [*itertools.product(LISTS, LISTS)])
@pytest.mark.parametrize("expanded", [False, True])
def test_sums_have_the_elements_of_torch_in_its_order(first, second, expanded):
    """Merged where values lie row by row, one list after the other where not."""
    found = []
    for library in BOTH:
        tensors = []
        for places in (first, second):
            values = library.arange(2.0 * len(places)).reshape(len(places), 2)
            if expanded:
                values = library.tensor(3.0).expand(len(places), 2)
            tensors.append(made(library, [places], values, (4, 2)))
        a, b = tensors
        found.append([parts(a + b), parts((a + b).coalesce()), parts(a.add(b, alpha=2))])
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_conversions_are_torchs(shape, dtype):
    values = np.arange(np.prod(shape)).reshape(shape) % 3
    found = []
    for library in BOTH:
        dense = library.tensor(values.tolist(), dtype=getattr(library, dtype))
        every = [dense.to_sparse(), *(dense.to_sparse(n) for n in range(1, len(shape) + 1))]
        rows = [(parts(s), s.to_dense().tolist(), s.sparse_dim(), s.dense_dim()) for s in every]
        found.append([*rows, [repr(s) for s in every]])
    assert found[0] == found[1]


CALLS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda library, a, b: library.sparse.mm(a, b),
    lambda library, a, b: library.sparse.addmm(library.ones(2, 2), a, b, beta=0.5, alpha=2.0),
    lambda library, a, b: a @ b,
    lambda library, a, b: library.mv(a, b[:, 0]),
    lambda library, a, b: library.sparse.sum(a, 0),
    lambda library, a, b: library.sparse.sum(a, -1),
    lambda library, a, b: library.sparse.softmax(a, 1),
    lambda library, a, b: library.sparse.log_softmax(a, 0),
    lambda library, a, b: a.t(),
    lambda library, a, b: a.transpose(0, 1) * 2,
    lambda library, a, b: library.ones(2, 3) + a,
)


@pytest.mark.parametrize("call", CALLS)
def test_products_and_reductions_are_torchs(call):
    """The results, and the gradients of both operands."""
    found: list[list] = []
    for library in BOTH:
        a = library.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 4.0]]).to_sparse().requires_grad_()
        b = library.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        y = call(library, a, b)
        dense = y.to_dense()
        (dense * library.arange(float(dense.numel())).reshape(dense.shape)).sum().backward()
        grads = [None if t.grad is None else t.grad.to_dense().tolist() for t in (a, b)]
        found.append([dense.tolist(), *grads])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_an_operator_without_a_sparse_kernel_is_refused():
    """By the value itself, whatever it would do with it; never computed on something else."""
    s = impl.tensor([0.0, 2.0]).to_sparse()
    for call in (
        lambda: s.exp(),
        lambda: s > 0,
        lambda: s.cos(),
        lambda: impl.ones_like(s),
        lambda: impl.rand_like(s),
        lambda: impl.equal(s, s),
        lambda: impl.maximum(s, s),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        np.sum(s._raw)
    with pytest.raises(NotImplementedError):
        np.exp(s._raw)
    with pytest.raises(AttributeError):
        s._raw.__index__()


def test_a_sparse_array_adds_up_repeated_indices():
    raw = SparseArray(np.array([[2, 0, 2]]), np.array([1.0, 2.0, 4.0]), (3,))
    assert raw.coalesce().indices.tolist() == [[0, 2]]
    assert raw.coalesce().values.tolist() == [2, 5]
    assert raw.to_dense().tolist() == [2, 0, 5]
    assert (raw + np.ones(3)).tolist() == (np.ones(3) + raw).tolist() == [3, 1, 6]


def test_gradients_in_several_uses_and_passes_are_torchs():
    """Embedding, bag and gather of one table, dense uses, and several passes."""
    found = []
    for library in BOTH:
        f = library.nn.functional
        w = library.arange(8.0).reshape(4, 2).requires_grad_()
        rows = []
        for step in range(4):
            i = library.tensor([step % 4, 1, step % 4])
            y = (f.embedding(i, w, sparse=True) ** 2).sum()
            y = y + f.embedding_bag(i, w, library.tensor([0, 1]), mode="sum", sparse=True).sum()
            if step == 2:
                y = y + (w * 3).sum()
            y.backward()
            rows.append((w.grad.is_sparse, w.grad.to_dense().tolist(), w.grad._version))
        found.append(rows)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
@pytest.mark.parametrize("maximize", [False, True])
def test_optimisers_step_as_torchs(name, maximize):
    found = []
    for library in BOTH:
        w = library.nn.Parameter(library.arange(8.0).reshape(4, 2))
        optimiser = getattr(library.optim, name)([w], lr=0.1, maximize=maximize)
        for step in range(3):
            optimiser.zero_grad()
            i = library.tensor([step, 3, step])
            (library.nn.functional.embedding(i, w, sparse=True) ** 2).sum().backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                optimiser.step()
        found.append(w.detach().tolist())
    np.testing.assert_allclose(*found, rtol=1e-6)


# Of `s`, uncoalesced, `t`, `h` with a dense dimension and a dense `d`.
SHAPES = """
torch.cat([s, t])
torch.cat([s, t], -1)
torch.cat([s, t.double()])
torch.cat([h, h], 1)
torch.cat([s, h])
torch.cat([s, d])
torch.cat([s, torch.sparse_coo_tensor(size=(3, 4))])
torch.cat([s, s.clone().requires_grad_()]).grad_fn.name()
torch.stack([s, t], 1)
torch.stack([h, h], 2)
s.unsqueeze(0)
h.unsqueeze(-1)
s.unsqueeze(3)
s[1]
s[1, 0]
h[1]
h.select(1, 0)
s.select(0, 5)
[*s][1]
s.index_select(1, torch.tensor([2, 0, 2]))
h.index_select(1, torch.tensor([0, 0]))
s.index_select(0, torch.tensor([-1]))
s.index_select(0, torch.tensor([5]))
s.narrow_copy(0, 1, 1)
s.sum(0)
s.sum(0, keepdim=True)
s.sum((0, 1))
h.sum(0)
torch.sparse.sum(s, dtype=torch.double)
s.norm()
s.norm(1)
torch.linalg.vector_norm(h)
torch.norm(s, dim=0)
torch.nn.utils.get_total_norm([s, s])
s.relu()
s.round()
s.isnan()
s**2
s**0
s // 2
s @ t.t()
d.t() @ s
torch.addmm(torch.ones(2), s, d.t(), beta=2, alpha=3)
torch.nn.functional.linear(s, d, torch.ones(2))
torch.zeros(2, 3, layout=torch.sparse_coo, requires_grad=True)
torch.empty(2, layout=torch.sparse_coo, dtype=torch.long)
torch.full((2,), 1.0, layout=torch.sparse_coo)
torch.zeros_like(h)
torch.zeros_like(s, layout=torch.strided)
torch.zeros_like(d, layout=torch.sparse_coo)
s.new_zeros(2, 2)
torch.sparse_coo_tensor([[0]], 5.0, (2,))
torch.sparse_coo_tensor(size=(2, 3))
d.to_sparse(0)
d.to_sparse(3)
d.to_sparse(layout=torch.sparse_coo)
s.to_sparse(1)
s.to_dense(torch.double)
torch.nn.Parameter(s)
torch.nn.Parameter(h, requires_grad=False)
(torch.nn.Parameter(s) * 2).to_dense()
isinstance(torch.nn.Parameter(s), torch.nn.Parameter)
"""


def outcome(text: str, names: dict) -> str:
    """The result of an expression as it is printed, or the class and first line of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(text, names))
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]


@pytest.mark.parametrize("text", SHAPES.strip().splitlines())
def test_joining_selecting_and_making_are_torchs(text):
    found = []
    for library in BOTH:
        s = made(library, [[0, 1, 1], [2, 0, 0]], library.tensor([3.0, 4.0, 5.0]), (2, 3))
        t = made(library, [[0, 1], [2, 1]], library.tensor([1.0, 2.0]), (2, 3))
        h = made(library, [[0, 1]], library.ones(2, 3), (2, 3))
        d = library.arange(6.0).reshape(2, 3)
        found.append(outcome(text, {"torch": library, "s": s, "t": t, "h": h, "d": d}))
    assert found[0] == found[1]


def test_a_sparse_parameter_is_stepped_and_assigned():
    found = []
    for library in BOTH:
        p = library.nn.Parameter(library.eye(2).to_sparse())
        (p * 2).to_dense().sum().backward()
        library.optim.SGD([p], lr=0.1).step()
        row = [repr(p), p._version, p.grad.is_coalesced()]
        p.data = library.eye(2).to_sparse() * 3
        found.append([*row, repr(p)])
    assert found[0] == found[1]


def test_gradients_of_a_sparse_embedding_are_clipped():
    found = []
    for library in BOTH:
        e = library.nn.Embedding(4, 2, sparse=True)
        e(library.tensor([1, 1])).sum().backward()
        norm = library.nn.utils.clip_grad_norm_(e.parameters(), 0.5)
        found.append((norm.item(), parts(e.weight.grad)))
    assert found[0] == found[1]


def test_products_compute_in_the_dtype_of_autocast():
    matrix, dense = impl.eye(2).to_sparse(), impl.ones(2, 2)
    with impl.autocast("cpu", impl.bfloat16):
        for product in (impl.mm, impl.sparse.mm, impl.matmul):
            assert product(matrix, dense).dtype is impl.bfloat16
        assert impl.sparse.mm(matrix, matrix).dtype is impl.float32
        with pytest.raises(NotImplementedError, match="sparse_matmul"):
            impl.mm(matrix, matrix)


@pytest.mark.parametrize("columns", [0, 3])
def test_a_sparse_gradient_beside_one_without_elements_is_kept_as_it_is(columns):
    """Such a pass runs on tensors: the first gradient is taken over, and later ones are added."""

    def kept(lib):
        table = lib.zeros(2, columns, requires_grad=True)
        other = lib.zeros(0, requires_grad=True)
        shown = []
        for sparse in (True, True, False, True):
            rows = lib.nn.functional.embedding(lib.tensor([[0, 1, 1]]), table, sparse=sparse)
            (rows.sum() + other.sum()).backward()
            shown.append((str(table.grad.layout), table.grad._version))
        return shown, table.grad.tolist()

    assert kept(impl) == kept(pytest.importorskip("torch"))
