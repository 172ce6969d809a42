"""Random number generation: torch's CPU generator (MT19937) and its distributions.

M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. The draws of each
distribution from the stream, and their conversion into numbers, are torch's, so that a seed gives
the same numbers as in torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import struct
import time
from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from impl.core.c_methods import of_one_argument, without_arguments
from impl.core.devices import CPU, check_device, is_meta_device
from impl.core.named_types import NamedType
from impl.core.registry import FUNCTIONS
from impl.kernels import float32_math, libm
from impl.kernels.fused_multiply_add import fused
from impl.tensor.tensor import Tensor, new

_DEFAULT_SEED = 67280421310721
_STATE_WORDS = 624
_STATE_BYTES = 5056
BLOCK = 65536
"""Numbers that are drawn at once: intermediate values stay in the cache."""


def _unsupported(name: str) -> NotImplementedError:
    return NotImplementedError(f"{name} is not supported in this Generator")


def _memory(engine: np.random.MT19937) -> np.ndarray:
    """The words of an engine's state and its position, in the engine's memory.

    NumPy's own `state` copies them one by one, which takes as long as a small program.
    """
    words = ctypes.c_uint32 * (_STATE_WORDS + 1)
    return np.ctypeslib.as_array(words.from_address(engine.ctypes.state_address))


class Generator(metaclass=NamedType, module="torch._C"):
    """A random number generator with its own seed and state (torch.Generator)."""

    __module__ = "impl"

    draws = 0
    """How often numbers were drawn, of all generators."""

    def __init__(self, device="cpu") -> None:
        check_device(device)
        if is_meta_device(device):
            raise RuntimeError("META device type not an accelerator.")
        self._engine = np.random.MT19937()
        self._memory = _memory(self._engine)
        self._stream = np.random.Generator(self._engine)
        self.device = CPU
        self.manual_seed(_DEFAULT_SEED)

    # -- seeding ----------------------------------------------------------------------------

    @of_one_argument
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

    @without_arguments
    def initial_seed(self) -> int:
        """The seed that was last set."""
        return self._seed

    @without_arguments
    def seed(self) -> int:
        """Seed the generator nondeterministically, and return the seed."""
        seed = time.time_ns() % 2**53
        self.manual_seed(seed)
        return seed

    # -- state ------------------------------------------------------------------------------

    @without_arguments
    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, in the layout of torch's CPU generator."""
        position = int(self._memory[_STATE_WORDS])
        if self._started:
            left, following = _STATE_WORDS - position + 1, position
        else:
            left, following = 1, 0
        header = struct.pack("<QiiQ", self._seed, left, 1, following)
        words = self._memory[:_STATE_WORDS].astype("<u8").tobytes()
        normal = struct.pack(
            "<dddiifI", 0.0, self._normal or 0.0, 0.0, int(self._normal is not None), 0, 0.0, 0
        )
        return new(np.frombuffer(header + words + normal, np.uint8).copy())

    @of_one_argument
    def set_state(self, state: Tensor) -> Generator:
        """Restore a state that `get_state` returned.

        Raises TypeError for anything but a tensor of bytes, RuntimeError if it is not contiguous,
        has another size, or is not one of this engine (mt19937::is_valid).
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
        seed, left, seeded, following = struct.unpack_from("<QiiQ", data)
        if not (seeded and 0 < left <= _STATE_WORDS and following <= _STATE_WORDS):
            raise RuntimeError("Invalid mt19937 state")
        self._seed = seed
        self._memory[:_STATE_WORDS] = np.frombuffer(data, "<u8", _STATE_WORDS, 24)
        _, cached, _, valid = struct.unpack_from("<dddi", data, 24 + 8 * _STATE_WORDS)
        self._started = not (left == 1 and following == 0)
        self._normal = cached if valid else None
        self._memory[_STATE_WORDS] = _STATE_WORDS if left == 1 else following
        return self

    @without_arguments
    def clone_state(self) -> Generator:
        """A generator of its own with the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self):
        return Generator, (self.device,), (self._seed, None, self.get_state())

    def __setstate__(self, state) -> None:
        self.set_state(state[2])

    @without_arguments
    def get_offset(self) -> int:
        """Raises RuntimeError: the place in the stream is an offset on CUDA only."""
        raise RuntimeError("CPU Generator does not use offset")

    @of_one_argument
    def set_offset(self, offset) -> Generator:
        """Raises RuntimeError, as `get_offset` does."""
        if not isinstance(offset, (int, np.integer)):
            raise RuntimeError(f"manual_offset expected a long, but got {type(offset).__name__}")
        raise RuntimeError("CPU Generator does not use offset")

    @without_arguments
    def graphsafe_get_state(self) -> Generator:
        """Raises NotImplementedError: only generators of CUDA graphs share their state."""
        raise _unsupported("graphsafe_get_state")

    @of_one_argument
    def graphsafe_set_state(self, state) -> Generator:
        """Raises NotImplementedError, as `graphsafe_get_state` does."""
        if not isinstance(state, Generator):
            raise TypeError(f"expected a Generator, but got {type(state).__name__}")
        raise _unsupported("graphsafe_set_state")

    # -- bits -------------------------------------------------------------------------------

    def words(self, count: int) -> np.ndarray:
        """`count` draws of 32 bits."""
        return self._whole(count, np.uint32)

    def long_words(self, count: int) -> np.ndarray:
        """`count` numbers of 64 bits, each made of two draws, the first one high."""
        return self._whole(count, np.uint64)

    def _whole(self, count: int, dtype) -> np.ndarray:
        """Integers of the dtype's whole range, which are the stream itself (`random_raw` takes
        twice as long)."""
        if count:
            self._started = True
            Generator.draws += 1
        return self._stream.integers(0, np.iinfo(dtype).max, count, dtype, endpoint=True)

    # -- distributions ----------------------------------------------------------------------

    def uniform(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Uniform numbers in [0, 1): 53 bits for float64, 24 for float32 and narrower types."""
        if dtype == np.float64:
            words, bits, result = self.long_words, 53, np.empty(count)
        else:
            words, bits, result = self.words, 24, np.empty(count, np.float32)
        scale = result.dtype.type(2.0**-bits)
        for start in range(0, count, BLOCK):
            part = result[start : start + BLOCK]
            drawn = words(part.size)
            drawn &= drawn.dtype.type(2**bits - 1)
            part[...] = drawn.view(f"i{drawn.itemsize}")  # sooner converted than unsigned ones
            part *= scale
        return result

    def normal_numbers(self, count: int) -> np.ndarray:
        """Normal numbers in float64, in pairs of two uniforms (Box-Muller); an odd one is kept."""
        kept = [] if self._normal is None or not count else [self._normal]
        missing = count - len(kept)
        first, second = self.uniform(missing + missing % 2, np.dtype(np.float64)).reshape(-1, 2).T
        radius = np.sqrt(-2.0 * libm.log1p(-second))
        sine, cosine = libm.sine_cosine(2.0 * math.pi * first)
        pairs = np.stack([radius * cosine, radius * sine], 1).reshape(-1)
        if count:
            self._normal = float(pairs[-1]) if missing % 2 else None
        return np.concatenate([kept, pairs[:missing]])

    def fill_normal_blocks(
        self, target: np.ndarray, dtype: np.dtype, mean: float, std: float
    ) -> None:
        """Fill at least 16 elements with normal numbers that are computed in `dtype`, in blocks of
        16 from 16 uniforms each.

        The last 16 are drawn again if their number is not a multiple of 16. float16 and bfloat16
        draw no uniforms for elements that the last block overwrites.
        """
        rest = target.size % 16
        whole = target.size - rest
        for start in range(0, whole, BLOCK):
            part = target[start : min(start + BLOCK, whole)]
            _fill_blocks(part, self.uniform(part.size, dtype), mean, std)
        if rest:
            if target.dtype == dtype:
                self.uniform(rest, dtype)
            _fill_blocks(target[-16:], self.uniform(16, dtype), mean, std)

    def integers(self, low: int, high: int, count: int) -> np.ndarray:
        """Integers from `low` (inclusive) to `high` (exclusive)."""
        span = high - low
        draws = self.long_words(count) if span >= 2**28 else self.words(count)
        result = _remainders(draws, span).astype(np.int64)
        result += low
        return result

    def permutation(self, count: int) -> np.ndarray:
        """A random permutation of the integers below `count` (Fisher-Yates).

        Step i exchanges the values at i and at a place from i on, and the steps follow each other:
        so does LAPACK's laswp with the rows of a matrix, here of one column. Its floats are exact
        for any count whose steps are 32-bit integers.
        """
        places = np.arange(count, dtype=np.int32)
        places[:-1] += self.words(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint32)
        column = np.arange(count, dtype=np.float64).reshape(-1, 1)
        if count > 1:
            column = lapack.dlaswp(column, places, overwrite_a=1)
        return column.ravel().astype(np.int64)


def _remainders(draws: np.ndarray, span: int) -> np.ndarray:
    """The remainders of draws, in their memory; by the quotients, since the division of an array by
    one number is vectorised and its remainder is not."""
    divisor = draws.dtype.type(span)
    quotients = draws // divisor
    quotients *= divisor
    draws -= quotients
    return draws


def _fill_blocks(target: np.ndarray, uniforms: np.ndarray, mean: float, std: float) -> None:
    """Fill with normal numbers: the first eight uniform numbers of each block make the radii, and
    the other eight the angles (Box-Muller)."""
    dtype = uniforms.dtype
    blocks = uniforms.view(np.dtype((np.void, 8 * dtype.itemsize))).reshape(-1, 2)  # faster copied
    radius, angle = np.ascontiguousarray(blocks.T).view(dtype)
    functions = libm if dtype == np.float64 else float32_math
    radius = functions.log(np.subtract(1, radius, out=radius))
    radius *= -2
    np.sqrt(radius, out=radius)
    angle *= 2 * math.pi
    sine, cosine = functions.sine_cosine(angle)
    blocks[:, 0] = np.multiply(radius, cosine, out=cosine).view(blocks.dtype)
    blocks[:, 1] = np.multiply(radius, sine, out=sine).view(blocks.dtype)
    if target.dtype == dtype:
        fused(uniforms, std, mean, out=target)
    else:
        target[...] = fused(uniforms, std, mean)


default_generator = Generator()


def manual_seed(seed) -> Generator:
    """Seed the default generator by an integer, or a number that is cut to one, and return it
    (torch.manual_seed)."""
    return default_generator.manual_seed(int(seed))


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
def fork_rng(
    devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None
) -> Iterator[None]:
    """Restore the default generator's state at the end of the block (torch.random.fork_rng).

    Raises AssertionError for devices, since none exist; the last parameters have no effect.
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
