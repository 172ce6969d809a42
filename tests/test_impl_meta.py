"""The meta device of impl: the results' sizes, strides and dtypes are those of real tensors."""

from __future__ import annotations

import time

import numpy as np
import pytest

import impl as torch
from impl.core.meta_arrays import FUNCTIONS, MetaArray, NeedsElements
from impl.core.meta_functions import to_meta
from impl.dispatch import meta_kernels

# Expressions over x and y (2, 3), a matrix a (3, 3), images z (2, 3, 8, 8), and indices i (4,).
EXPRESSIONS = """
x + y
x.t() + y.t()
x * 2 - y / 3
x.exp().tanh()
torch.where(x > 0, x, y)
x.lerp(y, 0.5)
x.sum()
x.sum(1, keepdim=True)
x.mean((0, 1))
x.var(0)
x.max(1).values
x.max(1).indices
x.prod(0)
x.amax()
x.cumsum(1)
x.logsumexp(0)
x.norm()
x.softmax(1)
x @ y.t()
torch.bmm(z.flatten(2), z.flatten(2).transpose(1, 2))
torch.addmm(a, x.t(), x)
torch.einsum("ij,kj->ik", x, y)
torch.cat([x, y], 1)
torch.stack([x, y], 2)
x.t().reshape(6)
x.t().contiguous()
x.unsqueeze(0).expand(4, 2, 3).clone()
z.permute(0, 2, 3, 1).sum(3)
z.to(memory_format=torch.channels_last).relu()
x[:, 1:]
x[0]
x[:, i]
x[i % 2, None]
x.index_select(1, i)
x.gather(1, i[None].expand(2, 4))
x.masked_fill(x > 0, 0.)
x.sort(1).values
x.topk(2).indices
x.flip(0)
x.roll(1, 0)
x.tril()
x.repeat(2, 2)
x.to(torch.float64)
x.float().long()
x.type(torch.bfloat16) * 2
torch.nn.functional.conv2d(z, torch.ones(4, 3, 3, 3, device=x.device), padding=1)
torch.nn.functional.max_pool2d(z, 2)
torch.nn.functional.interpolate(z, scale_factor=2)
torch.nn.functional.layer_norm(x, (3,))
torch.nn.functional.batch_norm(z, None, None, training=True)
torch.nn.functional.linear(x, a)
torch.nn.functional.cross_entropy(x, i[:2])
torch.nn.functional.mse_loss(x, y)
torch.nn.functional.embedding(i, a)
torch.nn.functional.scaled_dot_product_attention(z, z, z)
torch.linalg.inv(a)
torch.linalg.svd(x).S
torch.linalg.cholesky(a)
torch.fft.rfft(x)
torch.view_as_real(torch.complex(x, y))
torch.complex(x, y).abs()
x.new_zeros(3)
torch.zeros_like(x.t())
torch.full((2, 2), 1, device=x.device)
torch.arange(3, device=x.device)
torch.rand(2, 3, device=x.device)
""".strip().splitlines()


def operands(device: str) -> dict:
    torch.manual_seed(0)
    made = {
        "x": torch.rand(2, 3),
        "y": torch.rand(2, 3),
        "a": torch.eye(3) * 2,
        "z": torch.rand(2, 3, 8, 8),
        "i": torch.tensor([0, 1, 2, 0]),
    }
    floating = {name: t.requires_grad_(name != "i") for name, t in made.items()}
    moved = {name: t.detach().to(device) for name, t in floating.items()}
    return {name: t.requires_grad_(floating[name].requires_grad) for name, t in moved.items()}


def described(value) -> tuple:
    return value.shape, value.dtype, value.stride(), value.requires_grad, str(value.grad_fn)[:12]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_and_gradients_are_as_on_the_cpu(expression):
    found = []
    for device in ("cpu", "meta"):
        names = operands(device)
        result = eval(expression, {"torch": torch}, names)
        assert result.device.type == device
        seen: list = [described(result)]
        if result.requires_grad:
            wanted = [t for t in names.values() if t.requires_grad]
            loss = torch.view_as_real(result).sum() if result.is_complex() else result.sum()
            for gradient in torch.autograd.grad(loss, wanted, allow_unused=True):
                seen.append(None if gradient is None else gradient.shape)
        found.append(seen)
    assert found[0] == found[1]


