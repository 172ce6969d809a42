"""The choice of a kernel for attention: those that a program allows, and that take its operands.

On a CPU torch has the flash-attention kernel, which comes first, and the composition of ATen
(aten/src/ATen/native/transformers/sdp_utils_cpp.cpp, `select_sdp_backend_cpp`).
"""

from __future__ import annotations

from impl.core.dims import wrap_dim
from impl.core.dtypes import FLOATING
from impl.core.warning import warn
from impl.tensor.tensor import requires_grad

ALLOWED = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn", "overrideable"), True)
"""The kernels that are allowed, in all threads; of these a CPU has flash and math."""

_NOT_VIABLE = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due to turning "
    "off both the math kernel and the fused kernels."
)
_NOT_USED = "Flash attention kernel not used because:"
_NO_DROPOUT = "Both fused kernels do not support non-zero dropout."
_DIMS = "All fused kernels requires query, key and value to be 4 dimensional, but got {} instead."
_EXPANDED = (
    "{} instead. To broadcast dense inputs, try using unsqueeze and expand_to before passing them "
    "into the kernel."
)
_BATCHES = (
    "For dense inputs, both fused kernels require query, key and value to have the same "
    "batch_size. Got " + _EXPANDED
)
_HEADS = (
    "For dense input, both fused kernels require query, key and value to have the same num_heads. "
    "Got " + _EXPANDED
)
_SHARED_HEADS = "Both fused kernels require key and value to have the same num_heads. Got {}."
_DIVIDING_HEADS = "The number of heads in key/value must divide number of heads in query.Got {}."
_MASKS = (
    "Please use the following attn mask shapes: 2d - ({Q_seq_len, 1}  x {KV_seq_len, 1}); 4d - "
    "({Batch, 1} x {Num_heads, 1} x {Q_seq_len, 1}  x {KV_seq_len, 1})"
)
_WIDTHS = "Flash attention requires q,k,v to have the same last dimension. Got {} instead."
_STEPS = (
    "All fused kernels require the last dimension of the input to have stride 1. Got Query{0}, "
    "Key{1}, Value{2}"
)
_DTYPES = (
    "Expected query, key and value to all be of dtype: {{Float, Double, BFloat16, Half}}. Got "
    "Query dtype: {0}, Key dtype: {0}, and Value dtype: {0} instead."
)


def takes_flash(query, key, value, mask, dropout_p: float, enable_gqa: bool) -> bool:
    """Whether the flash-attention kernel is the one to take, or else the composition.

    Raises RuntimeError where neither of them is allowed, or where flash attention alone is, and
    does not take the operands; then warns of the reason. Raises IndexError for a mask that is a
    vector.
    """
    if not (ALLOWED["flash"] or ALLOWED["math"]):
        raise RuntimeError(_NOT_VIABLE)
    reason = None
    if ALLOWED["flash"]:
        reason = _refusal(query, key, value, mask, dropout_p, enable_gqa)
        if reason is None:
            return True
    if not ALLOWED["math"]:
        warn(_NOT_USED)
        if reason:
            warn(reason)
        raise RuntimeError("No available kernel.  Aborting execution.")
    return False


def _refusal(query, key, value, mask, dropout_p: float, enable_gqa: bool) -> str | None:
    """The reason for which flash attention does not take the operands, empty where torch says none;
    None if it takes them (use_flash_attention_cpp)."""
    operands = (query, key, value)
    if dropout_p > 0:
        return _NO_DROPOUT
    if any(t._raw.ndim != 4 for t in operands):
        return _DIMS.format(_each(" dim", (t._raw.ndim for t in operands)))
    if not query._raw.shape[0] == key._raw.shape[0] == value._raw.shape[0]:
        return _BATCHES.format(_each(" batch_size", (t._raw.shape[0] for t in operands)))
    heads = query._raw.shape[1], key._raw.shape[1], value._raw.shape[1]
    if (refused := _refused_heads(heads, enable_gqa)) is not None:
        return refused
    if mask is not None:
        if requires_grad(mask):
            return ""
        if (refused := _refused_mask(query, key, mask)) is not None:
            return refused
    widths = [t._raw.shape[3] for t in operands]
    if len(set(widths)) > 1:
        return _WIDTHS.format(_each(".size(-1)", widths))
    if any(t.stride(-1) != 1 for t in operands):
        return _STEPS.format(*(f".stride(-1): {t.stride(-1)}" for t in operands))
    if query.dtype.category != FLOATING:
        return _DTYPES.format(query.dtype.c_name)
    return None


def _each(what: str, values) -> str:
    names = ("Query", "Key", "Value")
    return ", ".join(f"{n}{what}: {v}" for n, v in zip(names, values, strict=True))


def _refused_heads(numbers: tuple[int, int, int], enable_gqa: bool) -> str | None:
    """The reason that numbers of heads are; one head of key and value serves all of the query's."""
    query, key, value = numbers
    if enable_gqa:
        text = _SHARED_HEADS if key != value else _DIVIDING_HEADS
        heads = f"Key num_heads: {key}, Value num_heads: {value}, Query num_heads: {query} instead"
        return text.format(heads) if key != value or query % key else None
    if key == value and key in (1, query):
        return None
    return _HEADS.format(_each(" num_heads", numbers))


def _refused_mask(query, key, mask) -> str | None:
    """The reason that a mask is, which has to broadcast to the scores from 2 or 4 dimensions."""
    wrap_dim(-2, mask._raw.ndim)  # raises for a vector
    if mask._raw.ndim not in (2, 4):
        return _MASKS
    batch, heads, rows, _ = query._raw.shape
    scores = (key._raw.shape[2], rows, heads, batch)
    fits = zip(mask._raw.shape[::-1], scores, strict=False)
    return None if all(have in (1, want) for have, want in fits) else ""
