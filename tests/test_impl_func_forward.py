"""Forward mode in transforms, on impl and on torch: the derivatives of many functions, at zeros,
kinks, ties and other points, by `jvp` under `vmap`, `grad` and `jvp`."""

from __future__ import annotations

import math

import pytest

import impl

POINT = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5]

METHODS = """
    abs acos acosh amax amin asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp expm1
    floor frac lgamma log log1p logit max median nan_to_num nanmean nansum neg norm prod reciprocal
    relu round rsqrt sgn sigmoid sign sin sinc sinh sqrt square std tan tanh trunc var
"""
ACTIVATIONS = """
    celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu
    silu softplus softshrink softsign tanhshrink
"""
FUNCTIONS = {name: f"x.{name}()" for name in METHODS.split()}
FUNCTIONS |= {name: f"F.{name}(x)" for name in ACTIVATIONS.split()}
FUNCTIONS |= {
    text: text
    for text in """
        x.cumsum(0)
        x.cumprod(0)
        x.logcumsumexp(0)
        x.cummax(0)[0]
        x.softmax(0)
        x.log_softmax(0)
        x.logsumexp(0)
        x.sort()[0]
        x.topk(2)[0]
        x.kthvalue(2)[0]
        x.quantile(0.3)
        x.norm(1)
        x.norm(3)
        (x * 0).norm()
        (x * 0).std()
        torch.linalg.vector_norm(x, math.inf)
        x.clamp(-1, 1)
        torch.maximum(x, x.flip(0))
        torch.fmax(x, torch.zeros_like(x))
        torch.where(x > 0, x.sqrt(), x)
        x**2
        x**0.5
        x**0
        x**x
        2**x
        0.0**x
        x / (x + 1)
        torch.atan2(x, x.flip(0))
        torch.hypot(x, x.flip(0))
        torch.xlogy(x, x)
        torch.special.xlog1py(x, x)
        torch.special.entr(x)
        torch.special.log_ndtr(x)
        torch.logaddexp(x, x.flip(0))
        torch.fmod(x, 0.7)
        torch.copysign(x, x.flip(0))
        torch.lerp(x, x.flip(0), 0.3)
        F.mse_loss(x, x.flip(0))
        F.l1_loss(x, x.flip(0))
        F.smooth_l1_loss(x, x.flip(0))
        F.cross_entropy(x.view(2, 3), torch.tensor([0, 2]))
        F.kl_div(x, x.softmax(0), reduction="sum")
        F.binary_cross_entropy_with_logits(x, x.flip(0))
        F.cosine_similarity(x[None], x.flip(0)[None])
        F.layer_norm(x, (6,))
        F.layer_norm(x * 0, (6,))
        F.group_norm(x.view(1, 6), 2)
        F.batch_norm(x.view(3, 2), None, None, training=True)
        F.rms_norm(x, (6,))
        F.normalize(x, dim=0)
        F.max_pool1d(x[None], 2)
        F.avg_pool1d(x[None], 2)
        F.conv1d(x.view(1, 1, 6), x[:2].view(1, 1, 2))
        F.linear(x, x.view(1, 6))
        F.linear(x.view(2, 3), x.view(2, 3), x[:2])
        F.embedding(torch.tensor([0, 1, 1]), x.view(3, 2))
        F.interpolate(x.view(1, 1, 6), scale_factor=2.0, mode="linear")
        F.pad(x[None], (1, 1), mode="reflect")
        x.view(2, 3) @ x.view(3, 2)
        x.view(2, 3) @ x[:3]
        torch.outer(x, x)
        torch.einsum("i,j->ij", x, x)
        torch.linalg.inv(x[:4].view(2, 2) + 3 * torch.eye(2))
        torch.linalg.solve(x[:4].view(2, 2) + 3 * torch.eye(2), x[4:])
        torch.linalg.slogdet(x[:4].view(2, 2) + 5 * torch.eye(2))[1]
        torch.linalg.cholesky(x[:2].outer(x[:2]) + torch.eye(2))
        torch.linalg.matrix_exp(x[:4].view(2, 2))
        torch.linalg.qr(x.view(3, 2) + torch.eye(3)[:, :2])[1]
        torch.linalg.svdvals(x.view(2, 3))
        x.gather(0, torch.tensor([0, 0, 2]))
        x[torch.tensor([1, 1, 3])]
        x.scatter(0, torch.tensor([0, 1]), x[2:4])
        x.index_add(0, torch.tensor([0, 0]), x[:2])
        torch.zeros(3).scatter_reduce(0, torch.tensor([0, 0, 1, 1, 2, 2]), x, "amax")
        torch.cat([x, x])
        x.diff()
        torch.fft.fft(x).abs()
        torch.complex(x, x.flip(0)).angle()
        x.clone().mul_(x)
        x[:4].view(2, 2).clone().fill_diagonal_(1.0)
        x[:4].view(2, 2).trace()
        x.masked_fill(x > 0, 1.0)
        torch.ones(3)
        x.detach() * x
    """.strip().splitlines()
    for text in [text.strip()]
}

