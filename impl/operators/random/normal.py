"""Samples of normal distributions with given means and deviations: torch.normal."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from numbers import Real

import numpy as np

from impl.core.grad_mode import no_grad
from impl.core.sizes import broadcast_shapes, sizes_of
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.out import check_out, write_out
from impl.dispatch.overloads import refusal
from impl.factories.creation import empty
from impl.factories.draws import draw_normal
from impl.operators.random.sampling import check_deviation
from impl.tensor import write
from impl.tensor.tensor import Tensor, new, requires_grad


def _normal(name: str, node: str, inputs: tuple[str, ...]):
    def kernel(mean: Array, std: Array, drawn) -> Array:
        return drawn

    kernel.__name__ = name
    kernel.__annotations__ = {n: "Array" for n in inputs}
    op = operator(function=False, method=False, node=node)(kernel)
    formulas = {}
    if "mean" in inputs:
        formulas["mean"] = written(lambda F, grad, mean_shape: F.new_zeros(grad, mean_shape))
    if "std" in inputs:
        formulas["std"] = written(lambda F, grad, std_shape: F.new_zeros(grad, std_shape))
    return op.gradient(**formulas)


normal_mean = _normal("normal_mean", "NormalBackward1", ("mean",))
normal_std = _normal("normal_std", "NormalBackward2", ("std",))
normal_both = _normal("normal_both", "NormalBackward3", ("mean", "std"))


_OUT = ", *, torch.Generator generator = None, Tensor out = None"
_SIGNATURES = (
    f"Tensor mean, Tensor std{_OUT}",
    f"Tensor mean, float std = 1{_OUT}",
    f"float mean, Tensor std{_OUT}",
    f"float mean, float std, tuple of ints size{_OUT}, torch.dtype dtype = None, torch.layout "
    "layout = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False",
)


@function("normal", method=False)
def normal(*args, **named):
    """Samples of normal distributions with given means and deviations (torch.normal).

    `normal(mean, std)` where one or both are tensors, of shapes that broadcast, or
    `normal(mean, std, size)` of two numbers, which takes the options of a factory; both take
    `generator` and `out`. The gradients of tensors are zeros. Raises RuntimeError for a negative
    deviation, TypeError for other arguments.
    """
    for overload, accepts in _OVERLOADS.items():
        with contextlib.suppress(TypeError):
            given = inspect.signature(overload).bind(*args, **named)
            if accepts(*given.args):
                return overload(*given.args, **given.kwargs)
    if len(args) + len(named) > 4:
        _refuse_sized(args, named)
    raise refusal("normal", args, *_SIGNATURES, named=named)


def _of_tensors(mean, std=1.0, *, generator=None, out=None):
    check_deviation(std)
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if out is not None:
        check_out("normal", out, any(map(requires_grad, tensors)))
    op = normal_both if len(tensors) == 2 else normal_mean if mean is tensors[0] else normal_std
    if len(tensors) == 1 and out is None:
        drawn = new(np.empty(tensors[0]._raw.shape, tensors[0]._raw.dtype))
    else:
        shapes = [value._raw.shape for value in tensors]
        if len(tensors) == 1 and tensors[0] is mean:
            shapes.append(out._raw.shape)
        drawn = new(np.empty(broadcast_shapes(*shapes), (mean if out is None else out)._raw.dtype))
    with no_grad():
        if isinstance(std, Tensor):
            drawn.normal_(generator=generator).mul_(std)
        else:
            drawn.normal_(0.0, std, generator=generator)
        drawn.add_(mean)
    if out is None:
        return op(mean, std, drawn._raw)
    write_out(out, drawn._raw)
    return out


def _of_numbers(
    mean,
    std,
    size,
    *,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    check_deviation(std)
    if out is not None:
        if not isinstance(out, Tensor):
            raise TypeError("out")  # caught by `normal`, which then tries the other overload
        if dtype is not None and dtype is not out.dtype:
            raise RuntimeError(
                f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})"
            )
        write.resize(out, sizes_of((size,)))
        return out.normal_(mean, std, generator=generator)
    drawn = empty(size, dtype=dtype, device=device, pin_memory=pin_memory)
    draw_normal(drawn, mean, std, generator)
    return drawn.requires_grad_(requires_grad) if requires_grad else drawn


def _refuse_sized(args, named) -> None:
    """Raise torch's TypeError for missing or unsuitable arguments of the overload with a size.

    For calls with more than four arguments, which no other overload accepts.
    """
    missing = [f'"{name}"' for name, _, _ in _REQUIRED[len(args) :] if name not in named]
    if missing:
        plural = "s" if len(missing) == 1 else ""  # torch's plural is the wrong way round
        raise TypeError(
            f"normal() missing {len(missing)} required positional argument{plural}: "
            f"{', '.join(missing)}"
        )
    for position, (name, kind, fits) in enumerate(_REQUIRED):
        value = args[position] if position < len(args) else named[name]
        if not fits(value):
            where = f" (position {position + 1})" if position < len(args) else ""
            raise TypeError(
                f"normal(): argument '{name}'{where} must be {kind}, not {type(value).__name__}"
            )


def _is_number(value) -> bool:
    return isinstance(value, Real) or (
        isinstance(value, Tensor) and not value._raw.ndim and not requires_grad(value)
    )


_REQUIRED = (
    ("mean", "float", _is_number),
    ("std", "float", _is_number),
    ("size", "tuple of ints", lambda value: isinstance(value, (tuple, list))),
)
_OVERLOADS: dict[Callable[..., Tensor], Callable[..., bool]] = {
    _of_tensors: lambda *given: (
        any(isinstance(value, Tensor) for value in given)
        and all(isinstance(value, (Tensor, Real)) for value in given)
    ),
    _of_numbers: lambda *given: all(
        fits(value) for value, (_, _, fits) in zip(given, _REQUIRED, strict=True)
    ),
}
