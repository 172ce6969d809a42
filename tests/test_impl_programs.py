"""Short programs of several operators, run with torch and with impl: their tensors, errors and
warnings are the same."""

from __future__ import annotations

import math
import warnings

import pytest
import torch

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
    "the integral of nothing": """
        t = torch.trapezoid(torch.ones(2, 0), dim=1)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_torch(name):
    expected, got = (_observed(PROGRAMS[name], module) for module in (torch, impl))
    assert got == expected


def _observed(program: str, module) -> list:
    """The tensors that a program leaves, its warnings, and the error that ends it."""
    lines = "\n".join(line[8:] for line in program.splitlines())
    scope = {"torch": module, "math": math}
    seen: list = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.set_warn_always(True)
        try:
            exec(compile(lines, "<program>", "exec"), scope)
        except Exception as error:
            seen.append((type(error).__name__, str(error).splitlines()[0]))
        finally:
            module.set_warn_always(False)
    seen += [str(w.message).split(" (Triggered")[0] for w in caught if w.category is UserWarning]
    for name, value in scope.items():
        values = value if isinstance(value, tuple) else (value,)
        seen += [(name, _described(v)) for v in values if isinstance(v, (module.Tensor, bool))]
    return seen


def _described(value):
    if isinstance(value, bool):
        return value
    node = None if value.grad_fn is None else value.grad_fn.name()
    layout = value.stride(), value.storage_offset(), value._version, value._is_view()
    return str(value.dtype)[-7:], repr(value.tolist()), layout, value.requires_grad, node
