"""The masks of attention: bool, True where to ignore, or float, which are added to the scores."""

from __future__ import annotations

import math
import warnings

from impl.core.dtypes import bool_
from impl.core.registry import C
from impl.tensor.tensor import Tensor


def canonical_mask(mask, query, name: str = "attn_mask"):
    """A mask to add to the scores of queries."""
    return _canonical(mask, name, None, "", query.dtype)


def canonical_padding(padding, mask, query, prefix: str = "", name: str = "attn_mask"):
    """A mask of keys to add to the scores; warns where `mask`, called `name`, is of another dtype.

    Raises RuntimeError for a `mask` that is no tensor.
    """
    return _canonical(padding, f"{prefix}key_padding_mask", _dtype_of(mask), name, query.dtype)


def _dtype_of(mask):
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return mask.dtype


def _canonical(mask, mask_name: str, other_type, other_name: str, target_type):
    if mask is None:
        return None
    kind, is_float = mask.dtype, C.is_floating_point(mask)
    if kind is not bool_ and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if other_type is not None and kind is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            stacklevel=3,
        )
    if is_float:
        return mask
    return C.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)
