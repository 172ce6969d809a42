"""Short programs of several operators, run with torch and with impl: their tensors, errors and
warnings are the same."""

from __future__ import annotations

import pytest
import torch
from made_programs import observed

import impl

# Each program is one cause of a difference that a fuzzer of programs found.
PROGRAMS = {
    "a mask of the written tensor itself": """
        t = torch.tensor([2.0, 1.0])
        t[t > 1] = t[:1]
        u = torch.tensor([3.0, 4.0])
        u[torch.tensor([True, False])] = u[1:]
        b = torch.tensor([[True, False]])
        b[b] = torch.tensor(0.0)
    """,
    "a mask at which an expanded tensor is written": """
        t = torch.ones(1).expand(2)
        t[[False, True]] = torch.tensor([2.0])
    """,
    "a mask of bytes, and one value": """
        t = torch.ones(2)
        t[torch.tensor([1, 0], dtype=torch.uint8)] = torch.ones(1)
    """,
    "indices overlap their values": """
        t = torch.tensor([3.0, 4.0])
        t[torch.tensor([0])] = t[1:]
    """,
    "out= is an operand of a smaller shape": """
        t = torch.tensor([1.5])
        torch.add(t, torch.ones(2, 2), out=t)
    """,
    "out= is an operand of a smaller shape, of a comparison": """
        t = torch.tensor(1.5)
        torch.floor_divide(t, torch.ones(2), out=t)
    """,
    "out= is an operand of the result's shape": """
        t = torch.ones(2, 2)
        torch.add(torch.ones(2), t, out=t)
    """,
    "numpy of a reduced dtype that requires grad": """
        torch.ones(2, dtype=torch.bfloat16, requires_grad=True).numpy()
    """,
    "a read-only attribute of matrices": """
        torch.ones(2, 2).mT = 1
    """,
    "a read-only attribute of the device": """
        torch.ones(2, 2).is_cpu = True
    """,
    "a product of vectors that are bool": """
        torch.linalg.cross(torch.ones(3) > 0, torch.ones(3, dtype=torch.bfloat16))
    """,
    "a product of vectors of two dtypes": """
        torch.linalg.cross(torch.ones(3, dtype=torch.bfloat16), torch.ones(3))
    """,
    "a view in a wider dtype looks at the size before the stride": """
        torch.ones(()).expand(3).view(torch.float64)
    """,
    "extrema of nothing name the dimension as given": """
        torch.zeros(2, 0).amin(-1)
    """,
    "maxima of complex numbers": """
        torch.nn.functional.max_pool1d(torch.ones(1, 2, 3, dtype=torch.complex64), 1)
    """,
    "a norm of a complex degree": """
        torch.ones(2, 2).renorm(1j, 0, 2.0)
    """,
    "a complex norm": """
        torch.ones(2, 2).renorm(1, 0, 2j)
    """,
    "distinct rows with NaN": """
        t = torch.tensor([[math.nan, 1.0], [2.0, 1.0], [0.0, 1.0], [math.nan, 0.0]])
        rows = t.unique(dim=0, return_inverse=True, return_counts=True)
        columns = t.unique(dim=1)
    """,
    "the numerical gradient of a number": """
        torch.gradient(torch.tensor(2.0), spacing=1.5, dim=0)
    """,
    "the layout of mantissa and exponent": """
        parts = torch.frexp(torch.arange(12.0).view(3, 4)[1:, ::2].t().split(1)[0])
        more = torch.frexp(torch.arange(6.0).as_strided((2, 3), (1, 1), 1))
    """,
    "the layout of a sum with a known zero": """
        t = torch.arange(6.0).view(2, 3).t()
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(t, torch.ones_like(t))
            primal, tangent = torch.autograd.forward_ad.unpack_dual(dual * t)
    """,
    "a gradient that is a view of the given one": """
        t = torch.arange(6.0).view(2, 3).requires_grad_()
        u = t.t()
        (g,) = torch.autograd.grad(u, [t], u)
    """,
    "a dirty input loses its gradient": """
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 2

        t = torch.ones(2, requires_grad=True)
        u = t * 1
        u.retain_grad()
        u.sum().backward(retain_graph=True)
        before = u.grad
        v = Doubled.apply(u)
        after = v.grad is None
    """,
    "an input returned as it is has the strides of a view": """
        class Identity(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, g):
                return g

        t = torch.ones(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
        u = Identity.apply(t.requires_grad_())
    """,
    "out= of another shape that requires grad": """
        torch.inner(torch.ones(3), torch.ones(3), out=torch.ones(3, requires_grad=True) * 1)
    """,
    "one value at indices of which the first is a mask that does not fit": """
        t = torch.ones(4, 4)
        t[torch.tensor([2, 2], dtype=torch.uint8), torch.tensor([3, 3, 3])] = 1
    """,
    "an expanded tensor at indices, from itself": """
        t = torch.ones(()).expand(2, 3, 2, 2)
        t[[0], [-2, -1]] = t
    """,
    "rows joined into one of them": """
        t = torch.ones(1, 1)
        torch.vstack([t], out=t)
    """,
    "memory that NumPy has, too": """
        (lambda t: (t.numpy(), t.resize_(3)))(torch.ones(2))
    """,
    "a bool tensor and a number of 64 bits": """
        torch.ones(2, dtype=torch.bool) * 2**63
    """,
    "shapes before a kernel without complex numbers": """
        torch.lt(torch.ones(2, 3), torch.ones(2, dtype=torch.complex64))
    """,
    "dimensions before a kernel without complex numbers": """
        torch.ones(2, dtype=torch.complex64).sort(2)
    """,
    "memory before indices out of range": """
        t = torch.ones(1)
        t.scatter_(0, torch.tensor([-2]), t)
    """,
    "a number has no dimension to take along": """
        torch.tensor(2.0).take_along_dim(torch.tensor(0), 0)
    """,
    "a number has no dimension to repeat along": """
        torch.tensor(2.0).repeat_interleave(torch.tensor([2]), -1)
    """,
    "the number of chunks before the dimension": """
        torch.ones(4).chunk(0, 5)
    """,
    "the size of the parts before the dimension": """
        torch.ones(4).split(-1, 5)
    """,
    "an expanded gradient of one element": """
        t = torch.ones(1, requires_grad=True)
        (g,) = torch.autograd.grad((t + 1).sum(), [t])
    """,
    "a gradient of gather counts its writes": """
        t = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad(t.gather(0, torch.tensor([0])).sum(), [t])
    """,
    "extrema under jacrev": """
        j = torch.func.jacrev(lambda x: x.max())(torch.tensor([[1.0, 2.0], [2.0, 0.0]]))
        n = torch.func.jacrev(lambda x: x.max())(torch.full((2, 2), math.nan))
    """,
    "ties of extrema in a gradient under vmap": """
        t = torch.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, math.nan]])
        for name in ("max", "min", "median", "nanmedian"):
            g = torch.func.vmap(torch.func.grad(lambda x: getattr(x, name)()))(t)
            j = torch.func.jacfwd(lambda x: getattr(x, name)())(t[0])
            v = torch.func.grad(lambda x: torch.func.vmap(lambda y: getattr(y, name)())(x).sum())(t)
            scope[name] = (g, j, v)
    """,
    "products in a transform do not divide": """
        t = torch.tensor([math.inf, 1.0])
        g = torch.func.grad(lambda x: x.prod())(t)
        d = torch.func.grad(lambda x: x.prod(0))(t)
        c = torch.func.grad(lambda x: x.cumprod(0).sum())(t)
    """,
    "cumulative products with a zero under jacrev": """
        j = torch.func.jacrev(lambda x: x.cumprod(0))(torch.tensor([0.0, 3.0, 2.0]))
    """,
    "the transposes of examples": """
        t = torch.ones(2, 3, requires_grad=True)
        u = torch.func.vmap(lambda x: x.t())(t)
        torch.func.vmap(lambda x: x.t())(torch.ones(2, 2, 2, 2))
    """,
    "the only chunk of a map": """
        t = torch.ones(2, 2, requires_grad=True)
        u = torch.func.vmap(lambda x: x.sum(), chunk_size=4)(t)
    """,
    "a write over memory that shares elements, in another dtype": """
        b = torch.arange(8, dtype=torch.float16)
        b.as_strided((2, 3), (1, 1), 1).div_(torch.tensor([2.0, 0.5, 4.0]))
    """,
    "numbers of half precision over memory that shares elements": """
        b = torch.arange(8, dtype=torch.float16)
        b.as_strided((2, 3), (1, 1), 1).mul_(2)
        c = torch.arange(8, dtype=torch.float16)
        c.as_strided((2, 3), (1, 1), 1).clamp_(3)
    """,
    "an integer view takes values that require grad": """
        t = torch.zeros(3, 2, dtype=torch.int16)
        t.unbind(1)[0].copy_(torch.ones(3, requires_grad=True))
    """,
    "complex powers of zero": """
        t = torch.tensor([-math.inf, 0.0, math.nan, 2.0], dtype=torch.complex128)
        u = t ** torch.zeros(4, dtype=torch.complex128)
    """,
    "a distance to a bool tensor": """
        torch.ones(2).dist(torch.ones(2, dtype=torch.bool))
    """,
    "a similarity with a bound that is NaN": """
        torch.cosine_similarity(torch.ones(1, 2), torch.ones(1, 2), 1, math.nan)
    """,
    "the tangent of a product of two dtypes": """
        with torch.autograd.forward_ad.dual_level():
            t = torch.ones(2, dtype=torch.float64)
            dual = torch.autograd.forward_ad.make_dual(t, torch.ones(2))
            dual.dot(dual)
    """,
    "a join into a tensor that requires grad": """
        t = torch.ones(2, requires_grad=True) * 1
        torch.hstack([t], out=t)
    """,
    "a number has no dimension to integrate along": """
        torch.cumulative_trapezoid(torch.tensor(1.0), torch.ones(4))
    """,
    "bool is its own conjugate": """
        t = torch.zeros(2, dtype=torch.bool)
        torch.conj_physical(torch.ones(2, dtype=torch.bool), out=t)
    """,
    "the integral of nothing": """
        t = torch.trapezoid(torch.ones(2, 0), dim=1)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_torch(name):
    expected, got = (observed(PROGRAMS[name], module) for module in (torch, impl))
    assert got == expected
