"""`torch.library`: operators of a program's own."""

from __future__ import annotations

from impl.library.custom_op import CustomOpDef, custom_op
from impl.library.dispatcher import fallthrough_kernel
from impl.library.fake import get_ctx
from impl.library.library import Library
from impl.library.registration import (
    define,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from impl.library.schema_annotations import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

for _name in __all__:
    if _name != "CustomOpDef":
        globals()[_name].__module__ = __name__
