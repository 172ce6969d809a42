"""Lacks a name that torch has, or says that it does not have it yet."""

from .wrapping import Namespace


def _not_implemented(*args, **keywords):
    raise NotImplementedError("ones is not implemented for this miniature")


namespace = Namespace(lacks=("ones",))
not_implemented = Namespace(ones=_not_implemented)
