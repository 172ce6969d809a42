"""`Transform`, the base of all transforms, and transforms made from others: the inverse, the
composition, and one over several dimensions at once."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions.constraints.constraint import require
from impl.distributions.utils import _sum_rightmost, lazy_property
from impl.tensor.tensor import Tensor

TOO_FEW = "Too few dimensions on input"


def require_dims(shape: Any, count: int) -> None:
    """Raise ValueError for a shape of fewer than `count` dimensions."""
    if len(shape) < count:
        raise ValueError(TOO_FEW)


def equal_to_its_kind(kind: type) -> type:
    """A decorator of transforms without parameters: any two of the class are equal."""

    def __eq__(self, other) -> bool:
        return isinstance(other, kind)

    __eq__.__qualname__ = f"{kind.__name__}.__eq__"
    kind.__eq__ = __eq__  # type: ignore[assignment]
    return kind


class Transform:
    """A differentiable map from one set to another (torch.distributions.transforms.Transform).

    A subclass declares `domain` and `codomain`, and `bijective` for an invertible map, and defines
    `_call` and `_inverse`; a bijective one also `log_abs_det_jacobian`, and `sign`: whether a map
    of numbers is increasing (1) or decreasing (-1). Where it is not bijective, `_inverse` returns
    one of the points that are mapped to its argument.

    With `cache_size=1` the last pair of argument and value is kept: the inverse of that very
    tensor is the argument itself, without loss of precision. Raises ValueError for other sizes
    than 0 and 1.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Transform | None = None
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """The dimensions of one argument, where a value has the same; otherwise ValueError."""
        of_both = {space.event_dim for space in (self.domain, self.codomain)}
        if len(of_both) > 1:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return of_both.pop()

    @property
    def inv(self) -> Transform:
        """The inverse transform, whose inverse is this very object."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """The sign of the derivative, an int or a tensor."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same map with a cache of that size; itself if it has that size."""
        return self if self._cache_size == cache_size else self._impl_recached(cache_size)

    def _impl_recached(self, cache_size: int) -> Transform:
        """A new transform with the same parameters; only classes with parameters define it."""
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """The value of the map at `x`."""
        if self._cache_size == 0:
            return self._call(x)
        known_x, known_y = self._cached_x_y
        if x is known_x:
            return known_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """The value of the inverse at `y`."""
        if self._cache_size == 0:
            return self._inverse(y)
        known_x, known_y = self._cached_x_y
        if y is known_y:
            return known_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        """The value of the map, without the cache."""
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        """The value of the inverse, without the cache."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the Jacobian's absolute determinant at `x`, whose value is `y`; its
        shape is that of `x` without the dimensions of one argument."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value for an argument of that shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for a value of that shape."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform, which computes it; see `Transform.inv`."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def _inverted(self) -> Transform:
        """The transform that this one inverts. A pickled inverse has lost it (AssertionError)."""
        if self._inv is None:
            raise AssertionError("_inv must not be None")
        return self._inv

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inverted().codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inverted().domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inverted().bijective

    @property
    def sign(self) -> Any:
        return self._inverted().sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inverted().with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inverted() == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inverted()._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inverted().log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self.inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.inv.forward_shape(shape)


def _event_dim_after(steps: Iterable[tuple[int, int]]) -> int:
    """The dimensions of one event at the end of a chain of steps, each from some dimensions to
    others, of which one may see more of the event than its neighbours."""
    event_dim = None
    for before, after in steps:
        event_dim = max((before if event_dim is None else event_dim) + after - before, after)
    assert event_dim is not None
    return event_dim


def _widened(constraint: Any, event_dim: int, name: str) -> Any:
    """The constraint over events of `event_dim` dimensions."""
    require(
        event_dim >= constraint.event_dim,
        f"event_dim {event_dim} must be >= {name}.event_dim {constraint.event_dim}",
    )
    extra = event_dim - constraint.event_dim
    return constraints.independent(constraint, extra) if extra else constraint


class ComposeTransform(Transform):
    """The composition of transforms, of which the first is applied first
    (torch.distributions.transforms.ComposeTransform).

    The parts keep caches of that size; without parts it is the identity.
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        steps = ((p.codomain.event_dim, p.domain.event_dim) for p in reversed(self.parts))
        return _widened(self.parts[0].domain, _event_dim_after(steps), "domain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        steps = ((p.domain.event_dim, p.codomain.event_dim) for p in self.parts)
        return _widened(self.parts[-1].codomain, _event_dim_after(steps), "codomain")

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        return reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _impl_recached(self, cache_size: int) -> Transform:
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return C.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)

        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of arrays, whose `reinterpreted_batch_ndims` more dimensions it maps one entry
    at a time (torch.distributions.transforms.IndependentTransform).

    Values are those of `base_transform`; the logarithms of its Jacobian are summed. Raises
    ValueError for arguments of too few dimensions.
    """

    def __init__(
        self,
        base_transform: Transform,
        reinterpreted_batch_ndims: int,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _impl_recached(self, cache_size: int) -> Transform:
        ndims = self.reinterpreted_batch_ndims
        return IndependentTransform(self.base_transform, ndims, cache_size=cache_size)

    def _of_arrays(self, constraint: Any) -> Any:
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._of_arrays(self.base_transform.domain)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._of_arrays(self.base_transform.codomain)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        result = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(result, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)
