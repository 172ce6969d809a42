"""Relatives of the findings of a long search by random programs, compared with PyTorch.

Each entry is a program, of which errors, warnings and the values of names are compared, with
strides, versions and nodes.
"""

from __future__ import annotations

import pytest
import torch
from made_programs import observed

import impl

pytestmark = pytest.mark.filterwarnings("ignore")

VJP = """
x = torch.zeros(2, 2)
value, pull = torch.func.vjp(lambda y: {}, x)
with torch.no_grad():
    g = pull(torch.ones_like(value))[0]
"""

# Functions whose gradients arrive several times, or are made in place.
PULLED = [
    "y * y",
    "y.sin() + y.cos()",
    "y @ y.T",
    "y.exp() * y.exp() * y",
    "y + y",
    "y - y",
    "torch.stack([y, y])",
    "y[0] * y[1]",
    "y[torch.tensor([0, 0])]",
    "y[y > 0]",
    "y.take(torch.tensor([0, 0]))",
    "y.max()",
    "y.sort(0)[0]",
    "y.gather(0, torch.tensor([[0, 0]]))",
    "y.cumprod(0)",
    "torch.func.vmap(lambda z: z * z.sin())(y)",
]

EMPTY = """
x = torch.ones({}, requires_grad=True)
g = torch.autograd.grad({}, [x], torch.tensor(1.0))[0]
({}).backward(torch.tensor(1.0))
first = x.grad._version
({}).backward(torch.tensor(1.0))
"""

SUMMED = ["x.sum()", "x.t().sum()", "x.unsqueeze(0).sum()", "x[None].sum()", "(x * x).sum()"]

MARGINS = """
x = torch.zeros((0, 4), dtype=torch.{}, requires_grad=True)
target = torch.zeros({}).to(torch.{})
loss = torch.nn.functional.{}(x, target, reduction="none")
loss.backward(torch.ones_like(loss))
"""

RENORM = """
x = torch.tensor([[-2.0, 1.0, -2.0], [1.0, 3.0, 0.1]], dtype=torch.{}).requires_grad_()
g = torch.autograd.grad(x.renorm({}, 1, 1.0).sum().abs(), x, create_graph=True)[0]
node, names = g.grad_fn, ()
while node is not None and node.next_functions:
    names, node = (*names, node.name()), node.next_functions[0][0]
g = g.detach()
"""

ATTENTION = """
x = torch.ones(1, 2, 2, 3, 4, requires_grad=True)
parts = [x if taken else x.detach() for taken in {}]
out = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal={})
g = torch.autograd.grad(out.sum(), [x])[0]
"""

UNFIT = """
fwd = torch.autograd.forward_ad
with fwd.dual_level():
    a = fwd.make_dual(torch.ones(2), torch.ones(2))
    a.data = torch.ones({})
    a.{}
"""

ZEROED = """
import numpy as np
p = torch.ones(2, requires_grad=True)
o = torch.optim.{}([p], lr=0.1, foreach={})
o.zero_grad({})
"""

ADAGRAD = """
import numpy as np
p = torch.ones(2, dtype=torch.{})
o = torch.optim.Adagrad([p], initial_accumulator_value={})
total = o.state[p]["sum"]
"""

IN_MODE = """
x = torch.zeros({}, requires_grad=True)
y = {}
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    g = torch.autograd.grad(y, [x], torch.ones_like(y))[0]
"""

LENGTHS = """
p, labels = torch.ones(3, 1, 2), torch.ones(1, 1, dtype=torch.int64)
i = torch.ones(1, requires_grad={})
t = torch.ones(1, requires_grad={})
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    loss = torch.nn.functional.ctc_loss(p, labels, i, t)
"""

DIVIDED = """
c = torch.tensor({}, dtype=torch.{})
d = torch.tensor({})
c.{}(d{})
"""

DIVIDED_OUT = """
o = torch.zeros({}, dtype=torch.{})
torch.{}(torch.tensor([4, -3, 5]), torch.tensor([3, 0, 2]), out=o)
"""

