"""How functions and methods read their arguments, against torch: results, errors and warnings."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import impl

torch = pytest.importorskip("torch")

CALLS = {
    "methods called on the class": (
        *("torch.Tensor.sin()", "torch.Tensor.add(1, 2)", "torch.Tensor.sum('x', dim=0)"),
        *("torch.Tensor.tolist()", "torch.Tensor.to_dense(3)", "torch.Tensor.add(x, 1)"),
    ),
    "methods without parameters": (
        *("x.tolist(1)", "x.data_ptr(1)", "x.retain_grad(foo=1)", "x.values(1, 2)", "x.indices()"),
        *("x.coalesce(None)", "x.untyped_storage(1)", "x.dense_dim(1)", "x.sparse_dim()"),
    ),
    "conversions to sparse layouts": (
        *("x.to_sparse('x')", "x.to_sparse(1, 2)", "x.to_sparse(layout=torch.sparse_coo)"),
        *("x.to_sparse(dense_dim=1)", "x.to_sparse(dense_dim=2)", "x.to_sparse(dense_dim=3)"),
        *("x.to_sparse(layout=torch.strided)", "x.to_sparse(0)", "x.to_sparse(-1)"),
        *("x.to_sparse(blocksize=(1, 1))", "torch.tensor(2.0).to_sparse()", "x.to_dense('x')"),
        *("torch.tensor(0.0).to_sparse()", "torch.tensor(2.0).to_sparse(1)", "x.sparse_mask(1)"),
        *("x.to_sparse().to_sparse(1)", "x.to_sparse().to_sparse(layout=torch.strided)"),
        "x.to_sparse().to_sparse(dense_dim=1)",
    ),
    "sparse_coo_tensor": (
        *("torch.sparse_coo_tensor()", "torch.sparse_coo_tensor('x')", "coo([[0]], [1.0], 3)"),
        *("torch.sparse_coo_tensor(2, 3)", "coo([[0]], [1.0], 'x')", "coo(size=(2,))"),
        "coo([[0]], values=[1.0], dtype=float)",
    ),
    "operators over lists": (
        *("torch._foreach_add(1)", "torch._foreach_add([x], 'x')", "torch._foreach_add([], 1)"),
        *("torch._foreach_norm([x], 'x')", "torch._foreach_norm([torch.ones(0)], torch.inf)"),
        *("torch._foreach_pow(2.0, [x])", "torch._foreach_maximum([x], 2.0)"),
        *("torch._foreach_maximum_([x], [y])", "torch._foreach_minimum_([x], [2.0])"),
        *("torch._foreach_mul([x], [1.0, 2.0])", "torch._foreach_mul([x], [x, x])"),
        *("torch._foreach_mul([x], torch.ones(2))", "torch._foreach_lerp([x], [y], weight=0.5)"),
        *("torch._foreach_addcmul([x], [x], [x], scalars=torch.ones(1))", "torch._foreach_abs()"),
        "torch._foreach_addcmul([x], [x], [x], torch.ones(2))",
        "torch._foreach_addcmul([x], [x], [x], torch.ones(()))",
    ),
    "functions that read the state": (
        *("torch.get_num_threads(1)", "torch.get_default_dtype(foo=1)"),
        *("torch.is_anomaly_enabled(1)", "torch.is_inference_mode_enabled(1, 2)"),
        *("torch.is_autocast_enabled(1)", "torch.set_autocast_enabled('x')"),
        *("torch.set_autocast_enabled(False)", "torch.get_autocast_dtype()"),
    ),
    "constructors": (
        *("torch.device()", "torch.device(None)", "torch.device(x, 3)", "torch.device('cpu', 'x')"),
        *("torch.device(device='cpu')", "torch.Generator(foo=1)", "torch.Generator([1])"),
        *("torch.finfo(float)", "torch.iinfo(int)", "torch.finfo(1, 2)", "torch.iinfo()"),
        *("torch.Size(2, 3)", "torch.Size(sizes=1)", "torch.Size(array)", "torch.no_grad(1, 2)"),
        *("torch.set_grad_enabled()", "nn.Parameter(x, 1)", "nn.ModuleDict(0)", "nn.ModuleDict(x)"),
        *("pad([x], 1)", "pad([x, y], padding_value='x')", "pad([x, 1])", "pad([x, y], True)"),
    ),
    "bytes for strings": (
        *("F.gelu(x, approximate=b'tanh')", "F.gelu(x, approximate=b'x')", "x.to(b'cpu')"),
        *("torch.ones(2, device=b'cpu')", "torch.ones(2, device=b'x')", "torch.device(b'cpu')"),
        *("torch.div(x, y, rounding_mode=b'floor')", "x.type(b'torch.DoubleTensor')"),
    ),
    "masked operations on no tensors": (
        *("torch.masked.sum(array)", "torch.masked.mean(array)", "torch.masked.sum(x, mask=1)"),
        *("torch.masked.argmax(x, x)", "torch.masked.mean(x, mask='x')"),
    ),
    "integers beyond 64 bits": (
        *("x * 10**30", "x * 2**63", "x + -(2**63) - 1", "10**30 - x", "x == 10**30", "x % 10**30"),
        *("x.mul(2).mul(10**30)", "x.clamp(0, 5).clamp(0, 10**30)", "x.fill_(-(10**30))"),
        *("torch.add(x, y, alpha=10**30)", "torch.full((2,), 10**30)", "torch.full((2,), 2**63)"),
        *("x.masked_fill(x > 1, -(10**30))", "torch.roll(x, 1).roll(2**63)", "x.sum(0).sum(2**64)"),
        *("x.isclose(y, 10**30)", "x.split(1)[0].split(2**63)", "torch.linspace(0, 10**30, 3)"),
    ),
    "results in `out=`": (
        *("torch.max(x, 0, out=())", "torch.frexp(x, out=(y,))", "torch.sort(x, out=(y, y, y))"),
        *("torch.lerp(x, y, y, out=empty(torch.float64))", "torch.mean(x, out=empty(torch.int64))"),
        *("torch.nansum(x, out=empty(torch.int64))", "torch.nansum(x, out=empty(torch.float64))"),
        *("torch.std(x, 0, out=empty(torch.complex64))", "torch.var(x, out=empty(torch.float64))"),
        *(
            "torch.mvlgamma(y, 2, out=empty(torch.int64))",
            "torch.ldexp(x, y, out=empty(torch.int))",
        ),
        "torch.median(x, 0, out=(empty(torch.float32), empty(torch.bool)))",
        "torch.geqrf(x, out=(empty(torch.int64), y))",
        "torch.geqrf(x, out=(empty(torch.float64), empty(torch.float32)))",
    ),
    "matrices": (
        *("torch.linalg.lstsq(x, x, driver='GELS')", "torch.linalg.lstsq(x, x, driver='x')"),
        *("torch.lu_unpack(x, torch.ones(1, dtype=torch.int32))", "torch.lu_unpack(x, x)"),
    ),
    "numbers beyond the dtype": (
        *(
            "F.multi_margin_loss(x, torch.tensor([0, 1]), margin=1e39)",
            "torch.histc(x, 2, 0, 1e39)",
        ),
        "F.hinge_embedding_loss(x, y, margin=1e39)",
    ),
    "complex numbers for real tensors": (
        *("torch.addmm(square, square, square, beta=0.5 + 0j)", "x.lerp(y, 0.5 + 0j)"),
        *("torch.addcmul(x, x, y, value=0.5 + 0j)", "torch.addcdiv(x, x, y, value=0.5 + 1j)"),
        *("x.half().addcmul(x.half(), y.half(), value=0.5 + 0j)", "x.lerp(y, 0.5 + 1j)"),
        "nn.Embedding(3, 2, max_norm=1.0, dtype=torch.complex64)(torch.tensor([1]))",
    ),
    "clipping": (
        *("clip([graded(0)], 1.0, torch.inf)", "clip([graded(0)], 1.0, torch.inf, foreach=False)"),
        *("clip([graded(3)], 1.0, 1, foreach=False)", "clip([graded(3)], 'x')"),
    ),
    "optimizers": (
        *("SGD({graded(1)}, 0.1)", "SGD([{'params': {graded(1)}}], 0.1)"),
        *("SGD(graded(1), 0.1)", "SGD([1], fused=True, foreach=True)"),
        "list(torch.optim.lr_scheduler.CyclicLR(torch.optim.Adam([graded(1)]), 0, 1).state_dict())",
    ),
    "layers": (
        *("nn.EmbeddingBag(2, 3, 'a')", "nn.EmbeddingBag(2, 3, 1.0, 1.0)"),
        *("nn.utils.parametrizations.weight_norm(nn.NLLLoss())", "nn.GRUCell(1, 1, bias=1)"),
        *("partly(nn.LazyConv1d(2, 1), 'weight')", "partly(nn.LazyBatchNorm1d(), 'bias')"),
        "nn.LazyLinear(2).load_state_dict({'weight': None})",
    ),
}


def outcome(library, expression: str):
    """The text of an expression's value or the first line of its error, and the warnings."""

    def graded(size: int):
        leaf = library.ones(size, requires_grad=True)
        leaf.grad = library.ones(size)
        return leaf

    def partly(lazy, name: str):
        """The shape that a lazy layer returns, of whose parameters one was loaded."""
        lazy.load_state_dict({name: library.ones(2)}, strict=False)
        return lazy(library.ones(2, 3, 4)).shape

    scope = {
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "SGD": library.optim.SGD,
        "clip": library.nn.utils.clip_grad_norm_,
        "pad": library.nn.utils.rnn.pad_sequence,
        "coo": library.sparse_coo_tensor,
        "graded": graded,
        "array": np.ones(3),
        "empty": lambda dtype: library.empty(0, dtype=dtype),
        "x": library.arange(6.0).reshape(2, 3),
        "y": library.full((2, 3), 2.0),
        "square": library.ones(2, 2),
        "partly": partly,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(expression, scope)
            result = value if isinstance(value, str) else repr(value)
        except Exception as error:  # whatever torch raises
            result = f"{type(error).__name__}: {error}".partition("\n")[0]
    result = re.sub(r"0x[0-9a-f]+", "0x", result).replace("impl.", "torch.")
    return result, [(w.category, str(w.message).partition("(Triggered")[0].strip()) for w in caught]


@pytest.fixture(autouse=True)
def every_warning():
    for library in (impl, torch):
        library.set_warn_always(True)
    yield
    for library in (impl, torch):
        library.set_warn_always(False)


@pytest.mark.parametrize("subject", CALLS)
def test_arguments_are_read_as_torch_reads_them(subject: str) -> None:
    for expression in CALLS[subject]:
        assert outcome(impl, expression) == outcome(torch, expression), expression
