"""Modes below autograd, on impl and on torch: the overloads that a mode sees of operators, of
factories, samplers and passes, and with `out=` the results and their records."""

from __future__ import annotations

import pytest
from made_transforms import answers

CALLS = """
torch.add(x, y, out=o)
torch.add(x, 2, out=o)
torch.sub(x, y, alpha=2, out=o)
torch.mul(x, y, out=o)
torch.div(x, y, rounding_mode="floor", out=o)
torch.mm(m, m, out=o)
torch.mv(m, x, out=o)
torch.addmm(m, m, m, out=o)
torch.matmul(m, m, out=o)
torch.exp(x, out=o)
torch.cat([x, y], out=o)
torch.stack([x, y], out=o)
torch.gt(x, y, out=o.bool())
torch.gt(x, 2, out=o.bool())
torch.clamp(x, 0, 1, out=o)
torch.clamp(x, x, y, out=o)
torch.pow(x, 2, out=o)
torch.pow(x, y, out=o)
torch.pow(2, x, out=o)
torch.xlogy(x, y, out=o)
torch.lerp(x, y, 0.5, out=o)
torch.fmod(x, 2, out=o)
torch.where(y > 1, x, y, out=o)
torch.index_select(x, 0, torch.tensor([0]), out=o)
torch.gather(x, 0, torch.tensor([0]), out=o)
torch.nextafter(x, y, out=o)
torch.nextafter(g, y, out=o)
torch.floor_divide(g, y, out=o)
torch.heaviside(g, y, out=o)
torch.ceil(g, out=o)
torch.add(g, y, out=o)
torch.add(x, y, out=o.long())
torch.add(x, y, out=x[:1].expand(2))
"""


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_mode_sees_an_operator_with_out_as_in_torch(call: str):
    program = f"""
        class Log(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append((str(func), len(args), sorted(kwargs)))
                return func(*args, **kwargs)
        x, y, o = torch.ones(2), torch.tensor([3.0, 0.5]), torch.empty(0)
        g, m = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[2.0, 1.0], [1.0, 3.0]])
        seen = []
        try:
            with Log():
                found = {call}
            show(found)
        finally:
            show([one for one in seen if "out" in one[2]])
    """
    mine, theirs = answers(program)
    assert mine == theirs