def test_size_costs_no_time():
    begin = time.process_time()
    x = torch.empty(10**6, 10**6, device="meta", requires_grad=True)
    y = (x.t() @ x).relu()[::2].sum(0) / 3
    z = torch.cat([y, y]).reshape(2, -1).exp().mean()
    z.backward()
    assert x.grad.shape == (10**6, 10**6)
    torch.nn.Linear(10**6, 10**6, device="meta")(x.detach()).add_(1)
    assert time.process_time() - begin < 2


LARGE = {
    "n.softmax(1)": (10**6, 10**5),
    "n.cumsum(0)": (10**6, 10**5),
    "n.max(1).indices": (10**6,),
    "n.any(0)": (10**5,),
    "n.var(1)": (10**6,),
    "n.masked_fill(n > 0, 0.)": (10**6, 10**5),
    "n.roll(1, 0).tril()": (10**6, 10**5),
    "n.index_select(0, i)": (4, 10**5),
    "n.gather(0, i[:, None].expand(4, 10**5))": (4, 10**5),
    "torch.nn.functional.embedding(i, n)": (4, 10**5),
    "torch.stack([n, n])": (2, 10**6, 10**5),
    "torch.bmm(n[None], n.t()[None])": (1, 10**6, 10**6),
    "torch.nn.functional.layer_norm(n, (10**5,))": (10**6, 10**5),
    "torch.nn.functional.gelu(n)": (10**6, 10**5),
    "torch.nn.functional.conv2d(n[None, None], n[None, None, :3, :3])": (
        1,
        1,
        10**6 - 2,
        10**5 - 2,
    ),
}


@pytest.mark.parametrize("expression", LARGE)
def test_common_operators_have_rules_for_large_tensors(expression):
    n = torch.empty(10**6, 10**5, device="meta")
    i = torch.zeros(4, dtype=torch.int64, device="meta")
    assert eval(expression, {"torch": torch, "n": n, "i": i}).shape == LARGE[expression]


def test_operators_over_examples_are_limited():
    small = torch.ones(8, 8, device="meta")
    assert torch.linalg.qr(small).Q.shape == (8, 8)
    side = int(meta_kernels.LIMIT**0.5)
    with pytest.raises(NotImplementedError, match="without a rule for the meta device"):
        torch.linalg.qr(torch.ones(side, side, device="meta"))


def test_numpy_cannot_read_it():
    array = MetaArray((2, 3), np.float32)
    assert isinstance(array, np.ndarray) and type(array) is not np.ndarray
    for read in (np.asarray, np.array, np.ascontiguousarray, bool, np.unique, lambda a: a.item()):
        with pytest.raises(NeedsElements):
            read(array)
    with pytest.raises(NeedsElements):
        np.zeros((2, 3))[...] = array


@pytest.mark.parametrize(
    "key", [0, (0, 1), slice(1), (..., 1), None, [0, 1], np.array([[0]]), True]
)
def test_indices_are_numpys(key):
    real = np.zeros((2, 3), np.float32)
    assert to_meta(real)[key].shape == real[key].shape


def test_views_share_memory_and_know_their_place():
    whole = MetaArray((4, 6), np.float64)
    part = whole[1:, ::2].T
    assert (part.shape, part.strides, part.start) == ((3, 3), (16, 48), 48)
    assert part.base is whole and np.shares_memory(whole, part)
    assert not np.shares_memory(whole[:1], whole[2:])
    assert part.copy().base is None


