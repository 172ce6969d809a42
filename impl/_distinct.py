"""Distinct elements: the functions of `torch.functional` whose flags choose the results."""

from __future__ import annotations

from impl.core.registry import C
from impl.dispatch.boolean_dispatch import boolean_dispatch
from impl.tensor.overridable import overridable


def _unique_impl(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    options = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
    return C._unique2(input, **options) if dim is None else C.unique_dim(input, dim, **options)


def _return_inverse_and_counts(
    input, sorted=True, return_inverse=False, return_counts=False, dim=None
):
    return _unique_impl(input, sorted, return_inverse, return_counts, dim)


def _return_counts(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    output, _, counts = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, counts


def _return_inverse(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    output, inverse, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, inverse


def _return_output(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    return _unique_impl(input, sorted, return_inverse, return_counts, dim)[0]


def _dispatched(name: str, counts: int, both, with_counts, with_inverse, output):
    """The function that chooses among four by its two flags; `counts` is the place of
    `return_counts`."""
    chosen = [
        boolean_dispatch(name, "return_counts", counts, if_true, if_false)
        for if_true, if_false in ((both, with_inverse), (with_counts, output))
    ]
    return overridable("input")(boolean_dispatch(name, "return_inverse", 2, *chosen))


unique = _dispatched(
    "unique", 3, _return_inverse_and_counts, _return_counts, _return_inverse, _return_output
)
unique.__doc__ = """The distinct elements in ascending order, or the distinct slices along `dim` in
the order of their elements (torch.unique).

With `return_inverse` also where each element is in the result (int64, the shape of `input`, or
(n,) for slices), with `return_counts` how often each occurs. NaN equals nothing. Raises
NotImplementedError for complex numbers, and when it is differentiated.
"""


def _unique_consecutive_impl(input, return_inverse=False, return_counts=False, dim=None):
    return C.unique_consecutive(
        input, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )


def _consecutive_return_inverse_and_counts(
    input, return_inverse=False, return_counts=False, dim=None
):
    return _unique_consecutive_impl(input, return_inverse, return_counts, dim)


def _consecutive_return_counts(input, return_inverse=False, return_counts=False, dim=None):
    output, _, counts = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, counts


def _consecutive_return_inverse(input, return_inverse=False, return_counts=False, dim=None):
    output, inverse, _ = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, inverse


def _consecutive_return_output(input, return_inverse=False, return_counts=False, dim=None):
    return _unique_consecutive_impl(input, return_inverse, return_counts, dim)[0]


unique_consecutive = _dispatched(
    "unique_consecutive",
    1,  # as torch has it, which is the place of `return_inverse`
    _consecutive_return_inverse_and_counts,
    _consecutive_return_counts,
    _consecutive_return_inverse,
    _consecutive_return_output,
)
unique_consecutive.__doc__ = """The elements, or slices along `dim`, that differ from the one before
(torch.unique_consecutive); results and errors as `unique`."""
