"""Products of three tensors, summed over some dimensions, and the bilinear map made of one."""

from __future__ import annotations

import math

import numpy as np

from impl.operator import Array, function, operator
from impl.precision import widened


@operator(function=False, method=False, numbers=False)
def trilinear(
    i1: Array, i2: Array, i3: Array, expand1, expand2, expand3, sumdim, unroll_dim=1
) -> Array:
    """The product of three tensors, each unsqueezed at the dimensions in its `expand`, summed over
    `sumdim` (ATen's _trilinear)."""
    total = i1.ndim + len(expand1)
    operands: list = []
    for value, absent in ((i1, expand1), (i2, expand2), (i3, expand3)):
        operands += [widened(value), [d for d in range(total) if d not in absent]]
    result = np.einsum(*operands, [d for d in range(total) if d not in sumdim], optimize="greedy")
    return np.ascontiguousarray(result).astype(i1.dtype, copy=False)


trilinear.name = "_trilinear"
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
    one, two, shape = input1._raw.shape, input2._raw.shape, weight._raw.shape
    if len(one) != len(two):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}"
        )
    for d, (n, m) in enumerate(zip(one[:-1], two[:-1], strict=True)):
        if n != m:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}"
            )
    for i, sizes in enumerate((one, two), 1):
        if sizes[-1] != shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {sizes[-1]} but "
                f"expected {shape[i]}"
            )
    if bias is not None and bias._raw.shape[0] != shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._raw.shape[0]} but "
            f"expected {shape[0]}"
        )


@function(method=False)
def bilinear(input1, input2, weight, bias=None):
    """For each output o the sum of input1[..., i] weight[o, i, j] input2[..., j], plus the bias
    (torch.nn.functional.bilinear).

    Raises RuntimeError for sizes and dtypes that do not fit.
    """
    _check(input1, input2, weight, bias)
    *batch, first = input1._raw.shape
    rows = math.prod(batch)
    one, two = input1.reshape(rows, first), input2.reshape(rows, input2._raw.shape[-1])
    result = trilinear(one, weight, two, (1, 3), (0,), (1, 2), (2, 3))
    result = result.reshape(*batch, weight._raw.shape[0])
    return result if bias is None else result + bias
