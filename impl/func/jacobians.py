"""Jacobians and Hessians: products with all unit vectors, a batch that `vmap` maps (torch.func)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from impl.core.registry import C
from impl.func.levels import TangentsLevel
from impl.func.mapping import mapped, vmap
from impl.func.transforms import (
    check_argnum,
    check_argnums,
    check_pushed,
    chosen,
    jvp_of,
    remaining,
    vjp_of,
)
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_flatten, tree_unflatten


def jacrev(
    func: Callable,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """The function that returns the Jacobian of a function, row by row (torch.func.jacrev).

    Each entry has the shape of the output, then that of the input.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def call(*args):
        _check_real("jacrev", "input", tree_flatten(args)[0])
        output, pull, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, shape = tree_flatten(output)
        _check_real("jacrev", "output", outputs)
        inputs, spec = tree_flatten(chosen(args, argnums))
        rows = _rows(pull, outputs, shape, chunk_size)
        sizes = [out.numel() for out in outputs]
        parts = [row.split(sizes, 0) for row in rows]
        blocks = [
            [
                part[number].view((*out.shape, *x.shape))
                for part, x in zip(parts, inputs, strict=True)
            ]
            for number, out in enumerate(outputs)
        ]
        found = tree_unflatten([tree_unflatten(block, spec) for block in blocks], shape)
        return (found, *aux) if has_aux else found

    return call


def _rows(pull: Callable, outputs: list, shape: Any, chunk_size: int | None) -> list:
    """The rows of the Jacobian, for each input the gradients of all elements of the outputs."""
    basis = _standard_basis(outputs)
    count = sum(out.numel() for out in outputs)
    step = chunk_size or count or 1
    chunks = []
    for start in range(0, count or 1, step):
        seeds = [part.narrow(0, start, min(step, count - start)) for part in basis]
        if chunk_size == 1:
            found = tree_flatten(pull(tree_unflatten([s.squeeze(0) for s in seeds], shape)))[0]
            chunks.append([row.unsqueeze(0) for row in found])
        else:
            chunks.append(tree_flatten(vmap(pull)(tree_unflatten(seeds, shape)))[0])
    if len(chunks) == 1:
        return chunks[0]
    return [C.cat(list(column), 0) for column in zip(*chunks, strict=True)]


def _standard_basis(tensors: list) -> list:
    """The unit vectors of the space of some tensors: for each a batch of tensors like it."""
    total, start, basis = sum(t.numel() for t in tensors), 0, []
    for tensor in tensors:
        part = tensor.new_zeros(total, tensor.numel())
        part.diagonal(-start).fill_(1)
        start += tensor.numel()
        basis.append(part.view(total, *tensor.shape))
    return basis


def jacfwd(
    func: Callable,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable:
    """The function that returns the Jacobian of a function, column by column (torch.func.jacfwd).

    The numbers are those of `jacrev`, in the dtype of the output.
    """

    @functools.wraps(func)
    def call(*args):
        _check_real("jacfwd", "input", tree_flatten(args)[0])
        check_argnums(argnums)
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        for number in numbers:
            check_argnum(args, number)
        others = tuple(remaining(args, numbers))
        primals = chosen(args, argnums)
        inputs, spec = tree_flatten(primals)
        basis = tree_unflatten(_standard_basis(inputs), spec)
        forward_grad.refuse_nested()
        for primal in inputs:
            check_pushed("primal", primal)

        def push(*tangents):
            along = _with_chosen(func, args, argnums)
            given = (primals,) if isinstance(argnums, int) else primals
            output, pushed, *aux = jvp_of(along, given, tangents, has_aux, others=others)
            _check_real("jacfwd", "output", tree_flatten(output)[0])
            return (pushed, *aux) if has_aux else pushed

        given = (basis,) if isinstance(argnums, int) else basis
        columns = mapped(push, 0, 0, randomness, None, TangentsLevel)(*given)
        if has_aux:
            columns, aux = columns
            leaves, structure = tree_flatten(aux)
            aux = tree_unflatten([leaf[0] for leaf in leaves], structure)
        outputs, shape = tree_flatten(columns)
        blocks = [tree_unflatten(_in_columns(output, inputs), spec) for output in outputs]
        found = tree_unflatten(blocks, shape)
        return (found, aux) if has_aux else found

    return call


def _with_chosen(func: Callable, args: tuple, argnums: int | tuple[int, ...]) -> Callable:
    """The function of the chosen arguments; the others are constants."""

    def along(*values):
        given = list(args)
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        for number, value in zip(numbers, values, strict=True):
            given[number] = value
        return func(*given)

    return along


def _in_columns(output: Tensor, inputs: list) -> list[Tensor]:
    """The Jacobians of one output with respect to each input, in the last dimensions of views of
    its columns."""
    parts = output.movedim(0, -1).split([x.numel() for x in inputs], -1)
    return [
        part.unflatten(-1, x.shape) if x.shape else part.squeeze(-1)
        for part, x in zip(parts, inputs, strict=True)
    ]


def _check_real(name: str, role: str, values: list) -> None:
    for i, value in enumerate(values):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {role}s to be real but received complex tensor at "
                f"flattened input idx: {i}"
            )


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The function that returns the Hessian of a function (torch.func.hessian)."""
    return jacfwd(jacrev(func, argnums), argnums)
