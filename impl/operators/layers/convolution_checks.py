"""Checks of a convolution's arguments with torch's messages, and padding given by name."""

from __future__ import annotations

import warnings
from operator import index

from impl.core.dtypes import BY_NUMPY
from impl.operators.copies.padding import constant_pad_nd
from impl.operators.images.pooling_windows import is_one_size


def several(value, ndim: int) -> tuple[int, ...]:
    """A number repeated for `ndim` dimensions; a sequence unchanged."""
    return (index(value),) * ndim if is_one_size(value) else tuple(map(index, value))


def expanded(rank: int, **settings) -> list[tuple[int, ...]]:
    """Settings of one number or of `rank` numbers as tuples of `rank` numbers.

    Raises RuntimeError for a sequence of another length.
    """
    for name, numbers in settings.items():
        if len(numbers) not in (1, rank):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {rank} values to "
                f"match the convolution dimensions, but got {name}={[*numbers]}"
            )
    return [numbers * rank if len(numbers) == 1 else numbers for numbers in settings.values()]


def string_padding(input, weight, stride, padding: str, dilation):
    """The input, padded where the two sides differ, with the padding and the output padding that
    torch then records for "same" and "valid".

    Raises RuntimeError for another name, and for "same" with a stride.
    """
    kernel = weight._raw.shape[2:]
    if padding == "valid":
        return input, (0,), (0,)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    check_rank(weight._raw)
    if weight._raw.ndim != input._raw.ndim:
        rank, shown = weight._raw.ndim, [*weight._raw.shape]
        raise _other_rank([*input._raw.shape], f"{rank}-dimensional weight{shown}", rank)
    stride, dilation = expanded(len(kernel), stride=stride, dilation=dilation)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(total % 2 for total in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
            UserWarning,
            stacklevel=4,
        )
        extra: list[int] = []
        for total in reversed(totals):
            extra += [0, total % 2]
        input = constant_pad_nd(input, tuple(extra), 0)
    return input, tuple(total // 2 for total in totals), (0,) * len(kernel)


def check_rank(weight) -> None:
    """Raise RuntimeError for kernels (raw values) without dimensions."""
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")


def _other_rank(given, weight: str, rank: int) -> RuntimeError:
    return RuntimeError(
        f"Expected {rank}-dimensional input for {weight}, but got {len(given)}-dimensional input "
        f"of size {given} instead"
    )


_AXES = ("depth", "height", "width")


def _check_numbers(stride, padding, dilation, output_padding, groups, transposed) -> None:
    if any(n < 0 for n in padding):
        raise RuntimeError("negative padding is not supported")
    if any(n < 0 for n in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(n <= 0 for n in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(n < 0 for n in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if any(n == 0 for n in dilation):
        numbers = _with_height(dilation)
        shown: object = [*numbers]
        if transposed:
            shown = _by_axis("dilation", numbers, ", ")
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _with_height(numbers) -> tuple[int, ...]:
    """Numbers for each dimension, of which torch makes at least two by a unit dimension."""
    return (*(1,) * (len(numbers) == 1), *numbers)


def _by_axis(name: str, numbers, separator: str) -> str:
    axes = _AXES[-len(numbers) :]
    return separator.join(f"{name}_{a}: {n}" for a, n in zip(axes, numbers, strict=True))


def _check_kernel(weight, dilation, transposed: bool) -> None:
    """Raise RuntimeError for a kernel without elements, in the words of the kernel of ATen that
    would be called."""
    sizes = _with_height(weight[2:])
    if 0 not in sizes:
        return
    if transposed and len(sizes) == 3:
        raise RuntimeError(
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x "
            f"kernel_width) tensor expected for weight, but got: {weight}"
        )
    if transposed or (len(sizes) == 2 and set(dilation) == {1}):
        shown = " " + _by_axis("kernel", sizes, " ")
    elif set(dilation) == {1}:
        shown = f": {' x '.join(map(str, sizes))} (TxHxW)"
    else:
        shown = f" {[*sizes]}"
    raise RuntimeError(f"kernel size should be greater than zero, but got{shown}")


def check_empty(shape) -> None:
    """Raise RuntimeError for an empty input that has a batch and channels."""
    if shape[0] and shape[1]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(shape)}"
        )


def check_shapes(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
) -> None:
    """Raise RuntimeError for settings and shapes (of raw values) that do not fit together."""
    _check_numbers(stride, padding, dilation, output_padding, groups, transposed)
    given, kernel = [*input.shape], [*weight.shape]
    if len(kernel) != len(given):
        raise _other_rank(given, f"{len(kernel)}-dimensional weight {kernel}", len(kernel))
    if kernel[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {kernel} instead"
        )
    if kernel[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{kernel}] instead"
        )
    channels = kernel[0] if transposed else kernel[1] * groups
    if given[1] != channels:
        which = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {which}, weight of size {kernel}, expected input{given} to have "
            f"{channels} channels, but got {given[1]} channels instead"
        )
    made = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and bias.shape != (made,):
        which = f"transposed={int(transposed)}, weight" if transposed else "weight"
        raise RuntimeError(
            f"Given {which} of size {kernel}, expected bias to be 1-dimensional with {made} "
            f"elements, but got bias of size {[*bias.shape]} instead"
        )
    if transposed:
        _check_transposed(given, kernel, stride, padding, dilation, output_padding)
    else:
        _check_fits(given, kernel, padding, dilation)
    if input.size:
        _check_kernel(kernel, dilation, transposed)


def _check_fits(given, kernel, padding, dilation) -> None:
    sizes = [n + 2 * p for n, p in zip(given[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel[2:], dilation, strict=True)]
    if any(n < k for n, k in zip(sizes, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, sizes))}). Kernel "
            f"size: ({' x '.join(map(str, spans))}). Kernel size can't be greater than actual "
            "input size"
        )


def _check_transposed(given, kernel, stride, padding, dilation, output_padding) -> None:
    if len(stride) == 1:  # torch prepends a unit dimension
        given, kernel = [*given[:2], 1, given[2]], [*kernel[:2], 1, kernel[2]]
        stride, dilation = (1, *stride), (1, *dilation)
        padding, output_padding = (0, *padding), (0, *output_padding)
    numbers = zip(output_padding, stride, dilation, strict=True)
    if any(o >= s and o >= d for o, s, d in numbers):
        settings = {"output_padding": output_padding, "stride": stride, "dilation": dilation}
        shown = " ".join(_by_axis(name, values, " ") for name, values in settings.items())
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {shown}"
        )
    sizes = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, d, o in zip(
            given[2:], kernel[2:], stride, padding, dilation, output_padding, strict=True
        )
    ]
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, given[2:]))}). Calculated "
            f"output size per channel: ({' x '.join(map(str, sizes))}). Output size is too small"
        )


def scalar_types(input, weight, bias, transposed: bool = False) -> None:
    """Raise RuntimeError for operands of different dtypes; that of the bias comes first, but for
    transposed convolutions."""
    first, second = BY_NUMPY[input.dtype], BY_NUMPY[weight.dtype]
    third = first if bias is None else BY_NUMPY[bias.dtype]
    if first is not second and (transposed or first is third):
        raise RuntimeError(f"expected scalar type {first.legacy} but found {second.legacy}")
    if first is not third:
        raise RuntimeError(
            f"Input type ({first.c_name}) and bias type ({third.c_name}) should be the same"
        )