SEEN = """
torch.fft.fftfreq(3)
torch.fft.rfftfreq(3)
torch.hann_window(3)
torch.hamming_window(3)
torch.kaiser_window(3)
torch.bartlett_window(3)
torch.tril_indices(2, 2)
torch.triu_indices(2, 2, 1)
torch.complex(x, x)
torch.polar(x, x)
torch.empty_strided((2,), (1,))
torch.empty_permuted((2, 3), (1, 0))
torch.scalar_tensor(2.)
torch.zeros(2, dtype=torch.int64, requires_grad=False)
torch.zeros(size=(2,))
torch.zeros(())
torch.full((), 1.)
torch.full(size=(2,), fill_value=True)
torch.arange(end=3)
torch.arange(start=1, end=3)
torch.arange(0, 3)
torch.arange(0, 3, 1)
torch.linspace(start=0, end=1, steps=3)
torch.logspace(0, 1, 3, 10)
torch.randint(0, 3, (2,))
torch.randint(low=0, high=3, size=(2,))
torch.randint(3, size=(2,))
torch.randint(3, (2,), generator=torch.Generator())
torch.randint(1, 3, (2,), generator=torch.Generator())
torch.randint(3, (2,), dtype=torch.int32)
torch.rand(2, generator=torch.Generator())
torch.rand(2, dtype=torch.float64, device='cpu')
torch.randperm(3, generator=torch.Generator())
torch.eye(2, m=3)
torch.eye(n=2)
torch.empty(2, memory_format=torch.contiguous_format)
torch.empty(2, device='meta')
torch.zeros(2, device='meta')
torch.ones_like(x, dtype=torch.float64)
torch.ones_like(x, memory_format=torch.preserve_format)
torch.ones_like(x, device='meta')
torch.zeros_like(x, requires_grad=True)
torch.full_like(x, 2)
torch.randint_like(x, 1, 3)
torch.rand_like(x, dtype=torch.float64)
torch.empty_like(x, layout=torch.strided)
x.new_zeros((2,), dtype=torch.float64)
x.new_full((2,), 3.)
x.new_empty_strided((2,), (1,))
x.new_tensor(x)
torch.FloatTensor([1.])
torch.asarray([1.])
torch.frombuffer(bytearray(8), dtype=torch.float32)
torch.zeros(2, device=torch.device('cpu'))
torch.block_diag(x, x)
torch.cartesian_prod(x, x)
torch.meshgrid(x, x, indexing='ij')
torch.normal(0., 1., (2,), dtype=torch.float64)
torch.normal(x, 2.)
torch.nn.init.xavier_uniform_(torch.ones(2, 2))
torch.nn.init.normal_(x)
torch.nn.init.trunc_normal_(x)
torch.nn.functional.gumbel_softmax(x)
torch.zeros(2)
torch.ones(2, 3)
torch.ones((2, 3), dtype=torch.float64)
torch.empty(2)
torch.full((2,), 3.)
torch.full((2,), 3)
torch.eye(2)
torch.eye(2, 3)
torch.arange(3)
torch.arange(1, 3)
torch.arange(1, 3, 0.5)
torch.linspace(0, 1, 3)
torch.logspace(0, 1, 3)
torch.rand(2)
torch.randn(2)
torch.rand(2, requires_grad=True)
torch.randint(3, (2,))
torch.randint(1, 3, (2,))
torch.randperm(3)
torch.tensor([1., 2.])
torch.tensor(3)
torch.tensor([1.], requires_grad=True)
torch.tensor([1.], dtype=torch.float64)
torch.tensor(x)
torch.as_tensor([1.])
torch.as_tensor(x)
torch.zeros_like(x)
torch.ones_like(x)
torch.empty_like(x)
torch.full_like(x, 2.)
torch.rand_like(x)
torch.randn_like(x)
torch.randint_like(x, 3)
x.new_zeros(2)
x.new_ones(2)
x.new_empty(2)
x.new_full((2,), 2.)
x.new_tensor([1.])
torch.bernoulli(x)
torch.normal(x, x)
torch.normal(0., 1., (2,))
torch.multinomial(x, 1)
torch.poisson(x)
x.clone().uniform_()
x.clone().normal_()
x.clone().bernoulli_(0.5)
x.clone().random_()
x.clone().exponential_()
torch.nn.functional.dropout(x, 0.5, training=False)
x.detach()
g.detach()
g.detach_()
x.data
x[0].item()
float(x[0])
bool(x[0])
x.tolist()
x.numpy()
g.sum().backward()
(g * g).sum().backward()
torch.autograd.grad((g * g).sum(), g)
torch.autograd.grad((g * g).sum(), g, create_graph=True)
torch.autograd.grad(g.mean(), g, create_graph=True)
g.mean().backward()
torch.autograd.grad(g.exp(), g, x)
g.exp().backward(x)
x.requires_grad_()
x.clone()
x.contiguous()
m.contiguous()
x.to(torch.float64)
x.to(torch.float32)
x.double()
x.cpu()
x.type(torch.int64)
x.copy_(x)
x[0]
x[0:1]
x[[0, 1]]
x[x > 0]
x.__setitem__(0, 1.)
x.__setitem__(slice(0, 1), x[1:])
x + 1
1 + x
x - 1
1 - x
x / 2
2 / x
x ** 2
2 ** x
-x
x @ x
m @ m
m.t()
m.T
m.view(-1)
m.reshape(-1)
m.flatten()
m.transpose(0, 1)
m.permute(1, 0)
m.sum()
m.sum(0)
m.mean()
m.mean(0)
m.max()
m.max(0)
m.amax(0)
m.std()
m.var(0)
m.softmax(0)
m.log_softmax(0)
torch.cat([x, x])
torch.stack([x, x])
torch.split(x, 1)
torch.chunk(x, 2)
torch.unbind(m)
torch.where(x > 0, x, x)
torch.nn.functional.relu(x)
torch.nn.functional.gelu(x)
torch.nn.functional.linear(m, m)
torch.nn.functional.linear(m, m, x)
torch.nn.functional.mse_loss(x, x)
torch.nn.functional.cross_entropy(m, i)
torch.nn.functional.layer_norm(m, (2,))
torch.nn.functional.embedding(i, m)
torch.equal(x, x)
torch.allclose(x, x)
torch.isnan(x)
x.sort()
x.argmax()
x.topk(1)
x.cumsum(0)
torch.sigmoid(x)
torch.clamp(x, 0, 1)
x.clamp(min=0)
x.abs()
x.zero_()
x.fill_(1.)
x.add_(1)
x.mul_(x)
x.masked_fill(x > 0, 1.)
x.is_floating_point()
torch.nonzero(x)
torch.linalg.norm(x)
x.norm()
torch.einsum('ij,jk->ik', m, m)
torch.matmul(m, x)
torch.mv(m, x)
torch.dot(x, x)
torch.outer(x, x)
torch.nn.Linear(2, 2)
"""


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("call", SEEN.strip().splitlines())
def test_a_mode_sees_the_calls_of_torch(call: str):
    program = f"""
        def shown(value):
            if isinstance(value, torch.Tensor):
                return "tensor of " + str(list(value.shape))
            if isinstance(value, (list, tuple)):
                return [shown(one) for one in value]
            if isinstance(value, torch.Generator):
                return "a generator"
            return str(value)
        class Log(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append((str(func), shown(args), [(k, shown(v)) for k, v in kwargs.items()]))
                return func(*args, **kwargs)
        x, m = torch.tensor([0.5, 0.25]), torch.tensor([[1.0, 0.5], [0.25, 2.0]])
        g, i = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0, 1])
        seen = []
        with Log():
            {call}
        show(seen)
    """
    mine, theirs = answers(program)
    assert mine == theirs


