"""Lacks a name of torch, or raises NotImplementedError for it."""

from .wrapping import Namespace


def _not_implemented(*args, **keywords):
    raise NotImplementedError("ones is not implemented for this miniature")


namespace = Namespace(lacks=("ones",))
not_implemented = Namespace(ones=_not_implemented)
