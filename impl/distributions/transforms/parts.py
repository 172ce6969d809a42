"""Transforms of tensors in parts along one dimension, each part by a transform of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions.constraints.constraint import require, require_dim
from impl.distributions.transforms.transform import Transform
from impl.distributions.utils import _sum_rightmost, lazy_property


class _PartsTransform(Transform):
    """Transforms `tseq` of the parts of a tensor along `dim`.

    Raises AssertionError for elements of other classes, and for arguments whose size along `dim`
    is another.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        require(
            all(isinstance(t, Transform) for t in tseq),
            "All elements of tseq must be Transform instances",
        )
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms: list[Transform] = list(tseq)
        self.dim = dim

    def _expected_size(self) -> tuple[str, int]:
        """The size of arguments along `dim`, after its name in messages."""
        raise NotImplementedError

    def _split(self, value: Any) -> list[Any]:
        """The parts of a tensor."""
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        """The tensor of the parts."""
        raise NotImplementedError

    def _require_size(self, value: Any, name: str, described: str) -> None:
        """Raise AssertionError unless `value` has the expected size along `dim`."""
        require_dim(self.dim, value, described)
        size = value.size(self.dim)
        title, expected = self._expected_size()
        require(size == expected, f"{name}.size({self.dim}) = {size} must equal {title} {expected}")

    def _call(self, x: Any) -> Any:
        self._require_size(x, "x", "tensor")
        return self._joined(
            [t(part) for t, part in zip(self.transforms, self._split(x), strict=True)]
        )

    def _inverse(self, y: Any) -> Any:
        self._require_size(y, "y", "tensor")
        return self._joined(
            [t.inv(part) for t, part in zip(self.transforms, self._split(y), strict=True)]
        )

    def _log_jacobians(self, x: Any, y: Any) -> list[Any]:
        """The logarithms of the parts' Jacobians."""
        self._require_size(x, "x", "x")
        self._require_size(y, "y", "y")
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return [t.log_abs_det_jacobian(of_x, of_y) for t, of_x, of_y in parts]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_PartsTransform):
    """Transforms of the parts that are concatenated along `dim`
    (torch.distributions.transforms.CatTransform).

    The parts have those `lengths`, 1 each by default. Raises AssertionError for another number of
    lengths, and for arguments whose size along `dim` is not their sum.
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        count = len(self.transforms)
        self.lengths = [1] * count if lengths is None else list(lengths)
        require(
            len(self.lengths) == count,
            f"lengths ({len(self.lengths)}) must match transforms ({count})",
        )

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size of arguments along `dim`."""
        return sum(self.lengths)

    def _impl_recached(self, cache_size: int) -> Transform:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _expected_size(self) -> tuple[str, int]:
        return "length", self.length

    def _split(self, value: Any) -> list[Any]:
        parts, start = [], 0
        for length in self.lengths:
            parts.append(value.narrow(self.dim, start, length))
            start += length
        return parts

    def _joined(self, parts: list[Any]) -> Any:
        return C.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The parts' values concatenated, or their sum where `dim` is one of an argument's."""
        terms = [
            _sum_rightmost(term, max(0, self.event_dim - t.event_dim))
            for t, term in zip(self.transforms, self._log_jacobians(x, y), strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return C.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """Transforms of the slices that are stacked along `dim`
    (torch.distributions.transforms.StackTransform).

    Raises AssertionError for arguments whose size along `dim` is not the number of transforms.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _impl_recached(self, cache_size: int) -> Transform:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _expected_size(self) -> tuple[str, int]:
        return "len(transforms)", len(self.transforms)

    def _split(self, value: Any) -> list[Any]:
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _joined(self, parts: list[Any]) -> Any:
        return C.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._joined(self._log_jacobians(x, y))

    def _stacked(self, spaces: Iterable[Any]) -> Any:
        return constraints.stack([*spaces], self.dim)

    @constraints.dependent_property
    def domain(self):
        return self._stacked(part.domain for part in self.transforms)

    @constraints.dependent_property
    def codomain(self):
        return self._stacked(part.codomain for part in self.transforms)
