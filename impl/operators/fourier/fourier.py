"""The discrete Fourier transforms of `torch.fft`: of one, two and several dimensions."""

from __future__ import annotations

from impl.core.dims import existing_dim
from impl.core.dtypes import FLOATING, REDUCED, complex_of, get_default_dtype
from impl.core.registry import FUNCTIONS
from impl.dispatch.autocast import fp32
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.out import fit, same_dtype_out
from impl.operators.fourier.spectral import (
    BY_COUNT,
    BY_ROOT,
    UNSCALED,
    _fft_c2c,
    _fft_c2r,
    _fft_r2c,
)
from impl.tensor.tensor import Tensor

# -- arguments ----------------------------------------------------------------------------------


def _promoted(input: Tensor, to_complex: bool = False) -> Tensor:
    """The tensor in a dtype that has transforms. Raises NotImplementedError for half and
    bfloat16."""
    d = input.dtype
    if d.is_complex:
        return input
    if d.category < FLOATING:
        d = get_default_dtype()
    if d.numpy in REDUCED:
        raise NotImplementedError(f"Unsupported dtype {d.legacy}")
    d = complex_of(d) if to_complex else d
    return input if d is input.dtype else input.to(d)


def _scale(norm: str | None, forward: bool) -> int:
    """The scale of a value of `norm`. Raises RuntimeError for an unknown one."""
    if norm is None or norm == "backward":
        return UNSCALED if forward else BY_COUNT
    if norm == "forward":
        return BY_COUNT if forward else UNSCALED
    if norm == "ortho":
        return BY_ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _check_one(name: str, input, n, dim) -> None:
    """Raise TypeError unless `input` is a tensor, and `n` and `dim` are integers."""
    if not (n is None or hasattr(n, "__index__")):
        raise TypeError(f"{name}(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")


def _check_several(name: str, input, s, dim) -> None:
    """As `_check_one`; `s` and `dim` may be sequences."""
    for argument, value in (("s' (position 2)", s), ("dim'", dim)):
        if not (value is None or hasattr(value, "__index__") or isinstance(value, (tuple, list))):
            raise TypeError(
                f"{name}(): argument '{argument} must be tuple of ints, not {type(value).__name__}"
            )


def _check_points(count: int) -> None:
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")


def _resized(input: Tensor, dims, sizes) -> Tensor:
    """The tensor cut, or padded with zeros at the end, to `sizes` along `dims`."""
    shape = tuple(input.shape)
    padding = [0] * (2 * len(shape))
    for dim, size in zip(dims, sizes, strict=True):
        if size > shape[dim]:
            padding[-2 * dim - 1] = size - shape[dim]
        elif size < shape[dim]:
            input = input.narrow(dim, 0, size)
    return FUNCTIONS["constant_pad_nd"](input, padding) if any(padding) else input


