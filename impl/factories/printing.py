"""The text of a tensor: `tensor([1., 2.], requires_grad=True)`, with torch's number of digits."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from impl.core.dtypes import COMPLEX, complex64, complex128, float64, get_default_dtype
from impl.tensor import forward_grad
from impl.tensor.sparse_tensor import SPARSE
from impl.tensor.tensor import PLAIN, Tensor


@dataclasses.dataclass
class Options:
    """The options of printing, with torch's defaults."""

    precision: int = 4
    threshold: float = 1000  # the number of elements above which only the edges are shown
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None  # whether scientific; None: chosen for readability


OPTIONS = Options()
_PROFILES = {
    "default": Options(),
    "short": Options(precision=2, edgeitems=2),
    "full": Options(threshold=math.inf),
}


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
) -> None:
    """Set the options of printing: from a profile ("default", "short" or "full"), and one by one.

    None leaves an option unchanged, except `sci_mode` (torch.set_printoptions).
    """
    chosen = {} if profile is None else vars(_PROFILES.get(profile, OPTIONS))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems}
    given["linewidth"] = linewidth
    vars(OPTIONS).update(chosen, **{k: v for k, v in given.items() if v is not None})
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options of printing, as keywords of `set_printoptions`."""
    return dataclasses.asdict(OPTIONS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A context in which these options of printing are set."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Format:
    """The format of one tensor's elements: fixed or scientific, with a common width."""

    def __init__(self, values) -> None:
        self.floating = values.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        self.width = 1
        flat = values.reshape(-1).tolist()
        if not self.floating:
            self.width = max([1, *(len(str(v)) for v in flat)])
            return
        # As in torch, zeros, infinities and NaN do not determine the width, and may be misaligned.
        shown = [v for v in flat if math.isfinite(v) and v != 0]
        if not shown:
            return
        low, high = min(map(abs, shown)), max(map(abs, shown))
        self.whole = all(math.ceil(v) == v for v in shown)
        spread = high / low > 1000.0 or high > 1.0e8
        self.scientific = spread if self.whole else spread or low < 1.0e-4
        if OPTIONS.sci_mode is not None:
            self.scientific = OPTIONS.sci_mode
        self.width = max(len(self(v)) for v in shown)

    def __call__(self, value) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:.{OPTIONS.precision}e}"
        elif self.whole:
            text = f"{value:.0f}"
            if math.isfinite(value):
                text += "."
        else:
            text = f"{value:.{OPTIONS.precision}f}"
        return text.rjust(self.width)


class _ComplexFormat:
    """The format of complex numbers, with separate widths for real and imaginary parts."""

    def __init__(self, values) -> None:
        self.real, self.imag = _Format(values.real), _Format(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value) -> str:
        imag = self.imag(value.imag).lstrip()
        sign = "" if imag.startswith("-") else "+"
        return f"{self.real(value.real)}{sign}{imag}j"


