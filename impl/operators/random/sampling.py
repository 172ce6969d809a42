"""In-place random fills (uniform_, normal_, random_, exponential_), and bernoulli."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.registry import array_ops
from impl.core.sizes import check_expansion
from impl.core.state import STATE
from impl.core.strides import contiguous_strides, element_strides, strided
from impl.core.tensor_iterator import elementwise_strides
from impl.dispatch import randomness
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.dispatch_modes import Draw
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import no_derivative, not_implemented
from impl.dispatch.out import check_out
from impl.dispatch.record import check_write
from impl.factories.draws import (
    draw_any,
    draw_bernoulli,
    draw_exponential,
    draw_integers,
    draw_normal,
    draw_uniform,
    largest_exact,
)
from impl.factories.generator import default_generator
from impl.tensor import forward_grad, memory_overlap, write
from impl.tensor.allocation import empty_like
from impl.tensor.tensor import PLAIN, Tensor, new, requires_grad
from impl.tensor.torch_dispatch import asks

_ABSENT: Any = object()  # an argument that is not given, where None has a meaning


def filling(name: str, node: str):
    """An operator that writes samples drawn before the call; the gradient of its input is zero."""

    def kernel(self: Array, drawn) -> Array:
        return drawn

    kernel.__name__ = name
    kernel.__annotations__ = {"self": "Array"}
    op = operator(function=False, method=False, node=node)(kernel)
    return op.gradient(self=lambda F, grad: F.zeros_like(grad)).forward("zeroed")


uniform_drawn = filling("uniform_drawn", "UniformBackward0")
normal_drawn = filling("normal_drawn", "NormalBackward0")
bernoulli_drawn = filling("bernoulli_drawn", "BernoulliBackward2")
random_range_drawn = filling("random_range_drawn", "RandomBackward0")
random_below_drawn = filling("random_below_drawn", "RandomBackward1")
random_drawn = filling("random_drawn", "RandomBackward2")
exponential_drawn = filling("exponential_drawn", "ExponentialBackward0")


def fill(op, tensor: Tensor, draw, name: str, *numbers, generator=None) -> Tensor:
    """Fill the tensor in place with the samples that `draw` writes to a tensor like it: to its own
    memory unless that is laid out in another way, or the write is observed. A mode, or the tensor's
    class, is asked for them by the sampler's `name` in ATen with its `numbers`.

    Raises RuntimeError for a tensor that cannot be written in place.
    """
    return _fill(tensor, op, draw, name, numbers, generator)


@randomness.filling
def _fill(tensor: Tensor, op, draw, name: str, numbers: tuple, generator) -> Tensor:
    if asks((tensor,)):
        return op.inplace(tensor, Draw(name, numbers, generator))
    check_write(tensor)
    memory_overlap.check_overlap(tensor)
    plain = type(tensor) in PLAIN and tensor._strides is None and STATE.before_write is None
    # Other memory has the tensor's order of dimensions: samples are drawn in memory order.
    target = tensor if plain else empty_like(tensor)
    draw(target)
    return op.inplace(tensor, target._array())


@function("uniform_", torch=False)
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **named):
    """Fill with samples of the uniform distribution on [from, to) (torch.Tensor.uniform_).

    Raises NotImplementedError for integers, RuntimeError for an empty range.
    """
    low = named.get("from", from_)

    def draw(t):
        draw_uniform(t, low, to, generator)

    return fill(uniform_drawn, self, draw, "uniform_", low, to, generator=generator)


@function("normal_", torch=False)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with samples of a normal distribution (torch.Tensor.normal_).

    Raises NotImplementedError for integers, RuntimeError for a negative deviation.
    """
    check_deviation(std)
    singly = not self.is_contiguous()

    def draw(t):
        draw_normal(t, mean, std, generator, singly)

    return fill(normal_drawn, self, draw, "normal_", mean, std, generator=generator)


