"""`torch._vmap_internals`: the name under which old programs import `vmap`."""

from impl.func.mapping import vmap

_vmap = vmap

__all__ = ["_vmap", "vmap"]
