"""`torch.distributions.kl`: the Kullback-Leibler divergence, by the classes of its arguments."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_Pair = tuple[type, type]

_KL_REGISTRY: dict[_Pair, Callable] = {}
"""The registered functions, by the classes of their arguments."""

_KL_MEMOIZE: dict[_Pair, Any] = {}
"""The functions found before; NotImplemented for pairs without one."""


def register_kl(type_p: Any, type_q: Any) -> Callable[[Callable], Callable]:
    """A decorator of functions f(p, q): the divergence of instances of those classes
    (torch.distributions.kl.register_kl).

    It holds for subclasses, too, for which no function of a more specific pair is registered.
    Raises TypeError for arguments that are no classes.
    """
    if not (isinstance(type_p, type) and isinstance(type_q, type)):
        raise TypeError("issubclass() arg 1 must be a class")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _precedes(first: Iterable[type], second: Iterable[type]) -> bool:
    """Whether a tuple of classes is at least as specific as another, in lexicographic order."""
    for kind, other in zip(first, second, strict=True):
        if not issubclass(kind, other):
            return False
        if kind is not other:
            return True
    return True


def _most_specific(matches: list[_Pair]) -> _Pair:
    """The first of the pairs that precedes the others."""
    return functools.reduce(
        lambda best, pair: pair if pair != best and _precedes(pair, best) else best, matches
    )


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the most specific pair of superclasses; NotImplemented without one.

    Warns of RuntimeWarning where another pair is more specific in its second class.
    """
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left_p, left_q = _most_specific(matches)
    right_q, right_p = _most_specific([(q, p) for p, q in matches])
    function = _KL_REGISTRY[left_p, left_q]
    if function is not _KL_REGISTRY[right_p, right_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return function


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p ‖ q) = E_p[log p(x) - log q(x)], of the batch's shape
    (torch.distributions.kl.kl_divergence).

    S. Kullback and R. A. Leibler, "On Information and Sufficiency", Annals of Mathematical
    Statistics 22 (1951). Raises NotImplementedError for a pair of classes without a function; see
    `register_kl`.
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} "
            f"and q type {pair[1].__name__}"
        )
    return function(p, q)
