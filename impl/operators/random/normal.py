"""Samples of normal distributions with given means and deviations: torch.normal."""

from __future__ import annotations

import numpy as np

from impl.core import inference_mode
from impl.core.devices import default_device
from impl.core.dtypes import result_dtype
from impl.core.grad_mode import no_grad
from impl.core.sizes import broadcast_shapes, check_count, sizes_of
from impl.core.state import STATE
from impl.dispatch import randomness
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.dispatch_modes import Draw, called_aten
from impl.dispatch.facts import NoComplex
from impl.dispatch.out import check_out, fit
from impl.dispatch.record import underived_write
from impl.factories.creation import empty
from impl.factories.creation.options import required
from impl.factories.draws import draw_normal
from impl.operators.random.sampling import check_deviation
from impl.tensor import write
from impl.tensor.memory_overlap import check_cast, check_memory
from impl.tensor.tensor import Tensor, new, requires_grad
from impl.tensor.torch_dispatch import asks


def _normal(name: str, node: str, inputs: tuple[str, ...]):
    def kernel(mean: Array, std: Array, drawn) -> Array:
        return drawn

    kernel.__name__ = name
    kernel.__annotations__ = {n: "Array" for n in inputs}
    refused = NoComplex(derivative="normal")
    op = operator(function=False, method=False, node=node, complex=refused)(kernel)
    formulas = {}
    if "mean" in inputs:
        formulas["mean"] = written(
            lambda F, grad, mean_shape, mean_dtype: F.zeros(mean_shape, mean_dtype)
        )
    if "std" in inputs:
        formulas["std"] = written(
            lambda F, grad, std_shape, std_dtype: F.zeros(std_shape, std_dtype)
        )
    return op.gradient(**formulas)


normal_mean = _normal("normal_mean", "NormalBackward1", ("mean",))
normal_std = _normal("normal_std", "NormalBackward2", ("std",))
# Zeroed in place, which counts as a write.
normal_mean.forward(lambda F, mean_t: F.zeros_like(mean_t).zero_())
normal_std.forward(lambda F, std_t: F.zeros_like(std_t).zero_())
normal_both = _normal("normal_both", "NormalBackward3", ("mean", "std"))
# That of the mean, zeroed, whatever the shape of the result; the deviation's counts for nothing.
normal_both.forward(lambda F, mean_t: F.zeros_like(mean_t))
# The operator, and ATen's name, by whether the mean and the deviation are tensors.
_OF_TENSORS = {
    (True, False): (normal_mean, "normal.Tensor_float"),
    (False, True): (normal_std, "normal.float_Tensor"),
    (True, True): (normal_both, "normal.Tensor_Tensor"),
}


@function("normal", method=False)
def normal(mean, std=1.0, size=None, *, generator=None, out=None, **options):
    """Samples of normal distributions with given means and deviations (torch.normal).

    `normal(mean, std)` where one or both are tensors, of shapes that broadcast, or
    `normal(mean, std, size)` of two numbers, which takes the options of a factory; both take
    `generator` and `out`. The gradients of tensors are zeros. Raises RuntimeError for a negative
    deviation.
    """
    if size is None:
        return _of_tensors(mean, std, generator, out)
    return _of_numbers(size, mean, std, generator, out=out, **options)


@randomness.of_values
def _of_tensors(mean, std, generator, out):
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if out is not None:
        check_out("normal", out, any(map(requires_grad, tensors)))
    op, name = _OF_TENSORS[isinstance(mean, Tensor), isinstance(std, Tensor)]
    if out is None and asks(tensors):
        return op(mean, std, Draw(name, generator=generator))
    check_deviation(std)
    if len(tensors) == 1 and out is None:
        drawn = new(np.empty(tensors[0]._raw.shape, tensors[0]._raw.dtype))
    else:
        shapes = [value._raw.shape for value in tensors]
        if len(tensors) == 1 and tensors[0] is mean:
            shapes.append(out._raw.shape)
        shape = broadcast_shapes(*shapes)
        if out is None:
            drawn = new(np.empty(shape, mean._raw.dtype))
        else:
            fit(out, shape)
            drawn = out.data  # so an operand that is `out` is drawn first, and then read
    if out is None and inference_mode.shows_kernel(op, (mean, std, drawn._raw)):
        return _composed(drawn, mean, std, generator)
    with no_grad():
        if isinstance(std, Tensor):
            drawn.normal_(generator=generator)
            _check_apart(out, std)
            drawn.mul_(std)
        else:
            drawn.normal_(0.0, std, generator=generator)
        if drawn._raw.size:
            _check_apart(out, mean)
            drawn.add_(mean)
        elif out is not None:
            check_cast(
                result_dtype([drawn._raw, getattr(mean, "_raw", mean)]).numpy, out._raw.dtype
            )
    if out is None:
        return op(mean, std, drawn._raw)
    inference_mode.count(out)
    return out


def _composed(drawn, mean, std, generator):
    """Samples as the operators make them that the kernel calls, which show for inference
    tensors."""
    given = isinstance(std, Tensor)
    with no_grad():
        drawn.normal_(0.0, 1.0 if given else std, generator=generator)
    drawn._storage.version = 0
    if given:
        drawn.mul_(std)
    return drawn.add_(mean)


def _check_apart(out, operand) -> None:
    """Raise RuntimeError for an operand that shares only a part of its memory with `out=`."""
    if out is not None and isinstance(operand, Tensor):
        check_memory(out, [operand], False)


@randomness.sized
def _of_numbers(
    size,
    mean,
    std,
    generator,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    if out is not None:
        if dtype is not None and dtype is not out.dtype:
            raise RuntimeError(
                f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})"
            )
        record = underived_write("aten::normal", (), (out,))
        shape = sizes_of((size,))
        check_count(shape)
        with no_grad():
            write.resize(out, shape)
            check_deviation(std)
            out.normal_(mean, std, generator=generator)
        record()
        return required(out, requires_grad)
    if STATE.dispatch_modes:
        place = default_device() if device is None else device
        options = {"dtype": dtype, "layout": layout, "device": place, "pin_memory": pin_memory}
        options = {"generator": generator, **options}
        given = {key: value for key, value in options.items() if value is not None}
        numbers = float(mean), float(std), list(sizes_of((size,)))
        made = called_aten("normal", *numbers, overload="float_float", **given)
        return required(made, requires_grad)
    drawn = empty(size, dtype=dtype, device=device, pin_memory=pin_memory)
    check_deviation(std)
    draw_normal(drawn, mean, std, generator)
    return drawn._requiring_grad(requires_grad) if requires_grad else drawn
