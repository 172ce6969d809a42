"""`torch.multiprocessing.reductions`: the form in which a tensor goes to another process."""

from impl.factories.copy_and_pickle import warn_if_has_hooks

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
    "the tensor before serializing (e.g., putting it on the queue)."
)


def reduce_tensor(tensor):
    """Raises RuntimeError for a non-leaf, which has a history that stays in its process, else
    NotImplementedError: there is no memory that processes share here."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NON_LEAF)
    warn_if_has_hooks(tensor)
    raise NotImplementedError("memory that processes share")
