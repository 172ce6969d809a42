"""`torch.utils.hooks`: handles of hooks, and hooks that are not pickled."""

from impl.core.registry import name_home
from impl.factories.copy_and_pickle import warn_if_has_hooks
from impl.graph.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """Mark a hook as one that need not be pickled, so that nothing warns of it
    (torch.utils.hooks.unserializable_hook)."""
    f.__torch_unserializable__ = True
    return f


name_home(globals())