CALLS = {
    np.concatenate: lambda f, a: f([a, a], 1),
    np.stack: lambda f, a: f([a, a], 1),
    np.where: lambda f, a: f(a > 0, a, 1),
    np.take_along_axis: lambda f, a: f(a, np.zeros((2, 5), int), 1),
    np.take: lambda f, a: f(a, [0, 0], 1),
    np.moveaxis: lambda f, a: f(a, 0, 1),
    np.expand_dims: lambda f, a: f(a, 1),
    np.broadcast_to: lambda f, a: f(a, (5, 2, 3)),
    np.repeat: lambda f, a: f(a, 2, 1),
    np.tile: lambda f, a: f(a, (2, 1, 2)),
    np.pad: lambda f, a: f(a, ((1, 0), (0, 2))),
    np.sum: lambda f, a: f(a, axis=(0, 1), keepdims=True),
    np.clip: lambda f, a: f(a, 0, 1),
    np.dot: lambda f, a: f(a, a.T),
    np.diff: lambda f, a: f(a, axis=1),
    np.full_like: lambda f, a: f(a, 2, dtype=np.int8),
    np.argmax: lambda f, a: f(a, 1),
    np.trace: lambda f, a: f(a),
}


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_rules_of_numpys_functions(function):
    assert function in FUNCTIONS
    real = np.ones((2, 3), np.float32)
    expected, made = CALLS[function](function, real), CALLS[function](function, to_meta(real))
    assert type(made) is MetaArray
    assert (made.shape, made.dtype) == (np.shape(expected), expected.dtype)


def test_the_fast_path_is_not_taken():
    x = torch.ones(2, 3, device="meta")
    for tensor in (x, x[0], x.detach(), x.data, x.clone(), torch.ones((), device="meta")):
        assert tensor._strides is not None and tensor._dense_meta is None


BOTH = """
torch.func.jacrev(torch.sin)(x)
torch.func.hessian(lambda x: x.sin().sum())(x)
torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(x)
torch.autograd.functional.jacobian(torch.sin, x)
torch.multinomial(x, 2)
torch.poisson(x)
torch.histc(x, bins=3)
torch.isin(x, x)
torch.linalg.matrix_rank(x)
x.storage()
x.storage().tolist()
x.untyped_storage()[0]
x.clone().set_(torch.ones(2))
torch.ones(2).set_(x)
x.clone().set_()
"""


@pytest.mark.parametrize("text", BOTH.strip().splitlines())
@pytest.mark.filterwarnings("ignore")
def test_functions_that_are_no_operators_are_torchs(text):
    """On torch and on impl, without a draw from the generator of the CPU."""
    libraries = pytest.importorskip("torch"), torch
    found = []
    for library in libraries:
        library.manual_seed(0)
        x = library.ones(2, 3, device="meta")
        try:
            row = repr(eval(text, {"torch": library, "x": x})).replace("impl.", "torch.")
        except Exception as error:
            row = f"{type(error).__name__}: {error}"
        found.append([row, library.rand(1).item()])
    assert found[0] == found[1]


def test_autocast_of_the_cpu_leaves_tensors_of_the_meta_device():
    x = torch.ones(2, 2, device="meta")
    with torch.autocast("cpu"):
        assert (x @ x).dtype is torch.float32
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16


INDEX = torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("look_up", "shape"),
    [
        (lambda m: m.index_select(0, INDEX), (2, 4)),
        (lambda m: m.gather(0, INDEX.view(2, 1)), (2, 1)),
        (lambda m: m.take(INDEX), (2,)),
        (lambda m: m.put(INDEX, m[0, :2]), (3, 4)),
        (lambda m: m.scatter(0, INDEX.view(2, 1), m), (3, 4)),
        (lambda m: torch.nn.functional.embedding(INDEX, m), (2, 4)),
    ],
)
def test_indices_of_the_cpu_reach_meta_tensors(look_up, shape):
    result = look_up(torch.ones(3, 4, device="meta"))
    assert (result.device.type, result.shape) == ("meta", shape)


def test_devices_are_checked_where_torch_checks_them():
    m = torch.ones(3, 4, device="meta")
    with pytest.raises(RuntimeError, match="Expected tensor to have meta Device"):
        torch.take_along_dim(m, INDEX.view(2, 1), 0)
    with pytest.raises(RuntimeError, match="not on the expected device"):
        m.index_add(0, INDEX, m[:2])
    with pytest.raises(NotImplementedError, match="sparse tensors of the meta device"):
        torch.sparse_coo_tensor((2, 2), device="meta", check_invariants=False)
