"""Classes with `__torch_dispatch__`, on impl and on torch: wrappers as programs write them."""

from __future__ import annotations

import pytest
from made_wrappers import lines

import impl
import impl.utils._python_dispatch

PROGRAMS = {
    "attributes": """
        show(x.shape, x.stride(), x.dtype, x.device, x.layout, x.is_leaf, x._version, len(x))
        show(x.is_contiguous(), x.numel(), x.dim(), x.element_size(), x.storage_offset())
        show(torch.Tensor._make_wrapper_subclass(W, [3, 2], device="meta").device)
        show(W(torch.ones(2, 3).t()).is_contiguous(), isinstance(x, torch.Tensor))
    """,
    "conversions": """
        tries(lambda: x.sum().item(), lambda: float(x.detach()[0]), lambda: bool(x[0] > 1))
        tries(lambda: bool(x), lambda: int(x.detach()[1]), lambda: x.tolist(), lambda: x.numpy())
        tries(lambda: x.detach().numpy(), lambda: x.data_ptr(), lambda: 1.0 in x, lambda: [*x])
        tries(lambda: torch.equal(x, x), lambda: torch.allclose(x, x), lambda: (x > 1).any())
        tries(lambda: torch.allclose(x, x, 0.1), lambda: x.untyped_storage().data_ptr())
    """,
    "factories": """
        show(torch.ones_like(x), torch.zeros_like(x, dtype=torch.float64).elem.dtype)
        show(x.new_zeros(3), x.new_ones((1, 2)), x.new_full((1,), 3.0), torch.full_like(x, 2))
        show(torch.rand_like(x).shape, x.new_empty(3).shape, torch.empty_like(x).shape)
        show(x.new_empty_strided((2,), (1,)).shape, torch.ones_like(x, requires_grad=True).is_leaf)
    """,
    "casts": """
        show(x.double(), x.to(torch.float64).grad_fn.name(), x.float() is x, x.to(x) is x)
        show(x.clone(memory_format=torch.contiguous_format), x.contiguous() is x)
    """,
    "out=": """
        w = W(torch.zeros(2))
        show(torch.add(x.detach(), 1, out=w) is w, w._version)
        show(torch.mul(torch.ones(2), 3, out=w) is w)
    """,
    "out= with a bit": """
        def c(): return torch.ones(2, dtype=torch.complex64).conj()
        def shown(r): return r.is_conj(), r.is_neg(), r._version, r.tolist()
        tries(lambda: shown(torch.add(torch.ones(2), 1, out=c())))
        tries(lambda: shown(torch.rand(2, out=c())), lambda: shown(torch.ones(2, out=c())))
        tries(lambda: shown(torch.neg(x.elem, out=c().imag)))
        for a, b in (x.detach(), 1), (torch.ones(2), x.detach()):
            try:
                torch.mul(a, b, out=c())
            except RuntimeError:  # an assertion in torch: the class returns no `out`
                pass
    """,
    "overloads": """
        f = torch.ops.aten.add.Tensor
        show(f, f.name(), f.overloadpacket is torch.ops.aten.add, f._schema.name, f.is_view)
        show(f._schema.overload_name, f._schema.is_mutable, torch.ops.aten.add_.Tensor._schema.name)
        show(torch.ops.aten.view.default.is_view, torch.ops.aten.mul.Tensor(x, 2), repr(f))
        show(torch.ops.aten.sum.dim_IntList(x, [0]), torch.ops.aten.clone.default(x))
        show(torch.ops.aten._to_copy.default(x, dtype=torch.float64).dtype)
        show(torch.ops.aten.sort.default(x), torch.ops.aten._softmax.default(x, 0, False))
    """,
    "operators of Python": """
        class N(torch.Tensor):
            __new__ = W.__new__
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log(func)
                return NotImplemented
        n = N(torch.ones(2))
        tries(lambda: n + 1, lambda: 1 + n, lambda: n - 1, lambda: 1 - n, lambda: n / 2)
        tries(lambda: n**2, lambda: 2**n, lambda: n // 2, lambda: n % 2, lambda: n == 2)
        tries(lambda: n < 2, lambda: -n)
        tries(lambda: n & n, lambda: n @ n, lambda: n[0], lambda: abs(n), lambda: n * x)
        def written():
            m = n
            m += 1
        tries(written)
    """,
    "results": """
        class R(torch.Tensor):
            __new__ = W.__new__
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                name = func.overloadpacket.__name__
                return {"mul": torch.zeros(2), "neg": None, "sub": "no", "add": args[0]}[name]
        r = R(torch.ones(2), requires_grad=True)
        show(r * 2, -r)
        tries(lambda: r - 1, lambda: r.cos(), lambda: (r + 1) is r)
        show(r.grad_fn.name())
    """,
    "leaves": """
        c = W(torch.ones(2))
        x.backward(c)
        show(x.grad is c, x.grad, x.grad._version)
        (x * 3).sum().backward()
        show(x.grad, x.grad._version)
        p = torch.ones(2, requires_grad=True)
        (p * c).sum().backward()
        show(p.grad)
        q = torch.ones(2, requires_grad=True)
        q.grad = torch.zeros(2)
        (q * c).sum().backward()
        show(q.grad)
        b = W(torch.ones(3, 1), requires_grad=True)
        (b * torch.ones(3, 2)).sum().backward()
        show(b.grad, b.grad.shape)
    """,
    "a parameter": """
        p = torch.nn.Parameter(W(torch.ones(2)))
        show(type(p).__name__, isinstance(p, torch.nn.Parameter), p.requires_grad)
        optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        show(p)
    """,
    "a copy": """
        import copy
        y = copy.deepcopy(x)
        show(y, type(y).__name__, y.requires_grad, y.elem is x.elem)
    """,
    "second derivatives": """
        g, = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        show(g, g.grad_fn.name())
        show(torch.autograd.grad(g.sum(), x))
    """,
    "a mode": """
        class Count(TorchDispatchMode):
            def __init__(self):
                super().__init__()
                self.counts = {}
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                self.counts[str(func)] = self.counts.get(str(func), 0) + 1
                return func(*args, **(kwargs or {}))
        with Count() as mode:
            (x * 2).sum().backward()
        show(mode.counts, x.grad)
    """,
    "no grad": """
        with torch.no_grad():
            show((x * 2).requires_grad)
        with torch.inference_mode():
            y = x * 2
            show(y.is_inference())
    """,
    "a guard": """
        class G(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log(func)
                guard = torch._C._DisableTorchDispatch()
                try:
                    return func(*args, **(kwargs or {}))
                finally:
                    del guard
        g = torch.Tensor._make_subclass(G, torch.ones(2), True)
        show(g * 2)
        (g * 3).sum().backward()
        show(type(g.grad).__name__, g.data_ptr() != 0)
    """,
    "a class kept": """
        class K(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log(func)
                with torch._C._DisableTorchDispatch():
                    r = func(*args, **(kwargs or {}))
                def kept(a):
                    return a.as_subclass(cls) if isinstance(a, torch.Tensor) else a
                return tree_map(kept, r)
        a = torch.ones(2, requires_grad=True).as_subclass(K)
        y = (a * a).sum()
        y.backward()
        show(type(y).__name__, a.grad_fn.name(), type(a).__name__)
        b = torch.Tensor._make_subclass(K, torch.ones(2))
        v = b.view(2, 1)
        v.add_(1)
        show(b._version, v._version, type(v).__name__)
    """,
    "a logging tensor": """
        class L(torch.Tensor):
            __slots__ = ["elem"]
            @staticmethod
            def __new__(cls, elem, *args, **kwargs):
                r = torch.Tensor._make_wrapper_subclass(
                    cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
                    dtype=elem.dtype, layout=elem.layout, device=elem.device,
                    requires_grad=kwargs.get("requires_grad", False))
                r.elem = elem.detach() if r.requires_grad else elem
                return r
            def __repr__(self):
                return super().__repr__(tensor_contents=f"{self.elem}")
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                unwrap = lambda e: e.elem if isinstance(e, cls) else e
                wrap = lambda e: cls(e) if isinstance(e, torch.Tensor) else e
                rs = tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs)))
                log(f"{func.__module__}.{func.__name__}", args, kwargs, rs)
                return rs
        t = L(torch.tensor([3.0]), requires_grad=True)
        y = t * t
        y.sum().backward()
        show(y, t.grad)
    """,
    "a scaled tensor": """
        class Q(torch.Tensor):
            @staticmethod
            def __new__(cls, q, scale):
                return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=torch.float32)
            def __init__(self, q, scale):
                self.q, self.scale = q, scale
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log(func)
                aten = torch.ops.aten
                if func in (aten.detach.default, aten.clone.default, aten.t.default):
                    return cls(func(args[0].q), args[0].scale)
                full = lambda a: a.q.to(torch.float32) * a.scale if isinstance(a, cls) else a
                return func(*tree_map(full, args), **(kwargs or {}))
        class Layer(torch.nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.weight = torch.nn.Parameter(weight, requires_grad=False)
            def forward(self, x):
                return torch.nn.functional.linear(x, self.weight)
        layer = Layer(Q(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), 0.5))
        t = torch.ones(1, 2, requires_grad=True)
        y = layer(t)
        y.sum().backward()
        show(y, t.grad, type(layer.weight).__name__, list(layer.state_dict()))
    """,
    "two tensors": """
        pytree = torch.utils._pytree
        corrected = torch.utils._python_dispatch.return_and_correct_aliasing
        class Two(torch.Tensor):
            @staticmethod
            def __new__(cls, a, b):
                return torch.Tensor._make_wrapper_subclass(
                    cls, a.shape, strides=a.stride(), dtype=a.dtype, requires_grad=a.requires_grad)
            def __init__(self, a, b):
                self.a, self.b = a, b
            def __repr__(self):
                return f"Two({self.a.tolist()}, {self.b.tolist()})"
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                def of(which):
                    pick = lambda t: getattr(t, which)
                    given = pytree.tree_map_only(cls, pick, (args, kwargs or {}))
                    return func(*given[0], **given[1])
                a, spec = pytree.tree_flatten(of("a"))
                pairs = zip(a, pytree.tree_leaves(of("b")))
                flat = [cls(x, y) if isinstance(x, torch.Tensor) else x for x, y in pairs]
                made = pytree.tree_unflatten(flat, spec)
                return corrected(func, args, kwargs, made)
        t = Two(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).requires_grad_()
        (t * t).sum().backward()
        show(t.grad)
        u = Two(torch.zeros(2), torch.ones(2))
        v = u.view(2, 1)
        show(v.add_(1) is v, u, u._version)
        show(v.untyped_storage()._cdata == u.untyped_storage()._cdata)
        show(torch.add(u, 1, out=v.view(2)))
        layer = torch.nn.Linear(2, 1)
        layer(Two(torch.ones(1, 2), torch.zeros(1, 2))).sum().backward()
        show(layer.weight.grad, layer.bias.grad)
    """,
    "a masked tensor": """
        class M(torch.Tensor):
            @staticmethod
            def __new__(cls, data, mask, requires_grad=False):
                return torch.Tensor._make_wrapper_subclass(
                    cls, data.shape, dtype=data.dtype, requires_grad=requires_grad)
            def __init__(self, data, mask, requires_grad=False):
                self.values, self.mask = data, mask
            def __repr__(self):
                return f"M({self.values.tolist()}, {self.mask.tolist()})"
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                aten = torch.ops.aten
                if func is aten.sum.default:
                    return (args[0].values * args[0].mask).sum()
                if func in (aten.mul.Tensor, aten.add.Tensor, aten.detach.default):
                    masks = [a.mask for a in args if isinstance(a, cls)]
                    values = [a.values if isinstance(a, cls) else a for a in args]
                    return cls(func(*values), masks[0] & masks[-1])
                return NotImplemented
        m = M(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]), True)
        y = (m * m).sum()
        y.backward()
        show(y, m.grad)
        tries(lambda: m.cos())
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_shows_what_it_does_on_torch(name: str):
    torch = pytest.importorskip("torch")
    theirs = lines(torch, PROGRAMS[name])
    assert lines(impl, PROGRAMS[name]) == theirs


def test_a_function_that_does_not_ask_raises():
    """It must not compute with memory that is not there."""

    class Empty(impl.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = impl.Tensor._make_wrapper_subclass(Empty, (2,))
    with pytest.raises(NotImplementedError, match="does not ask the class"):
        x._raw + 1
