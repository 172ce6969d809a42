"""Operators on the meta device: the device of their operands, and kernels over arrays without data.

A kernel of NumPy's functions runs on MetaArrays as it is, and makes a MetaArray of the sizes,
strides and dtype of its result (`impl.core.meta_arrays`). Any other, one that calls LAPACK or looks
at elements, runs on examples: real arrays of the same sizes, strides and dtypes. That is sound,
since no size of a result depends on elements but for the operators that refuse tensors of this
device (`impl.dispatch.not_implemented.refuse_meta`). It takes time and memory; so it is limited to
operands of LIMIT bytes, beyond which NotImplementedError is raised.
"""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.devices import CPU
from impl.core.meta_arrays import NeedsElements, holds, is_meta
from impl.core.meta_functions import to_meta
from impl.core.strides import empty_strided, strides_of, unboxed
from impl.tensor.tensor import Tensor, new

LIMIT = 2**26  # bytes of all examples together


def mixes(raws) -> bool:
    """Whether one of the raw values, or of those in a list, is on the meta device."""
    return holds(raws) or any(isinstance(raw, list) and holds(raw) for raw in raws)


def check_same_device(operands, with_scalars: bool = True) -> None:
    """Raise RuntimeError unless the tensors among the operands are on one device; a CPU tensor
    without dimensions goes with any, `with_scalars` (torch._prims_common.check_same_device)."""
    expected = None
    for operand in operands:
        if not isinstance(operand, Tensor):
            continue
        found = operand.device
        if with_scalars and found == CPU and not operand._raw.ndim:
            continue
        expected = expected or found
        if found != expected:
            raise RuntimeError(messages.OTHER_DEVICE.format(found, expected))


def call(compute, raws: list):
    """The result of a kernel, which `compute` calls with raw values, on the meta device."""
    given = [to_meta(raw) for raw in raws]
    try:
        result = compute([*given])
    except NeedsElements:
        result = compute(examples(given))
    except MemoryError as error:  # of a kernel that makes memory by itself
        raise NotImplementedError(str(error)) from None
    return to_meta(result)


def examples(raws: list) -> list:
    """Real arrays in the place of MetaArrays. Raises NotImplementedError for more than LIMIT bytes.

    Of integers they are zeros, which are valid indices, but of int32 ones, which are valid pivots;
    of other numbers identities where they are square matrices, so that factorisations exist, else
    ones.
    """
    if is_large(raws):
        raise NotImplementedError(
            f"an operator without a rule for the meta device, for more than {LIMIT} bytes"
        )
    return [[*map(_example, raw)] if isinstance(raw, list) else _example(raw) for raw in raws]


def is_large(raws) -> bool:
    """Whether there can be no examples of the raw values."""
    return sum(raw.nbytes for raw in _flat(raws) if is_meta(raw)) > LIMIT


def on_examples(composite, args: tuple, named: dict):
    """The result of a composite, without history, on the meta device: it is called with tensors of
    examples. Raises NotImplementedError as `examples` does."""
    given = [*args, *named.values()]
    places = [i for i, value in enumerate(given) if isinstance(value, Tensor) and value.is_meta]
    for i, raw in zip(places, examples([given[i]._raw for i in places]), strict=True):
        given[i] = new(raw, strides_of(raw))
    more = dict(zip(named, given[len(args) :], strict=True))
    return _placed(composite(*given[: len(args)], **more))


def _placed(result):
    if isinstance(result, tuple):
        made = map(_placed, result)
        return tuple(made) if type(result) is tuple else type(result)(*made)
    return new(to_meta(result._raw), result.stride()) if isinstance(result, Tensor) else result


def _flat(raws):
    for raw in raws:
        if isinstance(raw, list):
            yield from raw
        else:
            yield raw


def _example(raw):
    if not is_meta(raw):
        return raw
    array = empty_strided(raw.shape, raw.strides_in_elements, raw.dtype)
    square = raw.ndim > 1 and raw.shape[-1] == raw.shape[-2]
    if raw.dtype.kind in "iub":
        array[...] = raw.dtype == np.int32
    else:
        array[...] = np.eye(raw.shape[-1]).astype(raw.dtype) if square else 1
    return unboxed(array)