SCATTERED = """
layouts = {{
    "rows": torch.arange(12.0).view(3, 4),
    "late": torch.arange(13.0)[1:].view(3, 4),
    "turned": torch.arange(12.0).view(4, 3).t(),
    "one": torch.ones(1).expand(3, 4),
    "shared": torch.arange(12.0).as_strided((3, 4), (1, 1)),
    "gaps": torch.arange(25.0)[1:].view(3, 8)[:, ::2],
}}
x, a = torch.ones(3, 4, requires_grad=True), torch.ones({}, requires_grad=True)
y = torch.{}(x, a, {})
found = tuple(torch.autograd.grad(y, [x, a], g, retain_graph=True) for g in layouts.values())
"""

DUAL = """
with torch.inference_mode():
    a = torch.tensor([-1.0], requires_grad={})
with torch.set_grad_enabled({}), torch.autograd.forward_ad.dual_level():
    b = torch.autograd.forward_ad.make_dual(a, torch.ones_like(a))
    c = b * 2
    t = torch.autograd.forward_ad.unpack_dual(c).tangent
"""

PROGRAMS = [
    *(
        DIVIDED.format(dividend, kind, divisor, write, mode)
        for write, mode in (
            ("fmod_", ""),
            ("remainder_", ""),
            ("floor_divide_", ""),
            ("div_", ", rounding_mode='trunc'"),
        )
        for dividend, divisor in (
            ([4, -3, -7, 2], [3, 2, 0, 1]),
            ([[4, 3], [5, 2]], [3, 0]),
            ([[4, 3], [5, 2]], 0),
            ([4, -3], [0, 1]),
            ([4, -3], [3, -2]),
        )
        for kind in ("int64", "int32")
    ),
    *(
        DIVIDED_OUT.format(size, kind, name)
        for name in ("fmod", "remainder", "floor_divide")
        for size, kind in ((3, "int64"), (3, "int32"), (3, "float32"))
    ),
    *(
        SCATTERED.format(shape, name, place)
        for name, shape, place in (
            ("diagonal_scatter", 3, 0),
            ("select_scatter", 4, "0, 1"),
            ("slice_scatter", (1, 4), "0, 1, 2"),
        )
    ),
    *(DUAL.format(flag, grads) for flag in (True, False) for grads in (True, False)),
    *(
        f"y = torch.tensor({target}).{name}({dim}, torch.tensor({index}), torch.tensor({source}))"
        for name in ("index_copy", "index_copy_")
        for target, dim, index, source in (
            ([[-1]], 0, 0, 0),
            ([[-1, 2]], 1, [0], 3),
            ([[-1, 2]], 1, [0], [[3], [4]]),
            ([[-1, 2]], 0, [0], [[3, 4, 5]]),
            ([-1], 0, 0, 0),
            (-1, 0, [0], [5]),
        )
    ),
    *(
        # Of a table with columns torch writes beyond the result.
        "w = torch.ones(1, 0, requires_grad=True)\n"
        f"y = torch.embedding_bag(w, torch.tensor([0]), torch.tensor([0]), mode={mode}, "
        "include_last_offset=True)"
        for mode in (0, 1)
    ),
    *(
        f"y = torch.histc(torch.ones({size}, dtype=torch.{kind}))"
        for size in (0, 2)
        for kind in ("bool", "int64", "float64")
    ),
    *(
        f"y = torch.baddbmm(torch.tensor(1, dtype=torch.{first}), torch.zeros(0, 5, 5, "
        f"dtype=torch.{first}), torch.zeros(0, 5, 2, dtype=torch.{second}))"
        for first, second in (("float32", "float64"), ("complex64", "float16"))
    ),
    *(
        f"torch.manual_seed(0)\nx = -{value}.requires_grad_()\n"
        f"y = torch.nn.functional.rrelu(x, training={training})\n"
        f"strides = torch.autograd.grad(y, [x], {gradient})[0].stride()\ny = x = None\n"
        for value in ("torch.ones(3, 4)", "torch.ones(4, 3).t()")
        for gradient in ("torch.ones(3, 4)", "torch.ones(4, 3).t()")
        for training in (True, False)
    ),
    *(
        f"w = torch.zeros(2, {columns}, requires_grad=True)\nfor _ in range(2):\n"
        "    rows = torch.zeros((1, 3), dtype=torch.int64)\n"
        "    torch.nn.functional.embedding(rows, w, sparse=True).sum().backward()\n"
        "parts = (w.grad._indices().shape, w.grad._values().shape, w.grad._version)\n"
        for columns in (0, 2)
    ),
    *(f"m = torch.nn.RNNBase({mode}, 1, 2)" for mode in ("[None]", "{}", "3", "'x'")),
    *(VJP.format(function) for function in PULLED),
    "x = torch.ones(2, requires_grad=True)\n"
    "pull = torch.func.vjp(lambda y: y * y * x, x)[1]\n"
    "a, b = pull(x, create_graph=False)[0], pull(x, True, True)[0]\n"
    "with torch.no_grad():\n"
    "    c, d = pull(x, True, True)[0], pull(x)[0]\n",
    *(EMPTY.format(shape, *[root] * 3) for shape in ((0, 2), (2, 0), (2, 2)) for root in SUMMED),
    *(
        MARGINS.format(kind, shape, target, loss)
        for kind in ("float32", "float16", "complex64")
        for target in ("float32", "int64", "int32")
        for shape, loss in (("0, 4", "multilabel_margin_loss"), ("0", "multi_margin_loss"))
    ),
    *(
        RENORM.format(kind, p)
        for kind in ("float32", "float64", "float16", "complex64")
        for p in (1.0, 2.0, 3.0)
    ),
    *(
        ATTENTION.format(parts, causal)
        for parts in ((1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1))
        for causal in (True, False)
    ),
    *(
        UNFIT.format(shape, write)
        for shape in ("2, 2", "3")
        for write in ("mul_(2)", "sin_()", "add_(1)", "zero_()", "mul_(torch.ones(1))")
    ),
    *(
        ZEROED.format(name, option, to_none)
        for name in ("SGD", "Adam", "RMSprop")
        for option in ("np.ones(2)", "torch.ones(2)", "'x'", "None")
        for to_none in (True, False)
    ),
    *(
        ADAGRAD.format(kind, number)
        for kind in ("float32", "complex64")
        for number in ("np.complex64(2 + 1j)", "np.complex128(2j)", "np.float16(1)", "2")
    ),
    *(
        IN_MODE.format(shape, value)
        for shape in ((2, 0), (0, 2), (2, 2))
        for value in ("x * x", "x.exp() * x", "torch.nn.functional.rms_norm(x, x.shape[-1:])")
    ),
    IN_MODE.format((2, 0), "x[torch.tensor([0])]"),
    IN_MODE.format((2, 0), "x.index_select(0, torch.tensor([0]))"),
    *(LENGTHS.format(i, t) for i in (True, False) for t in (True, False)),
    *(
        f"b = torch.tensor([0.0]).expand({size})\nc = torch.{name}(-2.0, {end}, out=b)"
        for size in (1, 4)
        for name in ("range", "arange")
        for end in (-1.5, 1)
    ),
    *(
        f"x = torch.ones(1, 2, 3, 4)\ny = torch.{name}(x, {dims})"
        for name in ("permute", "permute_copy", "ops.aten.permute")
        for dims in ((2, -2, 4, 0), (2, 4, -2, 0), (2, -2, 9), (3, 1, 0, 2))
    ),
    *(
        f"a = torch.ones(3, 2)\ny = torch.nn.functional.linear_cross_entropy({arguments})"
        for arguments in ("1.5, a, a", "a, 1.5, a", "a, a, 1.5", "a, a, a, linear_bias=1.5")
    ),
    "x = torch.ones(2)\na = torch.ones(2, requires_grad=True)\n"
    "o = torch.optim.Adamax([x, a], weight_decay=3.0, differentiable=True)\n"
    "a.sin().sum().backward()\no.step()\n"
    "names, node = (), o.state[a]['exp_inf'].grad_fn\n"
    "while node.next_functions:\n"
    "    names, node = (*names, node.name()), node.next_functions[-1][0] or "
    "node.next_functions[0][0]\n",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    assert observed(program, impl) == observed(program, torch)
