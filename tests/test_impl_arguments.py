"""Arguments that are unusual in one way: empty, of another dtype, in `out=`, or wrong twice.

Programs run with torch and with impl leave the same tensors, errors and warnings.
"""

from __future__ import annotations

import pytest
import torch
from made_programs import observed

import impl

# Each program is one cause of a difference that a fuzzer of programs found.
PROGRAMS = {
    "a number of which cumulative integrals are made, with one place": """
        torch.cumulative_trapezoid(torch.tensor(1.0), torch.tensor(1.0))
    """,
    "an integral of a number along a dimension that it has not": """
        torch.trapezoid(torch.tensor(1.0), dim=1)
    """,
    "a power of one in any dtype": """
        t = torch.zeros(3, dtype=torch.int32)
        torch.pow(1, torch.ones(2, 2, dtype=torch.complex128).mT, out=t)
    """,
    "a count of repetitions in a narrow integer dtype": """
        c = torch.tensor([1, 2], dtype=torch.uint8)
        t = torch.repeat_interleave(torch.ones(2, requires_grad=True), c)
        u = torch.repeat_interleave(c)
    """,
    "a loss of no classes": """
        t = torch.nn.functional.nll_loss(torch.zeros(2, 0), torch.tensor([1, 1]), ignore_index=1)
        u = torch.nn.functional.cross_entropy(
            torch.zeros(0), torch.tensor([1]), ignore_index=1, reduction="sum"
        )
    """,
    "numbers of an empty range in out=": """
        t = torch.ones(2)
        torch.randint(1, 0, (5, 0, 1), out=t)
    """,
    "numbers of a negative deviation in out=": """
        t = torch.ones(2)
        torch.normal(1.0, -1.0, (3, 0), out=t)
    """,
    "the real logarithm of a sum of large complex numbers": """
        t = torch.zeros(0, dtype=torch.float64)
        torch.logsumexp(torch.tensor([300.0 + 0j, 0.5]), 0, out=t)
        u = torch.zeros(0)
        torch.logsumexp(torch.zeros(0, 1, dtype=torch.complex64), 0, out=u)
    """,
    "rows without elements, of which one is out of range": """
        torch.nn.functional.embedding(torch.tensor([[1]]), torch.ones(1, 0))
    """,
    "a product of reflections is cast to out=": """
        t = torch.zeros(0)
        torch.linalg.householder_product(torch.eye(2).double(), torch.ones(1).double(), out=t)
        torch.orgqr(torch.eye(2), torch.ones(1), out=torch.zeros(0, dtype=torch.bool))
    """,
    "the dtype of probabilities before the lengths of labels": """
        torch.ctc_loss(torch.tensor([[0]]), torch.ones(2), (2, -1), (-1, 0, 1, 2))
    """,
    "the dtype of a vector before the order of its norm": """
        torch.linalg.vector_norm(torch.tensor([2]), 1j)
    """,
    "the dimensions of a matrix norm before its dtype": """
        torch.linalg.matrix_norm(torch.ones(2, 2), 1.0, (1, 1), dtype=torch.int64)
    """,
    "the rank of a value that fills before the dtype of the indices": """
        torch.ones(2).index_fill_(0, torch.ones(2), torch.ones(2))
    """,
    "an index that requires grad": """
        index = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        t = torch.scatter(torch.ones(2), 0, index, 1.0, reduce="multiply")
    """,
    "the slope of an angle of a bool tensor": """
        x = torch.ones(2, requires_grad=True)
        torch.atan2(2 > x, x).sum().backward()
    """,
    "the mean of no integers": """
        t = torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 1).long(), 0)
    """,
    "a trilinear form of nothing has factors of any dtypes": """
        m = torch.nn.Bilinear(2, 2, 0)
        x = torch.ones(2, requires_grad=True)
        y = m(x, x)
        m.double()
        y.sum().backward()
        t = x.grad
    """,
    "the dtype of weights before that of out=": """
        torch.multinomial(torch.ones(1, 2).to(torch.complex64), 5, out=torch.zeros(0))
    """,
    "edges of another dtype before out=": """
        out = torch.zeros(0, dtype=torch.float64), torch.zeros(0)
        torch.histogram(torch.ones(2), torch.tensor([-1j]), out=out)
    """,
    "out= of a histogram before its bins": """
        torch.histc(torch.tensor([-1j]), -1, out=torch.zeros(0))
    """,
    "a histogram of bools": """
        torch.ones(2, dtype=torch.bool).histogram()
    """,
    "a histogram of bools between edges": """
        torch.ones(2, dtype=torch.bool).histogram(torch.ones(2, dtype=torch.bool))
    """,
    "eigenvalues in out=, of no matrix": """
        torch.linalg.eigvals(torch.tensor(-2, dtype=torch.int8), out=torch.zeros(0))
    """,
    "eigenvalues in bfloat16, which warn before they are refused": """
        torch.linalg.eigvals(torch.ones(2, dtype=torch.bfloat16))
    """,
    "sizes beyond 64 bits, in a call of a kind that has been seen": """
        torch.ones(2)
        torch.ones(2**63)
    """,
    "warnings of a pass are told after it": """
        a = torch.tensor([-2.0, 1.0], requires_grad=True)
        b = a[torch.tensor([1, 1], dtype=torch.uint8)]
        b.sum().backward(create_graph=True)
    """,
    "copies of a negative size": """
        torch.as_strided_copy(torch.ones(2), (-1, 0), (6, 5))
    """,
    "copies into out= that is resized": """
        out = tuple(torch.zeros(0) for _ in range(3))
        torch.unbind_copy(torch.ones(3, 2), out=out)
    """,
    "copies into out= that is not": """
        out = tuple(torch.zeros(1, 2) for _ in range(3))
        torch.split_copy(torch.ones(3, 2).double(), 1, out=out)
        torch.split_copy(torch.ones(3, 2), 1, out=tuple(torch.zeros(0) for _ in range(3)))
    """,
    "factors in out= that hold matrices": """
        out = torch.zeros(0, 0), torch.zeros(0), torch.zeros(0, 0)
        torch.svd(torch.zeros(0, 0), out=out)
        u, s, v = torch.zeros(0), torch.zeros(0), torch.zeros(0)
        torch.svd(torch.zeros(0, 0), compute_uv=False, out=(u, s, v))
    """,
    "complex numbers that are close": """
        t = torch.isclose(torch.tensor([1j]), torch.tensor([1j]), equal_nan=True)
    """,
    "complex numbers that are not zero": """
        t = torch.linalg.vector_norm(torch.tensor([1j, 0j]), 0)
        u = torch.linalg.vector_norm(torch.tensor([[1j], [0j]]), 0, 1)
    """,
    "a product in another dtype": """
        x = torch.tensor([0.1, 0.7], requires_grad=True)
        (t,) = torch.autograd.grad(x.prod(dtype=torch.float64), [x], create_graph=True)
    """,
    "the slope of a log-probability": """
        x = torch.tensor([0.5], requires_grad=True)
        c = torch.ones(1, requires_grad=True)
        (y,) = torch.autograd.grad(torch.special.log_ndtr(x), [x], c, create_graph=True)
        t = y.grad_fn.next_functions[0][0].name() == "MulBackward1"
        del y
    """,
    "an inverse in out=, which requires grad": """
        x = torch.eye(2).requires_grad_()
        t = torch.linalg.tensorinv(x, 1, out=torch.zeros(0))
        u = t.grad_fn.next_functions[0][0].name() == "ReshapeAliasBackward0"
    """,
    "out= that a transform did not make": """
        t = torch.zeros(0)
        u = torch.func.grad(lambda x: torch.transpose_copy(x, 0, 1, out=t).sum())(torch.ones(1, 1))
    """,
    "a deprecated norm in out=": """
        torch.frobenius_norm(torch.ones(2, requires_grad=True), (), out=torch.zeros(0))
    """,
    "a dtype has no gradient": """
        torch.autograd.grad(torch.ones(2, requires_grad=True), [torch.float32], torch.ones(2))
    """,
    "a place in memory that is not one piece, in out=": """
        t = torch.ones(3, 2, requires_grad=True).t()
        torch.take_along_dim(t, torch.tensor(1), out=torch.zeros(0))
    """,
    "the copy of a part of a number": """
        torch.narrow_copy(torch.tensor(True), -2, 3, 3, out=torch.zeros(0))
    """,
    "a write into nothing": """
        torch.zeros(0).put_(torch.tensor([3]), torch.ones(1))
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_torch(name):
    expected, got = (observed(PROGRAMS[name], module) for module in (torch, impl))
    assert got == expected
