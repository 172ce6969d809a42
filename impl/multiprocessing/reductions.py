"""`torch.multiprocessing.reductions`: the form in which a tensor goes to another process."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from impl.factories.copy_and_pickle import warn_if_has_hooks
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
    "the tensor before serializing (e.g., putting it on the queue)."
)


def reduce_tensor(tensor: Any) -> Any:
    """The parts of a tensor for another process, which gets a copy: there is no memory that
    processes share here. Raises RuntimeError for a non-leaf, whose history stays in its process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NON_LEAF)
    warn_if_has_hooks(tensor)
    return tensor.__reduce_ex__(2)


def init_reductions() -> None:
    """Make queues and pipes send tensors in this form."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)


init_reductions()
