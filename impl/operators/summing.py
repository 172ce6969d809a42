"""A tensor summed to a smaller shape, which is what broadcasting is the opposite of."""

from __future__ import annotations

from impl.operator import TAPED, function
from impl.sizes import repeated_dims, sizes_given


@function(torch=False)
def sum_to_size(self, *size, **named):
    """The sum over the dimensions along which `size` would be broadcast (torch.Tensor.sum_to_size).

    Raises RuntimeError unless `size` broadcasts to the tensor's shape, TypeError without sizes.
    """
    wanted, shape = sizes_given("sum_to_size", "size", size, named), self._raw.shape
    if repeated_dims(wanted, shape) is None:
        raise RuntimeError(f"size {{{[*wanted]}}} is not expandable to size {{{[*shape]}}}.")
    return TAPED.sum_to(self, wanted)