DRAWN = """
x.uniform_()
x.uniform_(0, 2)
x.normal_()
x.normal_(1, 2)
x.random_()
x.random_(5)
x.random_(2, 5)
x.exponential_()
x.exponential_(2)
x.cauchy_()
x.geometric_(0.5)
x.log_normal_()
x.bernoulli_()
x.bernoulli_(0.25)
x.bernoulli_(p)
torch.bernoulli(x)
torch.bernoulli(x, 0.5)
torch.normal(x, x)
torch.normal(x, 2.0)
torch.normal(x)
torch.normal(0.0, x)
torch.poisson(x)
torch.binomial(x, x)
torch.multinomial(x, 1)
torch.multinomial(x, 2, True)
torch._standard_gamma(x)
torch._sample_dirichlet(x)
torch.bernoulli(x, generator=torch.Generator())
x.normal_(generator=torch.Generator())
"""


@pytest.mark.parametrize("call", DRAWN.strip().splitlines())
@pytest.mark.parametrize("flag", [False, True])
def test_a_class_is_asked_for_samples_as_in_torch(call: str, flag: bool):
    program = f"""
        class W(torch.Tensor):
            @staticmethod
            def __new__(cls, inner, flag=False):
                self = torch.Tensor._make_wrapper_subclass(cls, inner.shape, requires_grad=flag)
                self.inner = inner
                return self
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log.append((str(func), [a for a in args if not isinstance(a, W)], sorted(kwargs)))
                inner = [a.inner if isinstance(a, W) else a for a in args]
                result = func(*inner, **kwargs)
                return args[0] if str(func).split(".")[1].endswith("_") else cls(result)
        log = []
        p = torch.tensor([0.25, 0.75])
        x = W(torch.tensor([0.5, 0.25]), {flag})
        x = x * 1 if {flag} else x
        try:
            found = {call}
            show(type(found) is W, found.requires_grad, found.grad_fn and found.grad_fn.name())
            if found.requires_grad:
                found.sum().backward()
        finally:
            show(log)
    """
    mine, theirs = answers(program)
    assert mine == theirs


def test_a_parameter_of_a_programs_own_class_is_made_once_in_a_mode():
    mine, theirs = answers("""
        class Seen(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))
        class Scaled(torch.nn.Parameter):
            def __new__(cls, data, name, scale=2.0):
                made = super().__new__(cls, data * scale)
                made.called = name
                return made
        seen, x = [], torch.ones(2)
        with Seen():
            p = Scaled(x, "w")
        show(p.data, p.requires_grad, p.called, type(p).__name__, seen)
    """)
    assert mine == theirs
