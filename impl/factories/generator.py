"""Random number generation: torch's CPU generator (MT19937) and its distributions.

M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. The draws of each
distribution from the stream, and their conversion into numbers, are torch's, so that a seed gives
the same numbers as in torch.
"""

from __future__ import annotations

import contextlib
import math
import struct
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from impl.core import dtypes
from impl.core.devices import CPU, check_device
from impl.core.registry import FUNCTIONS
from impl.dispatch.not_implemented import not_implemented
from impl.kernels import float32_math
from impl.tensor.tensor import Tensor, new

_DEFAULT_SEED = 67280421310721
_STATE_WORDS = 624
_STATE_BYTES = 5056


class Generator:
    """A random number generator with its own seed and state (torch.Generator)."""

    __module__ = "impl"

    def __init__(self, device="cpu") -> None:
        check_device(device)
        self._engine = np.random.MT19937()
        self.device = CPU
        self.manual_seed(_DEFAULT_SEED)

    # -- seeding ----------------------------------------------------------------------------

    def manual_seed(self, seed) -> Generator:
        """Seed the generator; negative seeds count from 2**64 down.

        Raises RuntimeError for anything but an int, ValueError beyond 64 bits
        (torch.Generator.manual_seed).
        """
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._engine._legacy_seeding(self._seed & 0xFFFFFFFF)
        self._started = False
        self._normal: float | None = None
        return self

    def initial_seed(self) -> int:
        """The seed that was last set."""
        return self._seed

    def seed(self) -> int:
        """Seed the generator nondeterministically, and return the seed."""
        seed = time.time_ns() % 2**53
        self.manual_seed(seed)
        return seed

    # -- state ------------------------------------------------------------------------------

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, in the layout of torch's CPU generator."""
        state = self._engine.state["state"]
        position = int(state["pos"])
        if self._started:
            left, following = _STATE_WORDS - position + 1, position
        else:
            left, following = 1, 0
        header = struct.pack("<QiiQ", self._seed, left, 1, following)
        words = state["key"].astype("<u8").tobytes()
        normal = struct.pack(
            "<dddiifI", 0.0, self._normal or 0.0, 0.0, int(self._normal is not None), 0, 0.0, 0
        )
        return new(np.frombuffer(header + words + normal, np.uint8).copy())

    def set_state(self, state: Tensor) -> Generator:
        """Restore a state that `get_state` returned.

        Raises TypeError for anything but a tensor of bytes, RuntimeError if it is not contiguous or
        has another size.
        """
        if not isinstance(state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state._raw.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not state.is_contiguous():
            raise RuntimeError("RNG state must be contiguous")
        if state._raw.size != _STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE_BYTES} but found the input RNG "
                f"state size to be {state._raw.size}"
            )
        data = state._raw.tobytes()
        self._seed, left, _, following = struct.unpack_from("<QiiQ", data)
        key = np.frombuffer(data, "<u8", _STATE_WORDS, 24).astype(np.uint32)
        _, cached, _, valid = struct.unpack_from("<dddi", data, 24 + 8 * _STATE_WORDS)
        self._started = not (left == 1 and following == 0)
        self._normal = cached if valid else None
        position = _STATE_WORDS if left == 1 else following
        self._engine.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
        return self

    # -- bits -------------------------------------------------------------------------------

    def words(self, count: int) -> np.ndarray:
        """`count` draws of 32 bits, as uint64."""
        if count:
            self._started = True
        return self._engine.random_raw(count) if count else np.empty(0, np.uint64)

    def long_words(self, count: int) -> np.ndarray:
        """`count` numbers of 64 bits, each made of two draws, the first one high."""
        pairs = self.words(2 * count).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    # -- distributions ----------------------------------------------------------------------

    def uniform(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Uniform numbers in [0, 1): 53 bits for float64, 24 for float32 and narrower types."""
        if dtype == np.float64:
            return (self.long_words(count) & np.uint64(2**53 - 1)) * 2.0**-53
        return ((self.words(count) & np.uint64(2**24 - 1)) * 2.0**-24).astype(np.float32)

    def normal_numbers(self, count: int) -> list[float]:
        """Normal numbers in float64, in pairs of two uniforms (Box-Muller); an odd one is kept."""
        result: list[float] = []
        while len(result) < count:
            if self._normal is not None:
                result.append(self._normal)
                self._normal = None
                continue
            first, second = self.uniform(2, np.dtype(np.float64)).tolist()
            radius = math.sqrt(-2.0 * math.log1p(-second))
            angle = 2.0 * math.pi * first
            self._normal = radius * math.sin(angle)
            result.append(radius * math.cos(angle))
        return result

    def normal_blocks(self, count: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
        """At least 16 normal numbers, in blocks of 16 from 16 uniforms each.

        The last 16 are drawn again if the count is not a multiple of 16.
        """
        data = self.uniform(count, dtype)
        whole = count // 16 * 16
        data[:whole] = _block_normals(data[:whole], mean, std)
        if whole != count:
            data[-16:] = _block_normals(self.uniform(16, dtype), mean, std)
        return data

    def integers(self, low: int, high: int, count: int) -> np.ndarray:
        """Integers from `low` (inclusive) to `high` (exclusive)."""
        span = high - low
        draws = self.long_words(count) if span >= 2**28 else self.words(count)
        return (draws % np.uint64(span)).astype(np.int64) + low

    def permutation(self, count: int) -> np.ndarray:
        """A random permutation of the integers below `count` (Fisher-Yates)."""
        order = list(range(count))
        draws = self.words(max(count - 1, 0)).tolist()
        for i, draw in enumerate(draws):
            other = i + draw % (count - i)
            order[i], order[other] = order[other], order[i]
        return np.array(order, np.int64)


def _block_normals(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    blocks = uniforms.reshape(-1, 2, 8)
    first, second = 1 - blocks[:, 0], blocks[:, 1]
    if uniforms.dtype == np.float64:
        return _double_normals(first, second, mean, std).reshape(-1)
    radius = np.sqrt(np.float32(-2) * float32_math.log(first))
    sine, cosine = float32_math.sine_cosine(np.float32(2 * math.pi) * second)
    both = np.stack([radius * cosine, radius * sine], 1)
    return float32_math.fused(both, np.float32(std), np.float32(mean)).reshape(-1)


def fused(a: float, b: float, c: float) -> float:
    """a * b + c in float64 with one rounding: the fused multiply-add in torch's compiled code."""
    if b == 1 and c == 0:
        return a
    return float(Fraction(a) * Fraction(float(b)) + Fraction(float(c)))


def _double_normals(first, second, mean: float, std: float) -> np.ndarray:
    # The C library's functions: NumPy's vectorised ones may differ in the last bit.
    result = np.empty((len(first), 2, 8))
    for index in np.ndindex(first.shape):
        radius = math.sqrt(-2.0 * math.log(first[index]))
        angle = 2.0 * math.pi * second[index]
        block, i = index
        result[block, 0, i] = fused(radius * math.cos(angle), std, mean)
        result[block, 1, i] = fused(radius * math.sin(angle), std, mean)
    return result


default_generator = Generator()


def manual_seed(seed) -> Generator:
    """Seed the default generator, and return it (torch.manual_seed)."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator nondeterministically, and return the seed (torch.seed)."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator (torch.initial_seed)."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, as a tensor of bytes (torch.get_rng_state)."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the default generator (torch.set_rng_state)."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type=None) -> Iterator[None]:
    """Restore the default generator's state at the end of the block (torch.random.fork_rng).

    Raises AssertionError for devices, since none exist; `device_type` has no effect.
    """
    if devices is not None and list(devices):
        raise AssertionError("Torch not compiled with CUDA enabled")
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


for _f in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state):
    FUNCTIONS[_f.__name__] = _f


# -- filling tensors --------------------------------------------------------------------------


def memory_order(tensor: Tensor) -> np.ndarray:
    """A view of the tensor's array whose row-major order is the memory order."""
    array = tensor._array()
    strides = tensor.stride()
    order = sorted(range(array.ndim), key=lambda d: -strides[d])
    return array.transpose(order)


def _fill(tensor: Tensor, values) -> None:
    target = memory_order(tensor)
    target[...] = np.asarray(values).reshape(target.shape)


def _parts(tensor: Tensor) -> Tensor:
    return FUNCTIONS["view_as_real"](tensor.detach())


def _floating(tensor: Tensor, kernel: str) -> np.dtype:
    d = dtypes.BY_NUMPY[tensor._raw.dtype]
    if not d.is_floating_point:
        raise not_implemented(kernel, d)
    return tensor._raw.dtype


def draw_uniform(tensor: Tensor, low: float, high: float, generator: Generator | None) -> None:
    """Fill with uniform numbers from [low, high); real and imaginary parts are drawn separately.

    Raises NotImplementedError for integers.
    """
    if tensor.is_complex():
        draw_uniform(_parts(tensor), low, high, generator)
        return
    dtype = _floating(tensor, "check_uniform_bounds")
    source = generator or default_generator
    values: np.ndarray = source.uniform(tensor._raw.size, dtype)
    if (low, high) != (0, 1):
        low, high = values.dtype.type(low), values.dtype.type(high)
        if dtype == np.float64:
            values = np.array([fused(v, high - low, low) for v in values.tolist()])
        else:
            values = float32_math.fused(values, high - low, low)
    values = values.astype(dtype)
    # Rounding may reach the upper bound, which is exclusive.
    values[values == dtype.type(high)] = low
    _fill(tensor, values)


def draw_normal(
    tensor: Tensor, mean: float, std: float, generator: Generator | None, singly: bool = False
) -> None:
    """Fill with normal numbers, in blocks for 16 or more elements if the tensor is contiguous.

    `singly` disables blocks, for a contiguous stand-in of a tensor that is not contiguous. Real
    and imaginary parts have this mean, and half the variance. Raises NotImplementedError for
    integers.
    """
    if tensor.is_complex():
        draw_normal(_parts(tensor), mean, std / math.sqrt(2), generator, singly)
        return
    dtype = _floating(tensor, "normal_kernel_cpu")
    source = generator or default_generator
    count = tensor._raw.size
    if count >= 16 and tensor.is_contiguous() and not singly:
        if dtype.itemsize >= 4:
            values = source.normal_blocks(count, dtype, mean, std)
        else:
            # float16 and bfloat16 draw no uniforms for elements that the last block overwrites.
            whole = source.normal_blocks(count // 16 * 16, np.dtype(np.float32), mean, std)
            values = np.concatenate([whole, whole[: count % 16]])
            if count % 16:
                values[-16:] = source.normal_blocks(16, np.dtype(np.float32), mean, std)
        _fill(tensor, values)
    else:
        _fill(tensor, [fused(z, std, mean) for z in source.normal_numbers(count)])


def draw_integers(tensor: Tensor, low: int, high: int, generator: Generator | None) -> None:
    """Fill with integers from [low, high). Raises RuntimeError for an empty range."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    source = generator or default_generator
    _fill(tensor, source.integers(low, high, tensor._raw.size))


_WHOLE = {"f": 2**24, "d": 2**53, "e": 2**11}


def draw_any(tensor: Tensor, generator: Generator | None) -> None:
    """Fill with integers from the dtype's exactly representable range (torch.Tensor.random_)."""
    source = generator or default_generator
    d = dtypes.BY_NUMPY[tensor._raw.dtype]
    count = tensor._raw.size
    if d is dtypes.bool_:
        values = source.words(count) & np.uint64(1)
    elif d.is_floating_point:
        span = (2**8 if d is dtypes.bfloat16 else _WHOLE[d.numpy.char]) + 1
        draws = source.long_words(count) if d is dtypes.float64 else source.words(count)
        values = (draws % np.uint64(span)).astype(np.float64)
    else:
        span = np.iinfo(d.numpy).max + 1
        draws = source.long_words(count) if d is dtypes.int64 else source.words(count)
        values = draws % np.uint64(span)
    _fill(tensor, values)


def draw_exponential(tensor: Tensor, rate: float, generator: Generator | None) -> None:
    """Fill with exponentially distributed numbers, by inversion of float64 uniforms."""
    _floating(tensor, "exponential_cpu")
    source = generator or default_generator
    uniforms = source.uniform(tensor._raw.size, np.dtype(np.float64)).tolist()
    _fill(tensor, [-math.log1p(-u) / rate for u in uniforms])


def draw_bernoulli(tensor: Tensor, p: float, generator: Generator | None) -> None:
    """Fill with ones with probability `p` and zeros otherwise, each from a float64 uniform."""
    source = generator or default_generator
    _fill(tensor, source.uniform(tensor._raw.size, np.dtype(np.float64)) < p)


def draw_slopes(noise: Tensor, input: Tensor, low: float, high: float) -> None:
    """Fill with uniform slopes from [low, high) where the input is not positive, else with ones.

    Each slope is made of a float64 uniform (ATen's rrelu_with_noise).
    """
    _floating(noise, "rrelu_with_noise_out_cpu")
    drawn = np.ravel(input._raw <= 0)
    uniforms = default_generator.uniform(int(drawn.sum()), np.dtype(np.float64))
    slopes = np.ones(drawn.shape)
    slopes[drawn] = [fused(u, high - low, low) for u in uniforms.tolist()]
    _fill(noise, slopes)
