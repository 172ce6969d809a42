"""sum_to_size: the sum to a smaller shape, the adjoint of broadcasting."""

from __future__ import annotations

from impl.core.registry import tensor_ops
from impl.core.sizes import repeated_dims, sizes_given
from impl.dispatch.definition import function


@function(torch=False)
def sum_to_size(self, *size, **named):
    """The sum over the dimensions along which `size` would be broadcast (torch.Tensor.sum_to_size).

    Raises RuntimeError unless `size` broadcasts to the tensor's shape, TypeError without sizes.
    """
    wanted, shape = sizes_given("size", size, named), self._raw.shape
    if repeated_dims(wanted, shape) is None:
        raise RuntimeError(f"size {{{[*wanted]}}} is not expandable to size {{{[*shape]}}}.")
    return tensor_ops.sum_to(self, wanted)
