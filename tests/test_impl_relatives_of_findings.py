"""Relatives of findings of random programs: the order of checks, the memory of gradients, and the
state after an operator that fails, or writes to an operand.

Programs run with torch and with impl leave the same tensors, errors and warnings.
"""

from __future__ import annotations

import pytest
import torch
from made_programs import observed

import impl

# Each program is one cause of a difference that a fuzzer of programs found.
PROGRAMS = {
    "the dtype of what is normalised by running statistics, before the number of dimensions": """
        x = torch.ones(1, dtype=torch.int64)
        torch.native_batch_norm(x, None, None, x, x, False, 1.0, 0.0)
    """,
    "the dtype of what is normalised in out=, before the number of dimensions": """
        x = torch.tensor(1)
        out = torch.zeros(0), torch.zeros(0), torch.zeros(0)
        try:
            torch.native_batch_norm(x, None, None, None, None, True, 1.0, 0.0, out=out)
        finally:
            del out
    """,
    "complex numbers are not normalised, whatever the dtype of the statistics": """
        x = torch.ones(1, 1, dtype=torch.complex64)
        torch.native_batch_norm(x, None, None, torch.ones(1), torch.ones(1), True, 1.0, 0.0)
    """,
    "a bias that is missing is added, in memory with gaps": """
        x = -torch.zeros(4, 2)[::2]
        s = torch.zeros(2), torch.ones(2)
        y = torch.batch_norm(x, None, None, *s, False, 0.0, 0.1, False)
    """,
    "a gradient whose layout is not that of NumPy is no view": """
        x = torch.ones(2, 3).t().detach().requires_grad_()
        a = x * 1
        a[1:, -2:] *= 3
        a.grad_fn.register_hook(lambda gi, go: scope.update(t=gi[0]))
        a.backward(torch.ones_like(a))
    """,
    "a gradient with strides of its own is added to in place": """
        x = torch.zeros(3, 3, 1, requires_grad=True)
        y = torch.nn.functional.pairwise_distance(x, x)
        t = torch.autograd.grad(y, [x], torch.ones(3, 3).t())
    """,
    "a gradient of elements that overlap is laid out as the iterator has it": """
        x = torch.ones(3, 4, requires_grad=True)
        t = torch.autograd.grad(x * 2, [x], torch.ones(6).as_strided((3, 4), (1, 1)))
    """,
    "a view of an inference tensor, made by a backward, has no base": """
        x = torch.ones(2, 2, requires_grad=True)
        y = x.mT.roll(1)
        with torch.inference_mode():
            t = torch.autograd.grad(y, [x], torch.ones_like(y))
    """,
    "a view of a normal tensor, made by a backward in inference mode": """
        x = torch.ones(2, 2, requires_grad=True)
        y, g = x.mT, torch.ones(2, 2)
        with torch.inference_mode():
            t = torch.autograd.grad(y, [x], g)
        t[0].requires_grad_()
        t[0].add_(1)
    """,
    "a view of a gradient without elements keeps its version": """
        x = torch.zeros(0, 2, 3, requires_grad=True)
        y = x.unsqueeze(0).squeeze(0)
        t = torch.autograd.grad((y * y).sum(), [x])
    """,
    "a gradient made in place by a pass that follows tangents": """
        x = torch.zeros(2, requires_grad=True)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x, torch.ones(2))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
            t = torch.autograd.grad(loss, [x])
        del dual, loss
    """,
    "a copy without elements is a write": """
        m = torch.nn.LazyLinear(2)
        m.load_state_dict(m.state_dict())
        t = m.weight._version == 1
    """,
    "memory that is not contiguous, before the dtype": """
        torch.searchsorted(torch.ones(3)[::2], 1j)
    """,
    "memory that is not contiguous, where nothing is searched for": """
        torch.searchsorted(torch.ones(3)[::2], torch.ones(0))
    """,
    "an inference tensor is written before it is refused": """
        with torch.inference_mode():
            x = torch.tensor([-0.5])
        x %= torch.tensor(1.0, requires_grad=True)
    """,
    "a leaf that is an inference tensor, where autograd sees no operand": """
        with torch.inference_mode():
            x = torch.tensor([0.5], requires_grad=True)
        x.copysign_(2)
    """,
    "an inference tensor that would be saved, before the dtype of a condition": """
        with torch.inference_mode():
            c = torch.tensor([1.0])
        torch.where(c, torch.ones(2, requires_grad=True), 1)
    """,
    "an inference tensor that would be saved, before the dtype of an index": """
        with torch.inference_mode():
            c = torch.tensor([1.0])
        torch.ones(2, requires_grad=True).index_fill(0, c, 2)
    """,
    "an imaginary part that is lost, before the dimension": """
        torch.ones(2).index_fill(3, torch.ones(2).long(), 2j)
    """,
    "a product in memory that begins after its owner's": """
        x = torch.tensor([9.0, 2, 3, 0, 4, 5, 0, 0]).as_strided((2, 3, 2), (1, 2, 1))
        y = x[1].t().detach().requires_grad_()
        t = torch.autograd.grad(y.prod(0), [y], torch.ones(3))
    """,
    "logarithms of complex zeros": """
        z = torch.tensor([complex(-math.inf, 0.5), complex(-math.inf, -1), 0])
        t = torch.logcumsumexp(z, 0)
        u = torch.logaddexp(z, z.flip(0)[1])
    """,
    "out= is written until an index is out of range": """
        x, i, s = torch.ones(1, 2), torch.tensor([[0, 2]]), torch.tensor([[3.0, 5.0]])
        t = torch.zeros(1, 2)
        torch.scatter_add(x, 0, i, s, out=t)
    """,
    "numbers are drawn into the deviation": """
        t = torch.tensor([3.0, 2.0])
        torch.normal(-0.5, t, out=t)
    """,
    "numbers are drawn into the mean": """
        t = torch.tensor([3.0, 2.0])
        torch.normal(t, 2.0, out=t)
    """,
    "numbers are drawn into a part of the mean": """
        x = torch.ones(4)
        torch.normal(x[:2], 1.0, out=x[1:3])
    """,
    "rows that are scaled cannot be differentiated": """
        x = torch.ones(2, 2, requires_grad=True) * 2
        y = torch.embedding_renorm_(x, torch.tensor([0]), 100.0, 2.0)
        y.sum().backward()
    """,
    "rows that are scaled have no tangents": """
        x = torch.ones(2, 2)
        with torch.autograd.forward_ad.dual_level():
            y = torch.autograd.forward_ad.make_dual(x, x)
            torch.embedding_renorm_(y, torch.tensor([0]), 1.0, 2.0)
    """,
    "the memory of a view's base does not reach to the end of the view": """
        x = torch.zeros(2, 3).view(6)
        x.set_(torch.ones(4, 4, requires_grad=True))
        x.backward(torch.ones(4, 4))
    """,
    "the number of dimensions of a norm, before the dtype of out=": """
        torch.nuclear_norm(torch.ones(1, 1).double(), (0,), out=torch.zeros(0))
    """,
    "out= of a conjugate that overlaps itself": """
        torch.conj_physical(torch.ones(1), out=torch.zeros(1).expand(2))
    """,
    "out= of a conjugate that overlaps the input": """
        t = torch.ones(3)
        torch.conj_physical(t[1:], out=t[:2])
    """,
    "slices that are added one after the other": """
        x = torch.ones(4, 4, 2)
        x.index_add_(1, torch.tensor([0, 7, 1]), torch.ones(4, 3, 2))
    """,
    "slices that are added with a factor": """
        x = torch.ones(4, 4)
        x.index_add_(1, torch.tensor([0, 7]), torch.ones(4, 2), alpha=3.0)
    """,
    "elements that are added one after the other": """
        x = torch.ones(4, 4)
        x.index_add_(1, torch.tensor([0, 7]), torch.ones(4, 2))
    """,
    "the offset of a part is that in the memory of the cotangent": """
        x, y = torch.ones(3, 3, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        z = torch.as_strided_scatter(x, y, (2, 2), (1, 2), 1)
        t = torch.autograd.grad(z, [x, y], torch.arange(12.0).view(4, 3)[1:])
    """,
    "the result is resized to out=": """
        torch.fft.ihfft2(torch.ones(1, 1), dim=(0,), out=torch.zeros(0, dtype=torch.complex64))
        torch.fft.ihfftn(torch.ones(1), out=torch.zeros(0, dtype=torch.complex64))
    """,
    "the dtype of a mask, before its shape": """
        torch.ones(2).masked_fill_(torch.ones(3), 2)
    """,
    "a segment of negative length": """
        torch.segment_reduce(torch.ones(2), "prod", offsets=torch.tensor([1, 2, 0]))
    """,
    "the width of windows before their height": """
        torch.nn.functional.fractional_max_pool3d(
            torch.ones(1, 3, 2, 2), (2, 2, 1), output_size=(1, 2, 3)
        )
    """,
    "the argument of a transform is a leaf in it": """
        x = torch.ones(2, requires_grad=True) * 2
        torch.func.grad(lambda a: a.mul_(2).sum())(x)
    """,
    "a system of more dimensions on the right": """
        torch.linalg.tensorsolve(torch.ones(2), torch.ones(2, 2))
    """,
    "the type of a tensor in the text of an error": """
        torch.stft(torch.ones(2, dtype=torch.bfloat16), 2, return_complex=False)
    """,
    "complex numbers in the text of an error": """
        torch.meshgrid([torch.ones(1, 1, 1) * 1j], indexing="ij")
    """,
    "the number of dimensions of batch sizes": """
        d = torch.ones(2, 2)
        torch.lstm(d, d, [d, d], [d], True, 2, 2.0, False, False)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_torch(name):
    expected, got = (observed(PROGRAMS[name], module) for module in (torch, impl))
    assert got == expected
