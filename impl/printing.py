"""How a tensor prints."""

from __future__ import annotations


def text(tensor) -> str:
    """torch's form, with NumPy's digits: `tensor([1., 2.], requires_grad=True)`."""
    import numpy as np

    raw = tensor._raw.astype(np.float32) if tensor._raw.dtype.kind == "V" else tensor._raw
    body = np.array2string(np.asarray(raw), precision=4, separator=", ", prefix="tensor(")
    parts = [body]
    from impl.dtypes import get_default_dtype

    d = tensor.dtype
    if d.name not in ("int64", "bool") and d is not get_default_dtype():
        parts.append(f"dtype={d}")
    if tensor._node is not None:
        parts.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        parts.append("requires_grad=True")
    return f"tensor({', '.join(parts)})"