def _dims_and_shape(input: Tensor, s, dim) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions to transform, and the number of points in each. Errors as `fftn`."""
    shape = tuple(input.shape)
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    dims = tuple(range(len(shape)))
    if dim is not None:
        dims = tuple(existing_dim(d, len(shape)) for d in dim)
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        sizes = [shape[d] for d in dims]
    else:
        if dim is not None and len(dim) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > len(shape):
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {len(shape)} dimensions."
            )
        if dim is None:
            dims = dims[len(shape) - len(s) :]
        sizes = [shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    for count in sizes:
        _check_points(count)
    return dims, sizes


def _dims_and_half_shape(name: str, input: Tensor, s, dim):
    """As `_dims_and_shape` for half of a Hermitian input, and the last size of the output."""
    dims, sizes = _dims_and_shape(input, s, dim)
    _check_any(name, dims)
    s = (s,) if isinstance(s, int) else s
    given = s is not None and s[-1] != -1
    size = sizes[-1] if given else 2 * (input.shape[dims[-1]] - 1)
    _check_points(size)
    return dims, [*sizes[:-1], size // 2 + 1], size


def _check_any(name: str, dims) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _check_real(name: str, input: Tensor, what: str = "real") -> None:
    if input.dtype.is_complex:
        raise TypeError(f"{name} expects a {what} input tensor, but got {input.dtype.legacy}")


def _applied(op, name: str, out, *arguments) -> Tensor:
    """The result of a primitive, stored in `out` if given.

    Raises RuntimeError for a real `out` of a complex result, and a complex one of a real result.
    """
    if out is None:
        return op(*arguments)
    _check_out(name, out, is_complex=op is not _fft_c2r)
    return op.call_out(out, arguments)


def _check_out(name: str, out, is_complex: bool) -> None:
    kind = "complex" if is_complex else "floating point"
    if not (out.dtype.is_complex if is_complex else out.dtype.category == FLOATING):
        raise RuntimeError(f"{name} expects a {kind} output tensor, but got {out.dtype.legacy}")


def _conjugated(name: str, out, result: Tensor) -> Tensor:
    if out is None:
        return result.conj()
    _check_out(name, out, is_complex=True)
    return FUNCTIONS["conj_physical"](result, out=out)


# -- one dimension ------------------------------------------------------------------------------


def _from_reals(name, out, input, n, dim, norm, forward: bool, onesided: bool) -> Tensor:
    _check_real(name, input)
    if out is not None:
        _check_out(name, out, is_complex=True)
    input = _promoted(input)
    dim = existing_dim(dim, input.ndim)
    size = input.shape[dim] if n is None else n
    _check_points(size)
    if n is not None:
        input = _resized(input, (dim,), (n,))
    scale = _scale(norm, forward)
    if forward:
        return _applied(_fft_r2c, name, out, input, (dim,), scale, onesided)
    return _conjugated(name, out, _fft_r2c(input, (dim,), scale, onesided))


def _from_complex(name, out, input, n, dim, norm, forward: bool) -> Tensor:
    dim = existing_dim(dim, input.ndim)
    _check_points(input.shape[dim] if n is None else n)
    if n is not None:
        input = _resized(input, (dim,), (n,))
    return _applied(_fft_c2c, name, out, input, (dim,), _scale(norm, forward), forward)


def _to_reals(name, out, input, n, dim, norm, forward: bool) -> Tensor:
    if out is not None:
        _check_out(name, out, is_complex=False)
    input = _promoted(input, True)
    dim = existing_dim(dim, input.ndim)
    size = 2 * (input.shape[dim] - 1) if n is None else n
    _check_points(size)
    if n is not None:
        input = _resized(input, (dim,), (n // 2 + 1,))
    scale = _scale(norm, forward)
    if forward:
        input = input.conj()
    return _applied(_fft_c2r, name, out, input, (dim,), scale, size)


@fp32
def fft(input, n=None, dim=-1, norm=None, *, out=None):
    """The discrete Fourier transform along a dimension, of n points (torch.fft.fft).

    `norm` names the direction that is divided by n: "backward" (also None) or "forward"; "ortho"
    divides both by sqrt(n). Integers become the default dtype. Raises RuntimeError for float16 and
    bfloat16, no points, and an unknown `norm`; IndexError for a dimension out of range.
    """
    _check_one("fft_fft", input, n, dim)
    if input.dtype.is_complex:
        return _from_complex("fft", out, input, n, dim, norm, True)
    return _from_reals("fft", out, input, n, dim, norm, True, False)


@fp32
def ifft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `fft` (torch.fft.ifft)."""
    _check_one("fft_ifft", input, n, dim)
    if input.dtype.is_complex:
        return _from_complex("ifft", out, input, n, dim, norm, False)
    return _from_reals("ifft", out, input, n, dim, norm, False, False)


@fp32
def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The first n // 2 + 1 elements of the `fft` of real numbers (torch.fft.rfft)."""
    _check_one("fft_rfft", input, n, dim)
    return _from_reals("rfft", out, input, n, dim, norm, True, True)


@fp32
def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `rfft`; m elements give 2 (m - 1) points by default (torch.fft.irfft)."""
    _check_one("fft_irfft", input, n, dim)
    return _to_reals("irfft", out, input, n, dim, norm, False)


@fp32
def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The `fft` of a Hermitian signal, given its first half (torch.fft.hfft)."""
    _check_one("fft_hfft", input, n, dim)
    return _to_reals("hfft", out, input, n, dim, norm, True)


