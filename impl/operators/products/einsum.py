"""einsum: sums of products by an equation, contracted from left to right.

Each operand is permuted to a common order of dimensions (those of the output, then those summed
over), with size one for names it lacks; two operands are then multiplied by one bmm. This is ATen's
composition (Linear.cpp, einsum and sumproduct_pair), which is visible in the recorded graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from impl.core.registry import tensor_ops
from impl.dispatch.definition import native
from impl.operators.products.matmul import bmm
from impl.tensor.tensor import Tensor


@native()
def einsum(equation, tensors, *, path=None):
    """The sum of products that `equation` describes, such as "ij,jk->ik".

    A name given twice in an operand is its diagonal; an ellipsis stands for dimensions that
    broadcast. Raises RuntimeError for an equation that does not fit its operands.
    """
    operands = tensors
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    inputs, arrow, output = equation.partition("->")
    terms = _terms(inputs, len(operands))
    names = [
        _names(term, tensor, i)
        for i, (term, tensor) in enumerate(zip(terms, operands, strict=True))
    ]
    kept = (
        _output_names(output, len(inputs) + len(arrow), names) if arrow else _implied_names(names)
    )
    summed = sorted({n for term in names for n in term if n not in kept}, key=str)
    order = [*kept, *summed]
    aligned = [_align(t, term, order) for t, term in zip(operands, names, strict=True)]
    _check_sizes(aligned, order, names)
    return _contract(aligned, len(kept), len(order))


_DOTS = "..."


def _subscripts(text: str, offset: int, place: Callable[[], str], repeated: str):
    """The letters, commas and ellipses of a part of an equation that begins at `offset`.

    Raises RuntimeError for other characters, for dots that are no ellipsis, and for a second
    ellipsis of the operand, or the output, that `place` names.
    """
    seen = False
    i = 0
    while i < len(text):
        character = text[i]
        if character == ".":
            if seen:
                raise RuntimeError(f"einsum(): found '.' for {place()} {repeated}")
            if text[i : i + 3] != _DOTS:
                end = "" if place() != "output" else " (...)"
                raise RuntimeError(
                    f"einsum(): found '.' for {place()} that is not part of any ellipsis{end}"
                )
            seen, i = True, i + 2
            yield _DOTS
        elif character == "," and place() != "output":
            seen = False
            yield character
        elif character.isascii() and character.isalpha():
            yield character
        elif character != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i + offset} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        i += 1


def _terms(inputs: str, operands: int) -> list[list]:
    """The subscripts of each operand. Raises RuntimeError for another number of operands."""
    terms: list[list] = [[]]
    where = "for which an ellipsis was already found"
    for subscript in _subscripts(inputs, 0, lambda: f"operand {len(terms) - 1}", where):
        if subscript != ",":
            terms[-1].append(subscript)
            continue
        terms.append([])
        if len(terms) > operands:
            raise RuntimeError(
                "einsum(): fewer operands were provided than specified in the equation"
            )
    if len(terms) < operands:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return terms


def _names(term: list, tensor: Tensor, position: int) -> list:
    """The name of each dimension; those of an ellipsis are numbered from the right."""
    ndim = tensor._raw.ndim
    dots = _DOTS in term
    count = len(term) - dots
    if dots and ndim < count:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({count}) is more than the "
            f"number of dimensions ({ndim}) for operand {position}"
        )
    if not dots and ndim != count:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({count}) does not match the "
            f"number of dimensions ({ndim}) for operand {position} and no ellipsis was given"
        )
    covered = list(range(ndim - count, 0, -1)) if dots else []
    return _expanded(term, covered)


def _expanded(subscripts: list[str], covered: list[int]) -> list:
    return [n for s in subscripts for n in (covered if s == _DOTS else [s])]


def _output_names(output: str, offset: int, names: list[list]) -> list:
    given = {n for term in names for n in term}
    found: list[str] = []
    where = "but an ellipsis (...) was already found"
    for name in _subscripts(output, offset, lambda: "output", where):
        if name in found:
            raise RuntimeError(
                f"einsum(): output subscript {name} appears more than once in the output"
            )
        if name != _DOTS and name not in given:
            raise RuntimeError(
                f"einsum(): output subscript {name} does not appear in the equation for any input "
                "operand"
            )
        found.append(name)
    return _expanded(found, _covered(names))


def _implied_names(names: list[list]) -> list:
    """The output's names without `->`: those of the ellipsis, then names that appear once, in
    alphabetical order."""
    every = [n for term in names for n in term]
    once = sorted(n for n in every if isinstance(n, str) and every.count(n) == 1)
    return [*_covered(names), *once]


def _covered(names: list[list]) -> list[int]:
    most = max((n for term in names for n in term if isinstance(n, int)), default=0)
    return list(range(most, 0, -1))


def _align(tensor: Tensor, names: list, order: list) -> Tensor:
    """The operand with its diagonals taken and its dimensions in `order`; size one for missing
    names."""
    place: dict = {}
    for name in names:
        if name not in place:
            place[name] = len(place)
            continue
        first, second = place[name], len(place)
        a, b = tensor._raw.shape[first], tensor._raw.shape[second]
        if a != b:
            raise RuntimeError(
                f"einsum(): subscript {name} is repeated for operand 0 but the sizes don't match, "
                f"{b} != {a}"
            )
        tensor = tensor.diagonal(0, first, second).movedim(-1, first)
    position = len(place)
    target = []
    for name in order:
        if name in place:
            target.append(place[name])
        else:
            tensor = tensor_ops.unsqueeze(tensor, position)
            target.append(position)
            position += 1
    return tensor_ops.permute(tensor, tuple(target))


def _check_sizes(operands: list[Tensor], order: list, names: list[list]) -> None:
    """Raise RuntimeError for sizes of one name that differ."""
    sizes = dict.fromkeys(order, 1)
    for i, tensor in enumerate(operands):
        for name in names[i]:
            n, size = tensor._raw.shape[order.index(name)], sizes[name]
            if n != 1 and size != 1 and n != size:
                if isinstance(name, int):
                    raise RuntimeError(
                        f"einsum(): dimension {names[i].index(name)} covered by ellipsis in "
                        f"operand {i}has size {n} which does not broadcast with previously seen "
                        f"ellipsis with size {size} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {n} for operand {i} which does not "
                    f"broadcast with previously seen size {size}"
                )
            sizes[name] = n if n != 1 else size


def _contract(operands: list[Tensor], kept: int, ndim: int) -> Tensor:
    several = len(operands) > 1
    counts = [sum(t._raw.shape[d] != 1 for t in operands) for d in range(ndim)]
    result, *rest = operands
    for other in rest:
        together, left_only, right_only = [], [], []
        for d in range(kept, ndim):
            a, b = result._raw.shape[d] != 1, other._raw.shape[d] != 1
            if a and b:
                counts[d] -= 1
                if counts[d] == 1:
                    together.append(d)
                    counts[d] = 0
            elif counts[d] == 1:
                if a:
                    left_only.append(d)
                    counts[d] = 0
                elif b:
                    right_only.append(d)
                    counts[d] = 0
        if left_only:
            result = result.sum(tuple(left_only), True)
        if right_only:
            other = other.sum(tuple(right_only), True)
        result = _pair(result, other, together)
    if ndim == kept:
        return result
    if several:
        return tensor_ops.view(result, result._raw.shape[:kept])
    return result.sum(tuple(range(kept, ndim)))


def _pair(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """The product of two aligned operands, summed over some dimensions, which keep size one."""
    if not summed:
        return tensor_ops.mul(left, right)
    both: list[int] = []
    only_left: list[int] = []
    only_right: list[int] = []
    for d in range(left._raw.ndim):
        a, b = left._raw.shape[d] != 1, right._raw.shape[d] != 1
        if d in summed:
            continue
        (both if a and b else only_left if a else only_right).append(d)
    if only_left and only_right and only_right[-1] < only_left[0]:
        # The right operand's dimensions come first in the result; swapping avoids a copy.
        left, right = right, left
        only_left, only_right = only_right, only_left
    a, b = left._raw.shape, right._raw.shape

    def size(shape, dims):
        return math.prod(shape[d] for d in dims)

    batch, total = size(a, both), size(a, summed)
    rows, columns = size(a, only_left), size(b, only_right)
    middle = tensor_ops.permute(left, (*both, *only_left, *summed, *only_right))
    middle = tensor_ops.reshape(middle, (batch, rows, total))
    last = tensor_ops.permute(right, (*both, *summed, *only_right, *only_left))
    last = tensor_ops.reshape(last, (batch, total, columns))
    shape = [*(a[d] for d in (*both, *only_left)), *(1 for _ in summed)]
    shape += [b[d] for d in only_right]
    order = [0] * len(shape)
    for i, d in enumerate((*both, *only_left, *summed, *only_right)):
        order[d] = i
    return tensor_ops.permute(tensor_ops.view(bmm(middle, last), tuple(shape)), tuple(order))
