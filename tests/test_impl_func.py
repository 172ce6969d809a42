"""Transforms of functions, on impl and on torch: the same programs, the same numbers and errors."""

from __future__ import annotations

import pytest

import impl

CASES = [
    "grad(f)(x)",
    "grad(lambda x: grad(f)(x).sum())(x)",
    "grad(grad(lambda x: x**3))(torch.tensor(2.0))",
    "hessian(f)(x)",
    "jacrev(jacfwd(f))(x)",
    "vmap(grad(lambda a, b: (a * b**2).sum(), argnums=1))(A, A * 2)",
    # No perturbation is taken for another one's.
    "grad(lambda x: grad(lambda y: x * y)(torch.tensor(1.0)))(torch.tensor(1.0))",
    "grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(1.0))",
    "grad(lambda x: (w * x * x).sum())(x)",
    "torch.autograd.grad(grad(lambda x: (w * x * x).sum())(x).sum(), w)",
    "torch.autograd.grad(grad(lambda x: (x**3).sum())(w).sum(), w)",
    "jvp(f, (x,), (torch.ones(3),))",
    "jvp(lambda x: jvp(f, (x,), (torch.ones(3),))[1], (x,), (x,))",
    "vjp(torch.sin, x)[1](x)",
    "linearize(torch.sin, x)[1](x)",
    "grad_and_value(f)(x)",
    "jacrev(lambda d: {'s': d['a'] * d['b']})({'a': x, 'b': x * 2})",
    "jacfwd(torch.sin, argnums=(0,))(x)",
    "vmap(lambda a, b: a @ b, in_dims=(0, None))(A, x)",
    "vmap(lambda a: a * 2, in_dims=1, out_dims=1)(A)",
    "vmap(lambda d: d['a'].sum(), in_dims=({'a': 0},))({'a': A})",
    "vmap(vmap(torch.dot, in_dims=(None, 1)), in_dims=(0, None))(A, A.t())",
    "vmap(lambda a: a + torch.rand(()), randomness='same')(torch.zeros(3))",
    "vmap(lambda a, s: a * s, in_dims=(0, None))(A, 3.0)",
    "vmap(lambda a: torch.ones(2), out_dims=None)(x)",
    "grad(lambda x: (x.sum(), x * 2), has_aux=True)(x)",
    # Written in the function, by the derivative that is asked for.
    "vmap(grad(lambda a: (a.detach_(), (a * a).sum())[1]))(A)",
    "hessian(lambda a: (a.detach_(), (a * a).sum())[1])(x)",
    "vmap(lambda a: a.unsqueeze(0)[0].transpose_(0, -1))(x)",
    "linearize(torch.nn.functional.glu, torch.cat([x, x]))[1](torch.cat([x, x]))",
    "jacfwd(lambda a, b: (b.add_(1), a)[1])(x, x.clone())",
    "jacfwd(jacfwd(lambda a: a * a.sum() if a.sum() > 0 else a))(x)",
    # Batching rules.
    "torch.view_as_real(vmap(torch.linalg.eigvals)(torch.stack([A @ A.t(), A @ A.t() * 2])))",
    "jacrev(lambda a: torch.nn.functional.binary_cross_entropy(a, x.sigmoid()))(x.sigmoid())",
    "jacrev(lambda a: torch.nn.functional.soft_margin_loss(a, x.sign(), reduction='sum'))(x)",
    "vmap(lambda p, q: p.masked_fill(p > 0, q))(A, x[:2])",
    "vmap(lambda p, q: p.clone().masked_fill_(p > 0, q))(A, x[:2])",
    "jacfwd(torch.linalg.det)(torch.stack([A @ A.t(), A @ A.t() * 2 + torch.eye(2)]))",
    "jacfwd(lambda a: torch.nn.functional.glu(a, 0))(torch.stack([A, A * 2]))",
    "vmap(lambda a: torch.view_as_real((a * 1j).conj().resolve_conj()))(A)",
    "vmap(hessian(lambda a: torch.nn.functional.batch_norm(a, x, x * x).pow(2).sum()))(A[None])",
    "linearize(lambda x: (x.sin(), 3), x)[1](x)[0]",
    "torch.tensor(linearize(lambda x: 3, x)[1](x))",
    # Errors.
    "grad(f, argnums=())(x)",
    "grad(f, argnums=(0, 0))(x)",
    "grad(f, argnums=(0.0,))(x)",
    "vjp(torch.sin, x)[1](1.0)",
    "[p := vjp(torch.sin, x)[1], p(x, retain_graph=False), p(x)]",
    "vmap(torch.dot, in_dims=[0, 0])(A, A)",
    "vmap(lambda d: d['a'], in_dims=({'b': 0},))({'a': A})",
    "vmap(lambda a: (a, x), out_dims=(0, None), chunk_size=1)(A)",
    "grad(lambda x: x.untyped_storage())(x)",
    "grad(lambda x: __import__('copy').deepcopy(x).sum())(x)",
    "grad(lambda x: __import__('pickle').dumps(x))(x)",
    "grad(lambda x: x.numpy())(x)",
    "grad(lambda x: x)(x)",
    "grad(lambda x: 3)(x)",
    "grad(lambda x: x.sum(), argnums=1)(x)",
    "grad(lambda x: x.sum())(3.0)",
    "vjp(lambda x: 3, x)",
    "vjp(lambda x: (x * 2, x), x)[1](torch.ones(2))",
    "jvp(lambda x: x * 2, x, x)",
    "jvp(lambda x: x * 2, (x,), (torch.ones(2),))",
    "jacrev(torch.sin, chunk_size=0)(x)",
    "vmap(torch.sin)(3)",
    "vmap(torch.sin, in_dims=(0, 0))(x)",
    "vmap(torch.sin, in_dims=1)(x)",
    "vmap(torch.sin, in_dims=None)(x)",
    "vmap(lambda x, y: x)(x, torch.ones(2))",
    "vmap(lambda x: 3)(x)",
    "vmap(lambda x: x + torch.randn(3))(x)",
    "vmap(torch.sin, randomness='none')(x)",
    "vmap(torch.sin)()",
    # The slopes of losses, of which only the gradient is a batch.
    *(
        f"jacrev(lambda x: torch.nn.functional.{name}(x, w.detach(), reduction='{reduction}'))(x)"
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")
        for reduction in ("none", "mean", "sum")
    ),
    "jacrev(lambda x: torch.nn.functional.binary_cross_entropy(x.sigmoid(), x.cos() ** 2))(x)",
    # The memory of a batch as another dtype.
    "vmap(lambda a: a.view(torch.int32), in_dims=1)(A)",
    "vmap(lambda a: a.view(torch.float64))(x)",
    "vmap(lambda a: a.view(torch.float32))(x)",
    "hessian(lambda x: x.view(x.dtype).sum())(x)",
    # Full hooks, which see to gradients only where one is recorded.
    "vmap(hooked)(w)",
    "vmap(lambda a: hooked(w))(w)",
    "jvp(hooked, (w,), (x,))",
    "jvp(lambda a: hooked(w), (w,), (x,))",
    "jacfwd(hooked)(x)",
    "grad(lambda x: vmap(hooked)(x).sum())(x)",
    "vmap(grad(lambda a: hooked(w).sum()))(x)",
    "vjp(hooked, x)",
]


