"""`Distribution`, the base of all probability distributions."""

from __future__ import annotations

import warnings
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.core.warning import deprecated
from impl.distributions import constraints
from impl.distributions.utils import lazy_property
from impl.tensor.tensor import Tensor

__all__ = ["Distribution"]


class Distribution:
    """A batch of probability distributions of one family (torch.distributions.Distribution).

    `batch_shape` is the shape of the parameters, `event_shape` that of one draw. A subclass
    declares `arg_constraints` and `support`, and sets its parameters before it calls this
    constructor, which checks them unless `validate_args` is False: it raises ValueError for a
    parameter outside its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters and values where `validate_args` is not
        given. Raises ValueError for a value that is not a bool."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = Size(),
        event_shape: Size = Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            advice = ". Please set `arg_constraints = {}` or initialize the distribution"
            for name, constraint in self.__declared("arg_constraints", advice, {}).items():
                self.__validate_parameter(name, constraint)
        super().__init__()

    def __declared(self, name: str, advice: str, otherwise: Any) -> Any:
        """The attribute in which a class declares its checks; without it `otherwise`, and a warning
        that says how to do without."""
        try:
            return getattr(self, name)
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `{name}`{advice} "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return otherwise

    def __validate_parameter(self, name: str, constraint: constraints.Constraint) -> None:
        """Raise ValueError for a parameter outside its constraint.

        Dependent constraints, and parameters that are not computed yet, are not checked.
        """
        if constraints.is_dependent(constraint):
            return
        if name not in vars(self) and isinstance(getattr(type(self), name), lazy_property):
            return
        value = getattr(self, name)
        if not C._is_all_true(constraint.check(value)):
            raise ValueError(
                f"Expected parameter {name} "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                f"but found invalid values:\n{value}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None):
        """The distribution with its batch expanded to `batch_shape`, whose parameters are views.

        A subclass with a constructor of its own passes the new object as `_instance`.
        """
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch: that of the parameters without the dimensions of events."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw from one distribution of the batch."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint of each parameter, by its name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set of values with a positive density or probability."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the highest density, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each element, of shape `batch_shape + event_shape`."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws without gradients, of shape `sample_shape + batch_shape + event_shape`."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws that are differentiable functions of the parameters, of shape
        `sample_shape + batch_shape + event_shape`."""
        raise NotImplementedError

    @deprecated("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.")
    def sample_n(self, n: int) -> Tensor:
        """`n` draws along a new first dimension."""
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function: the probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile function, the inverse of `cdf`, at probabilities `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension.

        The further dimensions are those of the batch and of events; without `expand` those of the
        batch have size 1.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy, of shape `batch_shape`."""
        return C.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        """The shape of draws: `sample_shape + batch_shape + event_shape`."""
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError for a value that is not a tensor, does not broadcast to the shape of
        draws, or is not in the support; warn where the support is not defined."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.size(), self._batch_shape + self._event_shape
        event_start = len(shape) - len(self._event_shape)
        if shape[event_start:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{shape} vs {self._event_shape}."
            )
        for size, wanted in zip(reversed(shape), reversed(expected), strict=False):
            if size != wanted and size != 1 and wanted != 1:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {expected}."
                )
        advice = " to enable sample validation. Please initialize the distribution"
        support = self.__declared("support", advice, NotImplemented)
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if support is not NotImplemented and not C._is_all_true(support.check(value)):
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None):
        """The object that `cls.expand` fills: `_instance`, or a new one of this class, which must
        not have a constructor other than that of `cls` (NotImplementedError)."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = (f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in given.items())
        return f"{type(self).__name__}({', '.join(shown)})"
