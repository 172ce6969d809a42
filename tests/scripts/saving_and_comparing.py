"""Saving, comparing, compiling, and settings, printed."""

import io

import torch
import torch.serialization
import torch.testing
from torch.nn.attention import SDPBackend, sdpa_kernel


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:300])


A = torch.testing.assert_close
o = torch.ones
for a, b, k in (
    (o(3), torch.tensor([1.0, 2, 3]), {}),
    (o(3), o(2), {}),
    (o(3), o(3, dtype=torch.float64), {}),
    (o(3), o(3, dtype=torch.float64), dict(check_dtype=False)),
    (o(()), torch.tensor(2.0), {}),
    ([o(1)], [torch.zeros(1)], {}),
    (1.0, 2.0, {}),
    (torch.tensor([1, 2]), torch.tensor([1, 3]), {}),
    ({"a": 1.0}, {"b": 1.0}, {}),
    ([1], [1, 2], {}),
    (o(2) + 1e-4, o(2), dict(rtol=1e-2, atol=0)),
    (o(2), o(2), dict(rtol=1)),
    (torch.tensor([float("nan")]), torch.tensor([float("nan")]), {}),
    (torch.tensor([float("nan")]), torch.tensor([float("nan")]), dict(equal_nan=True)),
    (o(2), o(2) * 3, dict(msg="hey")),
    (torch.tensor([True]), torch.tensor([False]), {}),
    (1, 2, {}),
    (o(2, 2), o(2, 2).t(), {}),
    ("a", "a", {}),
    (None, None, {}),
    (1, 1.0, {}),
):
    t(lambda: A(a, b, **k))


class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)


def rt(x, **k):
    b = io.BytesIO()
    torch.save(x, b)
    b.seek(0)
    return torch.load(b, **k)


torch.manual_seed(0)
m = Mine()
t(lambda: dict(rt(m.state_dict())))
t(lambda: rt({"a": [1, 2.5, "x", None, (torch.ones(2),)], "b": torch.nn.Parameter(o(2))}))
t(lambda: type(rt(m, weights_only=False)).__name__)
t(lambda: rt([torch.float32, torch.Size([2]), torch.device("cpu"), {1, 2}]))
x = o(4)
t(lambda: (lambda r: (r[0].add_(1), r[1]))(rt([x, x[:2]])))
opt = torch.optim.Adam(m.parameters())
m.linear(o(2)).sum().backward()
opt.step()
t(lambda: rt(opt.state_dict())["param_groups"][0]["lr"])
try:
    rt(m)
except Exception as e:
    print(type(e).__name__, str(e)[:20])
f = torch.compile(lambda x: x * 2, backend="eager")
print(f(o(1)))


@torch.jit.script
def g(x: torch.Tensor):
    return x * 2


print(g(o(1)), torch.jit.is_scripting(), torch.compiler.is_compiling())
d = torch.nn.DataParallel(torch.nn.Linear(2, 2))
print(list(d.state_dict()), d(o(1, 2)).shape)
with sdpa_kernel(SDPBackend.MATH):
    print(
        torch.nn.functional.scaled_dot_product_attention(o(1, 2, 3), o(1, 2, 3), o(1, 2, 3)).shape
    )
torch.set_deterministic_debug_mode("warn")
print(torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled())
torch.set_deterministic_debug_mode(0)
t(lambda: torch.set_deterministic_debug_mode("x"))
t(lambda: torch.set_deterministic_debug_mode(5))
print(torch.is_signed(o(1)), torch.is_storage(o(1).untyped_storage()), torch.get_device(o(1)))
print(torch.overrides.is_tensor_like(o(1)), torch.overrides.is_tensor_like(3), torch.types.Number)
