"""Products of three tensors summed over some dimensions, and the bilinear map built on them."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY, result_dtype
from impl.core.state import STATE
from impl.dispatch.autocast import lowering
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import SavedAs
from impl.kernels.reduced_precision import widened


@operator(
    function=False,
    method=False,
    numbers=False,
    torch_name="_trilinear",
    batching="fallback",
    saved_as=SavedAs(as_needed=True),
)
def trilinear(
    i1: Array, i2: Array, i3: Array, expand1, expand2, expand3, sumdim, unroll_dim=1
) -> Array:
    """The product of three tensors, each unsqueezed at the dimensions in its `expand`, summed over
    `sumdim` (ATen's _trilinear)."""
    dims = range(i1.ndim + len(expand1))
    present = [[d for d in dims if d not in absent] for absent in (expand1, expand2, expand3)]
    if i1.size and i2.size and i3.size:
        _check_dtypes((i1, i2, i3), present, [d for d in sumdim if d != unroll_dim], unroll_dim)
    kept = [d for d in dims if d not in sumdim]
    if STATE.autocast is not None:
        return _in_pairs((i1, i2, i3), present, kept, unroll_dim)
    operands = [x for pair in zip(map(widened, (i1, i2, i3)), present, strict=True) for x in pair]
    result = np.einsum(*operands, kept, optimize="greedy")
    return np.ascontiguousarray(result).astype(i1.dtype, copy=False)


def _check_dtypes(factors, present, summed, unrolled: int) -> None:
    """Raise RuntimeError for factors of two dtypes that are multiplied by `bmm`, as ATen multiplies
    a pair that is summed over a dimension: the first two, then their product and the third. Others
    are promoted. Each factor has the dimensions in its `present`."""
    sizes = [
        {d: n for d, n in zip(dims, value.shape, strict=True) if d != unrolled}
        for value, dims in zip(factors, present, strict=True)
    ]
    kinds = [value.dtype for value in factors]
    first = [d for d in summed if d not in sizes[2]]
    if first:
        _check_pair(kinds[:2], sizes[:2], first)
    if len(first) < len(summed):
        kind = result_dtype([*factors[:2]]).numpy
        product = {d: n for d, n in {**sizes[0], **sizes[1]}.items() if d not in first}
        _check_pair([kind, kinds[2]], [product, sizes[2]], summed)


def _check_pair(kinds, sizes, summed) -> None:
    """Raise RuntimeError for a pair of two dtypes; where the second has no dimension of its own it
    is the first one that `bmm` is given."""
    own = [n for d, n in sizes[0].items() if d not in summed and d not in sizes[1]]
    if max(own, default=1) > 1 and not sizes[1].keys() - sizes[0].keys():
        kinds = kinds[::-1]
    if kinds[0] != kinds[1]:
        expected, found = (BY_NUMPY[kind].legacy for kind in kinds)
        raise RuntimeError(f"expected scalar type {expected} but found {found}")


def _in_pairs(values, present, kept, unrolled: int):
    """The product slice by slice and two operands at a time, as ATen computes it, with an operator
    that autocast lowers."""
    rounded = [widened(lowering(np.positive)(value)) for value in values]
    first, second, third = ([d for d in dims if d != unrolled] for dims in present)
    shape: dict[int, int] = {}
    for value, dims in zip(values, present, strict=True):
        shape.update(zip(dims, value.shape, strict=True))
    result = np.zeros([shape[d] for d in kept], values[0].dtype)
    # The first product keeps the dimensions that the third operand or the result needs.
    middle = [d for d in {*first, *second} if d in third or d in kept]
    rest = [d for d in kept if d != unrolled]
    for i in range(shape[unrolled]):
        a, b, c = (
            value.take(i, dims.index(unrolled)) if unrolled in dims else value
            for value, dims in zip(rounded, present, strict=True)
        )
        pair = lowering(lambda a, b: np.einsum(a, first, b, second, middle))(a, b)
        last = lowering(lambda pair, c: np.einsum(pair, middle, c, third, rest))(pair, c)
        place = (slice(None),) * kept.index(unrolled) + (i,) if unrolled in kept else ...
        result[place] += last.astype(result.dtype)
    return result


trilinear.gradient(
    i1=lambda F, grad, i2, i3, expand1, expand2, expand3, sumdim: F.trilinear(
        grad, i2, i3, sumdim, expand2, expand3, expand1
    ),
    i2=lambda F, grad, i1, i3, expand1, expand2, expand3, sumdim: F.trilinear(
        i1, grad, i3, expand1, sumdim, expand3, expand2
    ),
    i3=lambda F, grad, i1, i2, expand1, expand2, expand3, sumdim: F.trilinear(
        i1, i2, grad, expand1, expand2, sumdim, expand3
    ),
)
trilinear.forward(
    lambda F, i1_t, i1, i2_t, i2, i3_t, i3, expand1, expand2, expand3, sumdim, unroll_dim: (
        F.trilinear(i1_t, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim)
        + F.trilinear(i1, i2_t, i3, expand1, expand2, expand3, sumdim, unroll_dim)
        + F.trilinear(i1, i2, i3_t, expand1, expand2, expand3, sumdim, unroll_dim)
    )
)


def _check(input1, input2, weight, bias) -> None:
    named = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    present = {name: t for name, t in named.items() if t is not None}
    if any(t.dtype is not input1.dtype for t in present.values()):
        shown = ", ".join(f"{name}: {t.dtype.c_name}" for name, t in present.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {shown}")
    one, two = input1._raw.shape, input2._raw.shape
    if len(one) != len(two):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}"
        )
    for d, (n, m) in enumerate(zip(one[:-1], two[:-1], strict=True)):
        if n != m:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}"
            )
    for i, value in enumerate((input1, input2), 1):
        got, expected = value.size(-1), weight.size(i)
        if got != expected:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {got} but "
                f"expected {expected}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but "
            f"expected {weight.size(0)}"
        )


@function(method=False, batching="composed_fallback")
def bilinear(input1, input2, weight, bias=None):
    """For each output o the sum of input1[..., i] weight[o, i, j] input2[..., j], plus the bias
    (torch.nn.functional.bilinear).

    Raises RuntimeError for sizes and dtypes that do not fit.
    """
    _check(input1, input2, weight, bias)
    *batch, first = input1._raw.shape
    one, two = input1.reshape(-1, first), input2.reshape(-1, input2._raw.shape[-1])
    result = trilinear(one, weight, two, (1, 3), (0,), (1, 2), (2, 3))
    result = result.reshape(*batch, weight._raw.shape[0])
    return result if bias is None else result + bias
