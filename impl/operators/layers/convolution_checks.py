"""Checks of a convolution's arguments with torch's messages, and padding given by name."""

from __future__ import annotations

from operator import index

from impl.core.dtypes import BY_NUMPY
from impl.core.messages import tensor_type
from impl.core.warning import warn_once
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


def string_padding(input, weight, stride, padding: str, dilation, groups):
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
    check_groups(groups)
    if weight._raw.ndim != input._raw.ndim:
        rank, shown = weight._raw.ndim, [*weight._raw.shape]
        raise _other_rank([*input._raw.shape], f"{rank}-dimensional weight{shown}", rank)
    for name, numbers in (("stride", stride), ("dilation", dilation)):
        if len(numbers) not in (1, len(kernel)):
            raise RuntimeError(f"{name} cannot broadcast to {len(kernel)} dimensions")
    stride, dilation = expanded(len(kernel), stride=stride, dilation=dilation)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    halves = [int(total / 2) for total in totals]
    if any(total % 2 for total in totals):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
        )
        extra: list[int] = []
        for total, half in zip(reversed(totals), reversed(halves), strict=True):
            extra += [0, total - 2 * half]
        input = constant_pad_nd(input, tuple(extra), 0)
    return input, tuple(halves), (0,) * len(kernel)


def check_rank(weight) -> None:
    """Raise RuntimeError for kernels (raw values) without dimensions."""
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")


def _other_rank(given, weight: str, rank: int) -> RuntimeError:
    return RuntimeError(
        f"Expected {rank}-dimensional input for {weight}, but got {len(given)}-dimensional input "
        f"of size {given} instead"
    )


def _check_numbers(stride, padding, dilation, output_padding) -> None:
    if any(n < 0 for n in padding):
        raise RuntimeError("negative padding is not supported")
    if any(n < 0 for n in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(n <= 0 for n in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(n < 0 for n in dilation):
        raise RuntimeError("dilation should be greater than zero")


def check_groups(groups: int) -> None:
    """Raise RuntimeError for no groups."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def check_shapes(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
) -> None:
    """Raise RuntimeError for settings and shapes (of raw values) that do not fit together (ATen's
    check_shape_forward)."""
    _check_numbers(stride, padding, dilation, output_padding)
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
    if not transposed:
        _check_fits(given, kernel, padding, dilation)


def _check_fits(given, kernel, padding, dilation) -> None:
    sizes = [n + 2 * p for n, p in zip(given[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel[2:], dilation, strict=True)]
    if any(n < k for n, k in zip(sizes, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, sizes))}). Kernel "
            f"size: ({' x '.join(map(str, spans))}). Kernel size can't be greater than actual "
            "input size"
        )


def check_bias_type(input, bias) -> None:
    """Raise RuntimeError for a bias of another dtype than the input's."""
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name}) should be the "
            "same"
        )


def check_parameter_types(input, weight, bias, alternative: str = "") -> None:
    """Raise RuntimeError for parameters (raw values) of another dtype than the input's, in the
    words of ATen's check_input_same_type_as_parameters; `alternative` names a parameter's."""
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.dtype != input.dtype:
            given, other = (tensor_type(BY_NUMPY[v.dtype]) for v in (input, value))
            raise RuntimeError(
                f"Input type ({given}) and {name} type ({other}) should be the same"
                + alternative.format(name)
            )