def _row(values, indent: int, format, summarise: bool) -> str:
    values = _exact(values)
    if summarise and not OPTIONS.edgeitems:
        items = ["..."]
    elif summarise and len(values) > 2 * OPTIONS.edgeitems:
        items = [
            *(format(v) for v in values[: OPTIONS.edgeitems].tolist()),
            " ...",
            *(format(v) for v in values[-OPTIONS.edgeitems :].tolist()),
        ]
    else:
        items = [format(v) for v in values.tolist()]
    per_line = max(1, (OPTIONS.linewidth - indent) // (format.width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(values, indent: int, format, summarise: bool) -> str:
    if values.ndim == 0:
        return format(_exact(values).item())
    if values.ndim == 1:
        return _row(values, indent, format, summarise)
    if summarise and len(values) > 2 * OPTIONS.edgeitems:
        parts = [
            *(_block(v, indent + 1, format, summarise) for v in values[: OPTIONS.edgeitems]),
            "...",
            *(
                _block(v, indent + 1, format, summarise)
                for v in values[len(values) - OPTIONS.edgeitems :]
            ),
        ]
    else:
        parts = [_block(v, indent + 1, format, summarise) for v in values]
    between = "," + "\n" * (values.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


def _edges(values):
    """The elements of a large array that are shown, from which the format is determined."""
    ends = (*range(OPTIONS.edgeitems), *range(-OPTIONS.edgeitems, 0))
    return values[np.ix_(*(ends if n > len(ends) else range(n) for n in values.shape))]


def _exact(values):
    """Half precision as float32."""
    half = values.dtype.kind == "V" or values.dtype == np.float16
    return values.astype(np.float32) if half else values


def _body(raw, indent: int) -> str:
    values = np.asarray(raw)
    summarise = values.size > OPTIONS.threshold
    shown = _exact(_edges(values) if summarise else values)
    format = _ComplexFormat(shown) if values.dtype.kind == "c" else _Format(shown)
    return _block(values, indent, format, summarise)


def text(tensor, contents: str | None = None) -> str:
    """torch's text of a tensor: its elements, and its dtype and history unless they are the
    default. `contents` replaces the elements."""
    raw, d = tensor._raw, tensor.dtype
    if tensor.is_meta:
        contents = "..."
    name, plain = type(tensor).__name__, PLAIN | SPARSE
    prefix = "tensor(" if name == Tensor.__name__ or type(tensor) in plain else f"{name}("
    suffixes = []
    default = get_default_dtype()
    body = contents or ""
    if tensor.is_meta:
        suffixes += [f"device='{tensor.device}'", f"size={tuple(raw.shape)}"]
        if d is not default:
            suffixes.append(f"dtype={d}")
    elif tensor.is_sparse:
        body = _stored(raw, len(prefix)) if contents is None else contents
        suffixes += [f"size={tuple(raw.shape)}", f"nnz={raw.nnz}"]
        if not _is_usual(d):
            suffixes.append(f"dtype={d}")
        suffixes.append(f"layout={tensor.layout}")
    elif raw.size == 0:
        body = "[]" if contents is None else contents
        if raw.ndim != 1:
            suffixes.append(f"size={tuple(raw.shape)}")
        if d is not default:
            suffixes.append(f"dtype={d}")
    else:
        body = _body(raw, len(prefix)) if contents is None else contents
        if not OPTIONS.edgeitems:
            suffixes.append(f"size={tuple(raw.shape)}")
        if not _is_usual(d):
            suffixes.append(f"dtype={d}")
    try:
        node = tensor.grad_fn
        if node is not None:
            name = type(node).__name__
            if name == "CppFunction":  # a node of a C++ function, without a class of its own
                name = node.name().rpartition("::")[2]
            suffixes.append(f"grad_fn=<{name}>")
        elif tensor.requires_grad:
            suffixes.append("requires_grad=True")
    except RuntimeError:
        suffixes.append("grad_fn=<Invalid>")
    tangent = forward_grad.fw_grad(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    shown = _with_suffixes(prefix + body, suffixes, len(prefix), tensor.is_sparse)
    return f"Parameter({shown})" if _is_own_parameter(tensor) else shown


def _is_own_parameter(tensor) -> bool:
    """Whether a tensor of a program's own class is a parameter, by its mark or by that class."""
    kinds = type(tensor).__mro__
    if kinds[0] in PLAIN | SPARSE:
        return False
    return getattr(tensor, "_is_param", False) or not PLAIN.isdisjoint({*kinds} - {Tensor})


def _is_usual(d) -> bool:
    """Whether a dtype is not shown: the default one of its kind, int64 and bool."""
    default = get_default_dtype()
    if d.category == COMPLEX:
        return d is (complex128 if default is float64 else complex64)
    return d.name in ("int64", "bool") or d is default


def _stored(raw, indent: int) -> str:
    """The indices and the elements of a sparse value."""
    parts = []
    for name, part in (("indices", raw.indices), ("values", raw.values)):
        prefix = f"{name}=tensor("
        shown = _body(part, indent + len(prefix)) if part.size else f"[], size={part.shape}"
        parts.append(f"{prefix}{shown})")
    return (",\n" + " " * indent).join(parts)


def _with_suffixes(body: str, suffixes, indent: int, on_new_line: bool = False) -> str:
    pieces = [body]
    last = len(body) - body.rfind("\n") + 1
    for suffix in suffixes:
        if on_new_line or last + len(suffix) + 2 > OPTIONS.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
            on_new_line = False
        else:
            pieces.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(pieces) + ")"


__all__ = ["text"]