def answer(torch, case: str):
    func = torch.func
    names = {name: getattr(func, name) for name in dir(func) if not name.startswith("_")}
    torch.manual_seed(0)
    names |= {"torch": torch, "f": lambda x: (x**3).sum(), "vmap": torch.vmap}
    names["hooked"] = torch.nn.ReLU()
    names["hooked"].register_full_backward_hook(lambda *_: None)
    names["x"] = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64)
    names["w"] = torch.tensor([1.5, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
    names["A"] = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    try:
        value = eval(case, names)
    except Exception as error:
        return type(error).__name__, str(error)
    return shown(torch, value)


def shown(torch, value):
    """Nested lists of rounded numbers, with each tensor's flag; zeros have no sign."""
    leaves, spec = torch.utils._pytree.tree_flatten(value)
    rounded = [(leaf.detach() + 0.0).mul(1e6).round().tolist() for leaf in leaves]
    return str(spec), rounded, [leaf.requires_grad for leaf in leaves]


@pytest.mark.parametrize("case", CASES)
def test_a_transform_answers_as_torch_does(case):
    torch = pytest.importorskip("torch")
    __import__("torch.utils._pytree")
    assert answer(impl, case) == answer(torch, case)


def test_a_module_forgets_its_running_statistics():
    module = impl.nn.Sequential(impl.nn.BatchNorm1d(2))
    impl.func.replace_all_batch_norm_modules_(module)
    assert module[0].running_mean is None and not module[0].track_running_stats
    assert module(impl.ones(3, 2)).shape == (3, 2)
