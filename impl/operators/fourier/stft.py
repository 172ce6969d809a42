"""The short-time Fourier transform and its inverse: stft, istft."""

from __future__ import annotations

from impl.core.dtypes import FLOATING
from impl.core.messages import tensor_type
from impl.core.registry import FUNCTIONS, C, tensor_ops
from impl.core.warning import warn, warn_once
from impl.dispatch.autocast import fp32
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import function, native
from impl.operators.fourier.spectral import (
    BY_COUNT,
    BY_ROOT,
    UNSCALED,
    _fft_c2c,
    _fft_c2r,
    _fft_r2c,
)
from impl.operators.pointwise.arithmetic import require_tensor
from impl.tensor.tensor import Tensor


def _flag_text(value) -> str:
    return "None" if value is None else str(int(value))


_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied{}To suppress this warning and "
    "use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
_LEAKAGE = (
    ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
    "torch.hamming_window are recommended to reduce spectral leakage."
)
_LOSSLESS = ".Please provide the same window used by stft to make the inversion lossless."


def _window_text(window) -> str:
    if window is None:
        return "None"
    return f"{tensor_type(window.dtype)}{{{[*window.shape]}}}"


def centred(input, n_fft: int, pad_mode: str):
    """A signal, padded so that the first of its frames is centred at its beginning."""
    rank = input.dim()
    half = int(n_fft // 2)
    extended = input.view([1] * (3 - rank) + list(input.size()))
    padded = C.pad(extended, [half, half], pad_mode)
    return padded.view(padded.shape[-rank:])


@native()
@RULES["composed_fallback"]
@fp32
def stft(input, n_fft, hop_length=None, win_length=None, window=None, *settings):
    """The Fourier transforms of frames of n_fft elements, hop_length apart.

    From (L,) or (B, L) to (B?, N, T): N frequencies of T frames; N is n_fft // 2 + 1 if `onesided`,
    the default for real numbers. The settings are `normalized`, `onesided`, `return_complex` and
    `align_to_window`; ATen has an overload with `center` and `pad_mode` before these. Raises
    RuntimeError for sizes that do not fit and for real input without `return_complex`.
    """
    if len(settings) > 1 and isinstance(settings[1], str):
        center, pad_mode = settings[:2]
        settings = settings[2:]
        if center:
            input = centred(input, n_fft, pad_mode)
    return _spectrogram(input, n_fft, hop_length, win_length, window, *settings)


def _spectrogram(
    input,
    n_fft,
    hop_length,
    win_length,
    window,
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    if window is None:
        warn_once(_NO_WINDOW.format(_LEAKAGE))
    hop = n_fft >> 2 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = return_complex
    if is_complex is None:
        is_complex = input.is_complex() or (window is not None and window.is_complex())
    if not is_complex:
        _check_deprecated(return_complex)

    def refuse(reason: str, error: type[RuntimeError] = RuntimeError) -> RuntimeError:
        return error(
            f"stft({tensor_type(input.dtype)}{[*input.shape]}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={length}, window={_window_text(window)}, normalized={int(normalized)}, "
            f"onesided={_flag_text(onesided)}, return_complex={_flag_text(return_complex)}, "
            f"align_to_window={_flag_text(align_to_window)}) : {reason}"
        )

    if input.dtype.category < FLOATING:
        raise refuse("expected a tensor of floating point or complex values", NotImplementedError)
    if not 1 <= input.ndim <= 2:
        raise refuse("expected a 1D or 2D tensor")
    frames = tensor_ops.unsqueeze(input, 0) if input.ndim == 1 else input
    count = frames.shape[1]
    if not 0 < n_fft <= count:
        raise refuse(f"expected 0 < n_fft < {count}, but got n_fft={length}")
    if hop <= 0:
        raise refuse(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise refuse(f"expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise refuse(
            f"expected a 1D window tensor of size equal to win_length={length}, but got window "
            f"with size {[*window.shape]}"
        )
    if align_to_window:
        left = (n_fft - length) // 2
        frames = tensor_ops.constant_pad_nd(frames, (left, n_fft - length - left), 0)
    frames = _framed(frames, n_fft, hop)
    window = _centred(window, length, n_fft, input)
    if window is not None:
        frames = frames * window
    result = _spectra(frames, normalized, onesided)
    result = result.transpose_(1, 2)
    if input.ndim == 1:
        result = result.squeeze_(0)
    return result if is_complex else tensor_ops.view_as_real(result)


def _check_deprecated(return_complex) -> None:
    if return_complex is None:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    warn_once(
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
        "return complex tensors for all inputs, and return_complex=False will raise an error.\n"
        "Note: you can still call torch.view_as_real on the complex output to recover the old "
        "return format.",
    )


def _framed(signal: Tensor, size: int, hop: int) -> Tensor:
    """The frames of a signal (B, L), as a view (B, T, size)."""
    count = 1 + (signal.shape[1] - size) // hop
    outer, inner = signal.stride()
    return signal.as_strided((signal.shape[0], count, size), (outer, hop * inner, inner))


def _centred(window, length: int, size: int, like: Tensor):
    """The window, or ones, zero-padded on both sides to `size`; None without a window to pad."""
    if length >= size:
        return window
    source = like if window is None else window
    result = FUNCTIONS["zeros"](size, dtype=source.dtype)
    middle = result.narrow(0, (size - length) // 2, length)
    if window is None:
        middle.fill_(1)
    else:
        middle.copy_(window)
    return result


def _spectra(frames: Tensor, normalized: bool, onesided) -> Tensor:
    scale = BY_ROOT if normalized else UNSCALED
    dim = (frames.ndim - 1,)
    if not frames.is_complex():
        return _fft_r2c(frames, dim, scale, True if onesided is None else onesided)
    if onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    return _fft_c2c(frames, dim, scale, True)


@function()
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The least-squares estimate of a signal from the spectra of its frames (torch.istft).

    From (B?, N, T) to (B?, L), or `length` elements. Raises RuntimeError for sizes that do not fit
    and where the windows leave a gap.
    """
    require_tensor("istft", input)
    if window is None:
        warn_once(_NO_WINDOW.format(_LOSSLESS))
    hop = n_fft >> 2 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise TypeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if input.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
    pairs = tensor_ops.view_as_real(input.resolve_conj())

    def refuse(reason: str) -> RuntimeError:
        return RuntimeError(
            f"istft({tensor_type(input.dtype)}{[*input.shape]}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={win_length}, window={_window_text(window)}, center={int(center)}, "
            f"normalized={int(normalized)}, onesided={_flag_text(onesided)}, "
            f"length={length}, return_complex={int(return_complex)}) {reason}"
        )

    if not pairs.numel():
        raise refuse(": input tensor cannot be empty.")
    if not 3 <= pairs.ndim <= 4:
        raise refuse(f": expected a tensor with 3 or 4 dimensions, but got {pairs.ndim}")
    frames, frequencies = pairs.shape[-2], pairs.shape[-3]
    one_sided = frequencies != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if one_sided else n_fft
    if frequencies != expected:
        text = "n_fft / 2 + 1" if one_sided else "n_fft"
        raise refuse(
            f": expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{text} when onesided={bool(one_sided)}, but got {frequencies}"
        )
    if not 0 < hop <= win_length:
        raise refuse(": expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise refuse(": expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win_length,):
        raise refuse(": Invalid window shape. window has to be 1D and length of `win_length`")
    weights = FUNCTIONS["ones"](win_length, dtype=pairs.dtype) if window is None else window
    if win_length != n_fft:
        left = (n_fft - win_length) // 2
        weights = tensor_ops.constant_pad_nd(weights, (left, n_fft - win_length - left), 0)
    batch_of_pairs = tensor_ops.unsqueeze(pairs, 0) if pairs.ndim == 3 else pairs
    spectra = tensor_ops.view_as_complex(tensor_ops.transpose(batch_of_pairs, 1, 2))
    signals = _signals(spectra, n_fft, normalized, one_sided, window, return_complex)
    span = n_fft + hop * (frames - 1)
    batch = signals.shape[0]
    total = tensor_ops.unfold_backward(
        signals * weights.view(1, 1, n_fft), (batch, span), 1, n_fft, hop
    )
    squares = tensor_ops.pow_scalar(weights, 2).expand(1, frames, n_fft)
    envelope = tensor_ops.unfold_backward(squares, (1, span), 1, n_fft, hop)

    start = n_fft // 2 if center else 0
    end = span if length is None else start + length
    if length is None and center:
        end = -(n_fft // 2)
    total, envelope = (tensor_ops.slice(value, 1, start, end, 1) for value in (total, envelope))
    lowest = envelope.abs().min().lt(1e-11)
    if lowest.item():
        raise refuse("window overlap add min: 1\n[ CPUBoolType{} ]")
    result = total / envelope
    if pairs.ndim == 3:
        result = result.squeeze(0)
    if end > span:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center and hop_length settings.",
        )
        result = tensor_ops.constant_pad_nd(result, (0, end - span), 0)
    return result


def _signals(spectra, n_fft, normalized, one_sided, window, return_complex) -> Tensor:
    """The frames (B, T, n_fft) with the given spectra (B, T, N)."""
    scale = BY_ROOT if normalized else BY_COUNT
    if return_complex:
        if one_sided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return _fft_c2c(spectra, (2,), scale, False)
    if window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not one_sided:
        spectra = spectra[..., : n_fft // 2 + 1]
    return _fft_c2r(spectra, (2,), scale, n_fft)