def check_deviation(std) -> None:
    """Raise RuntimeError for a deviation, a number or a tensor, that is complex or negative."""
    if isinstance(std, Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if not (std.is_meta or (std._raw >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


@function("random_", torch=False)
def random_(self, from_=None, to=_ABSENT, *, generator=None, **named):
    """Fill with integers of [from, to); by default all from 0 that the dtype holds exactly.

    The largest of these is the last where `to` is None. Raises RuntimeError for an empty range
    (torch.Tensor.random_).
    """
    low = named.get("from", from_)
    if low is None and to is _ABSENT:
        return fill(
            random_drawn, self, lambda t: draw_any(t, generator), "random_", generator=generator
        )
    if to is None and self.is_complex():
        raise RuntimeError(
            "random_from_to_impl handles only integral, floating-point and boolean types"
        )
    numbers: tuple
    if low is None or to is _ABSENT:
        op, low, to = random_below_drawn, 0, low if to is _ABSENT else to
        name, numbers = "random_.to", (to,)
    else:
        op, name, numbers = random_range_drawn, "random_.from", (low, to)
        to = largest_exact(self) + 1 if to is None else to

    def draw(t):
        draw_integers(t, int(low), int(to), generator)

    return fill(op, self, draw, name, *numbers, generator=generator)


@function("exponential_", torch=False)
def exponential_(self, lambd=1.0, *, generator=None):
    """Fill with samples of an exponential distribution (torch.Tensor.exponential_)."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")

    def draw(t):
        draw_exponential(t, lambd, generator)

    return fill(exponential_drawn, self, draw, "exponential_", lambd, generator=generator)


# -- bernoulli --------------------------------------------------------------------------------


def _trials(p: np.ndarray, generator, strides=None) -> np.ndarray:
    """Whether each trial of probability `p` succeeds; drawn in the order of `strides` in memory."""
    if not p.size:
        return np.zeros(p.shape, np.bool_)
    if BY_NUMPY[p.dtype].category != FLOATING:
        raise not_implemented("bernoulli_tensor_cpu_p_", BY_NUMPY[p.dtype])
    source = generator or default_generator
    strides = strides or contiguous_strides(p.shape)
    refused = ~((p >= 0) & (p <= 1))
    if refused.any():  # those before it in memory have been drawn
        source.uniform(int(strided(np.arange(p.size), p.shape, strides, 0)[refused].min()), p.dtype)
        raise RuntimeError(messages.expected("p_in >= 0 && p_in <= 1"))
    return strided(source.uniform(p.size, p.dtype), p.shape, strides, 0) < p


@operator(
    function=False,
    method=False,
    node="BernoulliBackward0",
    complex=NoComplex("bernoulli_tensor_cpu_self_"),
)
def bernoulli_of(self: Array, generator) -> Array:
    return _trials(np.asarray(self), generator).astype(self.dtype)


bernoulli_of.gradient(self=lambda F, grad: F.zeros_like(grad))


@operator(
    function=False,
    method=False,
    node="BernoulliBackward1",
)
def bernoulli_fill(self: Array, p: Array, generator) -> Array:
    if self.size and self.dtype.kind == "c":
        raise not_implemented("bernoulli_tensor_cpu_self_", BY_NUMPY[self.dtype])
    if self.size:
        check_expansion(p.shape, BY_NUMPY[p.dtype], self.shape)
    wide = array_ops.expand(p, self.shape) if self.size else np.empty(self.shape, p.dtype)
    order = elementwise_strides(self.shape, [(self.shape, element_strides(self))])
    return _trials(wide, generator, order).astype(self.dtype)


bernoulli_fill.gradient(
    self=lambda F, grad: F.zeros_like(grad),
    p=written(lambda F, grad, p_shape, p_dtype: F.zeros(p_shape, p_dtype)),
)


@operator(function=False, method=False, node="NotImplemented")
def bernoulli_like(self: Array, p, drawn) -> Array:
    return drawn


bernoulli_like.gradient(self=no_derivative("bernoulli"))


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


@function("bernoulli", batching="random")
@randomness.of_values
def bernoulli(input, p=None, *, generator=None, out=None):
    """Zeros and ones, each one with the probability in `input`, or `p` if given (torch.bernoulli).

    Raises RuntimeError for probabilities outside [0, 1].
    """
    if out is not None and p is None:
        check_out("bernoulli", out, requires_grad(input))
        forward_grad.refuse_out("bernoulli", (input, out))
        if out._raw.shape != input._raw.shape:
            write.resize(out, input._raw.shape)
        memory_overlap.check_overlap(out)
        return bernoulli_fill.inplace(out, input, generator)
    if p is None:
        return bernoulli_of(input, generator)
    _check_probability(p)
    if input.is_complex() and input._raw.size:
        raise not_implemented("bernoulli_scalar_cpu_", input.dtype)
    if asks((input,)):
        return bernoulli_like(input, p, Draw("bernoulli.p", generator=generator))
    fresh = new(np.empty(input._raw.shape, input._raw.dtype))
    draw_bernoulli(fresh, p, generator)
    return bernoulli_like(input, p, fresh._raw)


@randomness.filling_by_values
def _fill_with_bernoulli(self, p, generator) -> Tensor:
    return bernoulli_fill.inplace(self, p, generator)


@function("bernoulli_", torch=False)
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with zeros, and ones with probability `p` (torch.Tensor.bernoulli_)."""
    if isinstance(p, Tensor):
        _fill_with_bernoulli(self, p, generator)
        return self
    _check_probability(p)
    if self.is_complex() and self._raw.size:
        raise not_implemented("bernoulli_scalar_cpu_", self.dtype)

    def draw(t):
        draw_bernoulli(t, p, generator)

    return fill(bernoulli_drawn, self, draw, "bernoulli_.float", p, generator=generator)
