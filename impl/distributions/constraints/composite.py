"""Constraints made from others: of arrays, of mixtures, and of tensors in parts."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from impl.core.method_names import owns_methods_of
from impl.core.registry import C
from impl.distributions.constraints.constraint import Constraint, require, require_dim
from impl.tensor.tensor import Tensor


class _Derived(Constraint):
    """A constraint made from `base_constraint`, whose kind and event dimensions it has."""

    def __init__(self, base_constraint: Constraint) -> None:
        require(
            isinstance(base_constraint, Constraint),
            f"base_constraint must be a Constraint, got {type(base_constraint).__name__}",
        )
        self.base_constraint = base_constraint

    is_discrete = property(operator.attrgetter("base_constraint.is_discrete"))
    event_dim = property(operator.attrgetter("base_constraint.event_dim"))


def _all_from(result: Tensor, ndim: int) -> Tensor:
    """Whether all elements are true, over the dimensions from the `ndim`-th on."""
    return result.reshape((*result.shape[:ndim], -1)).all(-1)


class _IndependentConstraint(_Derived):
    """Arrays of `reinterpreted_batch_ndims` more dimensions whose entries are all in the set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        ndims = reinterpreted_batch_ndims
        require(
            isinstance(ndims, int),
            f"reinterpreted_batch_ndims must be an int, got {type(ndims).__name__}",
        )
        require(ndims >= 0, f"reinterpreted_batch_ndims must be >= 0, got {ndims}")
        self.reinterpreted_batch_ndims = ndims

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return super().event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        ndim = result.dim() - self.reinterpreted_batch_ndims
        if ndim < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_from(result, ndim)

    def __repr__(self) -> str:
        name = type(self).__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


@owns_methods_of(_Derived)
class MixtureSameFamilyConstraint(_Derived):
    """The values that all components of a mixture can take
    (torch.distributions.constraints.MixtureSameFamilyConstraint).

    The components are the last batch dimension of `base_constraint`; values are without it.
    """

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        ndim = value.dim() - self.event_dim
        if ndim < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_from(result, ndim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Sequence(Constraint):
    """Tensors made of parts along `dim`, each with a constraint of its own of `cseq`."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        require(
            all(isinstance(c, Constraint) for c in self.cseq),
            "All elements of cseq must be Constraint instances",
        )
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)


class _Cat(_Sequence):
    """Tensors concatenated along `dim` from parts of those `lengths`, 1 each by default."""

    def __init__(
        self, cseq: Iterable[Constraint], dim: int = 0, lengths: Iterable[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        count = len(self.cseq)
        self.lengths = [1] * count if lengths is None else list(lengths)
        require(
            len(self.lengths) == count,
            f"lengths ({len(self.lengths)}) must match cseq ({count})",
        )

    def check(self, value: Any) -> Any:
        require_dim(self.dim, value, "value")
        parts = []
        start = 0
        for constraint, length in zip(self.cseq, self.lengths, strict=False):
            parts.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return C.cat(parts, self.dim)


@owns_methods_of(_Sequence)
class _Stack(_Sequence):
    """Tensors stacked along `dim` from one part of each constraint."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        require_dim(self.dim, value, "value")
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        checked = [c.check(part) for part, c in zip(parts, self.cseq, strict=False)]
        return C.stack(checked, self.dim)
