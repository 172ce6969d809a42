"""Operators with `out=` in a mode below autograd, on impl and on torch: the overloads that the mode
sees, the results and their records."""

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