WAYS = {
    "jacfwd": "jacfwd(f)(x)",
    "vmap of jvp": "vmap(lambda a, t: jvp(f, (a,), (t,)))(torch.stack([x, x + 0.1]), pair)",
    "vmap of tangents": "vmap(lambda t: jvp(f, (x,), (t,)))(pair)",
    "grad of jvp": "grad(along)(x)",
    "second grad of jvp": "grad(lambda b: grad(along)(b).sum())(x)",
    "hessian": "hessian(lambda a: f(a).sum())(x)",
    "jacrev of jacfwd": "jacrev(jacfwd(f))(x)",
    "jacfwd of jacfwd": "jacfwd(jacfwd(f))(x)",
    "jvp of jvp": "jvp(lambda a: jvp(f, (a,), (one,))[1], (x,), (one,))",
    "jvp of grad": "jvp(grad(lambda a: f(a).sum()), (x,), (one,))",
}


def answers(torch, function: str) -> dict[str, object]:
    func = torch.func
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "math": math,
        "vmap": func.vmap,
        **{name: getattr(func, name) for name in ("grad", "hessian", "jacfwd", "jacrev", "jvp")},
    }
    torch.set_default_dtype(torch.float64)
    try:
        names["x"] = torch.tensor(POINT)
        names["one"] = torch.ones(6)
        names["pair"] = torch.stack([names["one"], names["x"]])
        names["along"] = lambda a: func.jvp(names["f"], (a,), (names["one"],))[1].sum()
        names["f"] = eval(f"lambda x: {function}", names)
        return {way: _answer(torch, text, names) for way, text in WAYS.items()}
    finally:
        torch.set_default_dtype(torch.float32)


def _answer(torch, text: str, names: dict) -> object:
    try:
        return _shown(torch, eval(text, names))
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0][:80]


def _shown(torch, value) -> object:
    if isinstance(value, tuple):
        return tuple(_shown(torch, entry) for entry in value)
    value = value.detach().clone()  # torch's zero tensors have no elements to read
    return str(value.dtype)[6:], tuple(value.shape), value.flatten().tolist()


def _close(mine, other) -> bool:
    if isinstance(mine, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(mine) == len(other) and all(map(_close, mine, other))
    if isinstance(mine, float) and isinstance(other, float):
        near = abs(mine - other) <= 1e-9 * max(1, abs(other))
        return mine == other or near or (math.isnan(mine) and math.isnan(other))
    return mine == other


@pytest.mark.parametrize("function", FUNCTIONS)
def test_forward_mode_gives_the_derivatives_of_torch(function: str):
    torch = pytest.importorskip("torch")
    mine = answers(impl, FUNCTIONS[function])
    other = answers(torch, FUNCTIONS[function])
    assert {way for way in WAYS if not _close(mine[way], other[way])} == set()
