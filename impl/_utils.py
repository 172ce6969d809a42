"""`torch._utils`: the functions by whose names tensors are pickled."""

from impl.factories.copy_and_pickle import (
    _rebuild_meta_tensor_no_storage,
    _rebuild_sparse_tensor,
    _rebuild_tensor_v2,
)
from impl.nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state

__all__ = [
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor_v2",
]
