"""Functions that write an `out=` with the conj or the neg bit: they write a copy of it, which is
then copied there (ATen/native/MathBitsFallback.h)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.grad_mode import no_grad
from impl.dispatch.out import fit
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.write import resize

_OWN = {
    *("linalg_solve_triangular", "kron", "inner", "tensordot", "chain_matmul", "linalg_multi_dot"),
    *("linalg_cond", "linalg_matrix_power", "linalg_matrix_rank", "linalg_tensorinv"),
    *("linalg_tensorsolve", "empty"),
}
"""Functions that write tensors with the bits themselves, or are composed of such."""

_OWN_CONJ = {"dot", "vdot", "mm", "bmm", "addmm", "baddbmm", "matmul", "linalg_matmul"}
"""Functions that do so for the conj bit."""

_OWN_NEG = {"linalg_norm", "linalg_matrix_norm", "quantile", "nanquantile"}
"""Functions that do so for the neg bit."""


def resolves(name: str, out: Any) -> bool:
    """Whether a function, by its name in ATen, writes a copy of its `out=`."""
    if type(out) is not LazyConjTensor or requires_grad(out):
        return False
    return name not in _OWN and name not in (_OWN_CONJ if out._conjugated else _OWN_NEG)


def call_with_copy(name: str, call: Callable, args: tuple, named: dict) -> Tensor:
    """The result of a call, from its arguments and keywords, with a copy of `out=`, which takes
    the shape of that: with a warning, unless the function is composed of one that resizes it and
    one that fills it."""
    out: Tensor = named["out"]
    with no_grad():
        copy = out.clone()
    copy._storage.version = 0
    result = call(args, {**named, "out": copy})
    if result is not copy:
        return result
    with no_grad():
        before = out._storage.version
        if name == "randn" or (name == "rand" and named.get("generator") is not None):
            resize(out, copy._raw.shape)
        else:
            fit(out, copy._raw.shape)
        out.copy_(copy)
        out._storage.version = before + copy._storage.version
    return out