@fp32
def ihfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `hfft` (torch.fft.ihfft)."""
    _check_one("fft_ihfft", input, n, dim)
    return _from_reals("ihfft", out, input, n, dim, norm, False, True)


# -- several dimensions -------------------------------------------------------------------------


def _all_complex(name, out, input, s, dim, norm, forward: bool) -> Tensor:
    _check_several(f"fft_{name}", input, s, dim)
    dims, sizes = _dims_and_shape(input, s, dim)
    resized = _resized(_promoted(input, True), dims, sizes)
    scale = _scale(norm, forward)
    return _applied(_fft_c2c, "fftn", out, resized, dims, scale, forward)


@fp32
def fftn(input, s=None, dim=None, norm=None, *, out=None):
    """The discrete Fourier transform over several dimensions (torch.fft.fftn).

    `s` is the number of points in each, -1 for all. Without `dim`, over the last len(s)
    dimensions, or all. Raises RuntimeError when `s` and `dim` do not fit, and as `fft`.
    """
    return _all_complex("fftn", out, input, s, dim, norm, True)


@fp32
def ifftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `fftn` (torch.fft.ifftn)."""
    return _all_complex("ifftn", out, input, s, dim, norm, False)


@fp32
def rfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The `fftn` of real numbers, one-sided in the last dimension (torch.fft.rfftn)."""
    _check_several("fft_rfftn", input, s, dim)
    _check_real("rfftn", input, "real-valued")
    dims, sizes = _dims_and_shape(input, s, dim)
    _check_any("rfftn", dims)
    resized = _resized(_promoted(input), dims, sizes)
    return _applied(_fft_r2c, "rfftn", out, resized, dims, _scale(norm, True), True)


@fp32
def irfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `rfftn` (torch.fft.irfftn)."""
    _check_several("fft_irfftn", input, s, dim)
    dims, sizes, size = _dims_and_half_shape("irfftn", input, s, dim)
    resized = _resized(_promoted(input, True), dims, sizes)
    return _applied(_fft_c2r, "irfftn", out, resized, dims, _scale(norm, False), size)


def hfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The `fftn` of a signal Hermitian in its last dimension, given its half (torch.fft.hfftn)."""
    _check_several("fft_hfftn", input, s, dim)
    dims, sizes, size = _dims_and_half_shape("hfftn", input, s, dim)
    part = _resized(_promoted(input, True), dims, sizes)
    scale = _scale(norm, True)
    if len(dims) > 1:
        part = _fft_c2c(part, dims[:-1], scale, True)
    return _applied(_fft_c2r, "hfftn", out, part.conj(), dims[-1:], scale, size)


@RULES["composed_fallback"]
@in_aten("fft_ihfftn")
def ihfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `hfftn` (torch.fft.ihfftn)."""
    _check_several("fft_ihfftn", input, s, dim)
    dims, sizes = _dims_and_shape(input, s, dim)
    _check_any("ihfftn", dims)
    resized = _resized(_promoted(input), dims, sizes)
    scale = _scale(norm, False)
    half = _fft_r2c(resized, dims[-1:], scale, True)
    if len(dims) == 1:
        if out is None:
            return half.conj()
        same_dtype_out(half._raw.dtype, out._raw)
        fit(half, out._raw.shape)
        return out  # to which ATen does not write the conjugate, but resizes that to its shape
    half = FUNCTIONS["conj_physical"](half)
    return _applied(_fft_c2c, "ihfftn", out, half, dims[:-1], scale, False)


def _of_two(several):
    name = several.__name__

    def transform(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        _check_several(f"fft_{name[:-1]}2", input, s, dim)
        return several(input, s, dim, norm, out=out)

    transform.__name__ = transform.__qualname__ = name[:-1] + "2"
    transform.__doc__ = f"`{name}` over the last two dimensions (torch.fft.{name[:-1]}2)."
    return transform


fft2, ifft2, rfft2, irfft2, hfft2 = map(_of_two, (fftn, ifftn, rfftn, irfftn, hfftn))
ihfft2 = RULES["composed_fallback"](in_aten("fft_ihfft2")(_of_two(ihfftn)))


# -- shifts -------------------------------------------------------------------------------------


def fftshift(input, dim=None):
    """The tensor rolled so that the zero frequency is in the middle (torch.fft.fftshift).

    Over all dimensions by default.
    """
    return _shifted("fft_fftshift", input, dim, 0)


def ifftshift(input, dim=None):
    """The inverse of `fftshift` (torch.fft.ifftshift)."""
    return _shifted("fft_ifftshift", input, dim, 1)


def _shifted(name: str, input, dim, more: int) -> Tensor:
    dims = (dim,) if isinstance(dim, int) else dim
    ndim = input.ndim
    dims = range(ndim) if dims is None else [existing_dim(d, ndim) for d in dims]
    return FUNCTIONS["roll"](input, [(input.shape[d] + more) // 2 for d in dims], [*dims])
