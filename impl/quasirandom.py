"""`torch.quasirandom`: the points of Sobol sequences."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import dtype as DType
from impl.core.dtypes import float32, float64, get_default_dtype, int64
from impl.core.registry import C
from impl.factories.generator import Generator
from impl.kernels import sobol
from impl.tensor.tensor import Tensor, new

__all__ = ["SobolEngine"]


class SobolEngine:
    """The points of a Sobol sequence in a unit cube, the first of which is the origin
    (torch.quasirandom.SobolEngine).

    With `scramble` the sequence is moved by Owen's random scrambling, of a generator with the
    `seed`, or of the default one. Raises ValueError for dimensions below 1 and above 21201,
    NotImplementedError above 1111, of which the direction numbers are not in the table.
    """

    MAXBIT = sobol.MAXBIT
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        if dimension > sobol.DIMENSIONS:
            raise NotImplementedError(f"Sobol sequences of more than {sobol.DIMENSIONS} dimensions")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = C.zeros(dimension, self.MAXBIT, dtype=int64)
        self.sobolstate.copy_(new(sobol.direction_numbers(dimension)))
        self.shift = C.zeros(dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next `n` points, a row for each, of the default dtype or another. Raises
        NotImplementedError for dtypes other than float32 and float64, unless the first point alone
        is drawn, ValueError for a negative number."""
        dtype = dtype or get_default_dtype()
        if self.num_generated:
            result = self._drawn(n, self.num_generated - 1, dtype)
        else:
            result = self._first_point.to(dtype)
            if n != 1:
                result = C.cat((result, self._drawn(n - 1, 0, dtype)), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next `2**m` points. Raises ValueError where the points drawn are no power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin the sequence again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over `n` points. Raises ValueError for a negative number."""
        if n:
            first = not self.num_generated
            passed = self._points(n - first, self.num_generated - (not first))
            if len(passed):
                self.quasi.numpy()[...] = passed[-1]  # which torch does not count
            self.num_generated += n
        return self

    def _points(self, n: int, drawn: int) -> np.ndarray:
        if n < 0:
            raise ValueError(f"n must be non-negative, but got {n}")
        return sobol.points(self.quasi.numpy(), self.sobolstate.numpy(), n, drawn)

    def _drawn(self, n: int, drawn: int, dtype: DType) -> Tensor:
        if dtype not in (float32, float64):
            raise NotImplementedError(
                f"\"_sobol_engine_draw\" not implemented for '{dtype.legacy}'"
            )
        found = self._points(n, drawn)
        if len(found):
            self.quasi = new(found[-1].copy())
        return new(found.astype(dtype.numpy)).mul_(2.0**-self.MAXBIT)

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        bits = C.randint(2, (self.dimension, self.MAXBIT), generator=generator)
        self.shift = C.mv(bits, C.pow(2, C.arange(0, self.MAXBIT)))
        sides = (self.dimension, self.MAXBIT, self.MAXBIT)
        matrices = C.randint(2, sides, generator=generator).tril()
        state = sobol.scrambled(self.sobolstate.numpy(), matrices.numpy())
        self.sobolstate.numpy()[...] = state  # which torch does not count

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
