"""The `out=` argument: checks, resizing and storing (ATen's resize_output)."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

from impl.core import inference_mode, messages
from impl.core.devices import CPU, META
from impl.core.dtypes import BY_NUMPY, DIFFERENTIABLE, int64
from impl.core.grad_mode import no_grad
from impl.core.meta_arrays import is_meta
from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.strides import has_zero_strides
from impl.core.warning import warn, warn_once
from impl.dispatch.kernel_parameters import public_name, signature_of
from impl.kernels.casting import discards
from impl.tensor import forward_grad
from impl.tensor.memory_overlap import check_cast, check_memory, check_overlap, share_memory
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.write import resize, write


def check_out(name: str, out: Tensor, differentiable: bool, plain: bool = False) -> None:
    """Raise RuntimeError when grad mode is on and an argument or `out` requires grad.

    An operator that has no derivative is `plain`: it writes any tensor.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if not plain and STATE.enabled and (differentiable or requires_grad(out)):
        raise RuntimeError(messages.OUT_GRADIENT.format(name))


def named_out(name: str, outputs: tuple[int, ...] | None = None, constants: tuple[str, ...] = ()):
    """Decorate a function that takes `out=` with the name of ATen's operator that writes it, under
    which an argument that requires grad is refused (see `refusing_gradients`).

    `outputs` are the places of the results that have a derivative, if not all have one; by the
    arguments of the names `constants` there is none.
    """

    def mark(function):
        function.out_name = name
        function.out_derived = outputs, constants
        return function

    return mark


def refusing_gradients(function):
    """The function, if it writes to `out=` and has a derivative, so that it refuses arguments that
    require grad, `out=` among them, before it looks at them. Raises RuntimeError."""
    name, op = getattr(function, "out_name", None), getattr(function, "out_operator", None)
    derived = op is None or (op.grad_inputs and op.node_name != "NotImplemented")
    if name is None or not derived:
        return function

    outputs, constants = function.out_derived
    parameters = () if op is None else op.parameters
    if op is not None and not op.list_edges:
        derived_places = {i for _, i in op.grad_inputs}
        constants = {public_name(p) for i, p in enumerate(parameters) if i not in derived_places}
    elif constants:
        parameters = tuple(signature_of(function).parameters)
    places = {i for i, p in enumerate(parameters) if public_name(p) in constants}

    @functools.wraps(function)
    def refusing(*args, out=None, **named):
        if out is None:
            return function(*args, **named)
        inputs = [value for i, value in enumerate(args) if i not in places]
        inputs += [value for key, value in named.items() if key not in constants]
        written = out
        if outputs is not None and isinstance(out, (tuple, list)):
            written = [value for i, value in enumerate(out) if i in outputs]
        refuse_links(name, *inputs, written)
        _refuse_dispatched(name, out)
        if outputs is None:
            return function(*args, out=out, **named)
        with no_grad():  # an output that has no derivative may require grad
            return function(*args, out=out, **named)

    return refusing


def _refuse_dispatched(name: str, out) -> None:
    """Raise KeyError under `allow_mutation_on_saved_tensors` for an operator whose outputs have
    names of their own: torch's dispatch mode looks for one of the name "out"."""
    if STATE.before_write is not None and (isinstance(out, (tuple, list)) or name.endswith("_ex")):
        raise KeyError("out")


def refuse_links(name: str, *values) -> None:
    """Raise RuntimeError, with the operator's name, if grad mode is on and one of the values, or of
    those in a list, requires grad: the arguments and `out=` of an operator with a derivative.

    For inference tensors alone torch's autograd is not asked; the write is refused later."""
    if STATE.enabled and _links(values) and not all_inference(values):
        raise RuntimeError(messages.OUT_GRADIENT.format(name))


def all_inference(value) -> bool:
    """Whether a value, or all those in a list, are inference tensors, if they are tensors."""
    if isinstance(value, (tuple, list)):
        return all(map(all_inference, value))
    return not isinstance(value, Tensor) or value._inference


def _links(value) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_links(part) for part in value)
    return isinstance(value, Tensor) and requires_grad(value)


def same_dtype_out(out, value, *rest) -> None:
    """Raise RuntimeError when `out=` has another dtype than the first operand.

    An operator takes this as its `validate_out` where torch casts no result.
    """
    if out != value.dtype:
        raise RuntimeError(
            f"Found dtype {BY_NUMPY[out].legacy} but expected {BY_NUMPY[value.dtype].legacy}"
        )


def exact_dtype_out(out, value, *rest) -> None:
    """Raise RuntimeError when `out=` has another dtype than the first operand, for operators whose
    result no TensorIterator casts (torchgen's structured kernels)."""
    if out != value.dtype:
        expected, got = BY_NUMPY[value.dtype].c_name, BY_NUMPY[out].c_name
        raise RuntimeError(messages.OUT_DTYPE.format(expected, got))


def inner_product_out(out, value, *rest) -> None:
    """`exact_dtype_out` in the words of dot and vdot."""
    if out != value.dtype:
        raise RuntimeError(
            f"result dtype {BY_NUMPY[out].legacy} does not match input dtype "
            f"{BY_NUMPY[value.dtype].legacy}"
        )


def only_bools(op) -> None:
    """Have `op` refuse an `out=` that is not bool."""

    def check(out, *operands) -> None:
        if out.kind != "b":
            raise RuntimeError(messages.OUT_BOOL_ONLY.format(op.name))

    op.checks_out(check)


def write_out(out: Tensor, value, strides=None) -> None:
    """Store a result in `out`, which is resized to its shape (with a warning unless empty).

    A resized tensor takes the `strides`, too, unless they would let elements share memory. Raises
    RuntimeError for a result on another device.
    """
    if is_meta(value) != is_meta(out._raw):
        found = META if is_meta(value) else CPU
        raise RuntimeError(messages.OUT_DEVICE.format(found, out.device))
    check_cast(value.dtype, out._raw.dtype)
    fit(out, np.shape(value), strides)
    check_overlap(out)
    write(out, value)


def warn_temporary(out: Tensor, value, common: np.dtype) -> None:
    """Warn of a temporary tensor that TensorIterator resizes, besides an `out=` that is cast from
    the operands' `common` dtype. Raises RuntimeError for a dtype that it cannot be cast to."""
    check_cast(value.dtype, out._raw.dtype)
    warn_of_temporary(out, value.shape, common)


def warn_of_temporary(out: Tensor, shape, common: np.dtype) -> None:
    """`warn_temporary` for a result of that shape."""
    cast = out._raw.dtype not in (common, np.bool_)
    if cast and out._raw.shape != shape and out._raw.size:
        warn_resized(out._raw.shape, shape)


def warn_discarded(out: Tensor, common: np.dtype) -> None:
    """Warn that complex numbers, the operands' `common` dtype, were cast to those of `out`."""
    if discards(common, out._raw.dtype) and out._raw.size:
        warn_once(messages.DISCARDED)


def fill_out(out: Tensor, value) -> None:
    """Store a factory's value in `out`, which is resized to its shape without a warning if it has
    another one; it may be on the meta device, or expanded."""
    resize(out, np.shape(value))
    check_cast(value.dtype, out._raw.dtype)
    write(out, value)


def copy_out(name: str, out, result: Tensor, counts_resize: bool = False):
    """Store the result of a composite by a copy, as ATen does: recorded, like any write.

    `counts_resize` as in `store`. Raises TypeError for anything but a tensor, RuntimeError for a
    dtype that it cannot be cast to.
    """
    recorded = isinstance(out, Tensor) and (requires_grad(result) or requires_grad(out))
    if not (STATE.enabled and recorded):
        return store(name, out, result.detach(), counts_resize=counts_resize)
    check_cast(result._raw.dtype, out._raw.dtype)
    if counts_resize and out._raw.shape != result._raw.shape:
        inference_mode.count(out)
    fit(out, result._raw.shape)
    return out.copy_(result)


def fit(out: Tensor, shape, strides=None) -> None:
    """Resize an `out=` to a shape, with a warning if it has another one and elements."""
    if out._raw.shape == shape:
        return
    if out._raw.size:
        warn_resized(out._raw.shape, shape)
    resize(out, shape, None if strides is None or has_zero_strides(shape, strides) else strides)


def set_output(
    out: Tensor, shape, dtype: np.dtype | None, strides=None, device: str | None = None
) -> None:
    """Resize `out=`, as a structured kernel does once it has looked at its operands (set_output).
    Raises RuntimeError for another dtype or device, unless that is None."""
    if dtype is not None and dtype != out._raw.dtype:
        expected, got = BY_NUMPY[dtype].c_name, BY_NUMPY[out._raw.dtype].c_name
        raise RuntimeError(messages.OUT_DTYPE.format(expected, got))
    if device is not None and out.device.type != device:
        raise RuntimeError(
            f"Expected out tensor to have device {device}, but got {out.device} instead"
        )
    fit(out, tuple(shape), strides)


def warn_resized(before, shape) -> None:
    """Warn that an output with elements had the shape `before`."""
    warn(
        "An output with one or more elements was resized since it had shape "
        f"{list(before)}, which does not match the required output shape {list(shape)}. "
        "This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
        "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
        "inplace, to zero elements with t.resize_(0).",
    )


def store(name: str, out, result, writes: int = 1, counts_resize: bool = False):
    """Store the result of a composite, a tensor or a tuple of them, in its `out=`; returns `out`.

    That counts as so many `writes`, and as one more where `out` is resized and that counts. Raises
    RuntimeError as `check_out` does, and TypeError when `out` has another number of tensors.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        pairs = zip(out, result, strict=True)
        return like_tuple(result, [store(name, o, r, writes, counts_resize) for o, r in pairs])
    check_out(name, out, requires_grad(result), plain=result._raw.dtype not in DIFFERENTIABLE)
    writes += counts_resize and out._raw.shape != result._raw.shape
    # A result that is cast was computed in other memory.
    write_out(out, result._raw, result._strides if out.dtype is result.dtype else None)
    if not out._uncounted:
        out._storage.version += writes - 1  # besides the one that has been counted
    forward_grad.refuse_out(name, (out, result))
    return out


@contextlib.contextmanager
def counted_once(out: Tensor):
    """Have the writes to `out=` count as one, if they all succeed: those of an operator that its
    kernel composes, below autograd."""
    before = None if out._uncounted else out._storage.version
    written = 0
    try:
        yield
        written = 1
    finally:
        if before is not None:
            out._storage.version = before + written


def like_tuple(result: tuple, values: list) -> tuple:
    """The values as a tuple, with named fields where `result` has them."""
    return getattr(type(result), "out_type", tuple)(values)


def working_dtype(name: str, out, dtype, input: Tensor, shape, text: str | None = None):
    """The dtype that a reduction computes in (ATen's infer_dtype_from_optional): `dtype`, or where
    that is None the dtype of `out=`.

    Raises RuntimeError where both are given and differ, with a `text` that may name them, and as
    `check_out` does. `out=` is then given the `shape` that a function returns, which may refuse
    dimensions before that.
    """
    if not isinstance(out, Tensor):
        return dtype
    check_out(name, out, requires_grad(input))
    sizes = shape()
    if dtype is not None and dtype is not out.dtype:
        if text:
            raise RuntimeError(text.format(dtype.legacy, out.dtype.legacy))
        check_dtypes((out,), dtype)
    fit(out, sizes)
    return out.dtype


def stored(name: str, out, result):
    """The result of an operator, stored in `out=` where that is given. Raises as `store_exactly`
    does."""
    return result if out is None else store_exactly(name, out, result)


def stored_elementwise(name: str, out, input: Tensor, result):
    """`stored` where a TensorIterator goes through `out` and the input, which then must not share
    memory in part."""
    if isinstance(out, Tensor) and out._raw.shape == input._raw.shape:
        check_out(name, out, requires_grad(result))
        check_memory(out, (input,))
    return stored(name, out, result)


def stored_reduction(name: str, out, input: Tensor, compute, start=0):
    """The result of a reduction, which `compute` makes, stored in `out=` where that is given: ATen
    fills that with the number that it starts from, before it reads an input in the same memory."""
    result = compute()
    if out is None:
        return result
    same = (out._raw.shape, out._raw.dtype) == (result._raw.shape, result._raw.dtype)
    if out is input and not same and out._raw.ndim:
        # It was resized before it is read, so that nothing is added to the number.
        write(out, np.full_like(out._raw, start))
        return out
    if same and share_memory(input, out):
        out._array()[...] = start
        result = compute()
    return store(name, out, result)


def store_resized(name: str, out, result):
    """`store_exactly` for operators that resize `out` before they refuse its dtype, as the variants
    do that torchgen writes (resize_out_helper, copy_arg)."""
    if isinstance(out, Tensor):
        check_out(name, out, requires_grad(result))
        fit(out, result._raw.shape)
    return store_exactly(name, out, result)


def storing_same(*texts: str, order=None):
    """As `store`, but RuntimeError for an `out=` of another dtype than the result's: a text for
    each result, which may name its dtype and that of `out=`, and the types of such tensors; the
    results are looked at in `order`, if given."""

    def storing(name: str, out, result):
        outs, results = (out, result) if isinstance(result, tuple) else ((out,), (result,))
        if isinstance(outs, (tuple, list)) and len(outs) == len(results):
            for place in order or range(len(texts)):
                check_same(texts[place], outs[place], results[place].dtype)
        return store(name, out, result)

    return storing


def check_same(text: str, out, expected) -> None:
    """Raise RuntimeError for an `out=` of another dtype, with a text that may name the `expected`
    one and that of `out=`, and the types of such tensors."""
    if isinstance(out, Tensor) and out.dtype is not expected:
        types = messages.tensor_type(expected), messages.tensor_type(out.dtype)
        raise RuntimeError(text.format(expected, out.dtype, *types))


def typed_out(*texts: str):
    """A check of `out=` before an operator is called: RuntimeError unless it, or its tensors, have
    the dtype of the first argument and int64; a text for each, which may name both dtypes."""

    def check(out, input, *rest, **named) -> None:
        outs = out if isinstance(out, (tuple, list)) else (out,)
        for one, expected, text in zip(outs, (input.dtype, int64), texts, strict=False):
            if isinstance(one, Tensor) and one.dtype is not expected:
                raise RuntimeError(text.format(expected, one.dtype))

    return check


def check_castable(function: str, out, result, *names: str) -> None:
    """Raise RuntimeError for an `out=`, of one result or several of these names, to whose dtype
    results cannot be cast (ATen's checkLinalgCompatibleDtype)."""
    outs, results = (out, result) if isinstance(result, tuple) else ((out,), (result,))
    for one, value, name in zip(outs, results, names or ("result",), strict=False):
        if isinstance(one, Tensor) and value.dtype.category > one.dtype.category:
            raise RuntimeError(
                messages.CASTABLE.format(function, name, value.dtype.legacy, one.dtype.legacy)
            )


def castable_out(function: str):
    """A `validate_out` that is `check_castable` for the first operand's dtype."""

    def check(out, value, *rest) -> None:
        expected, got = BY_NUMPY[value.dtype], BY_NUMPY[out]
        if expected.category > got.category:
            raise RuntimeError(
                messages.CASTABLE.format(function, "result", expected.legacy, got.legacy)
            )

    return check


def store_exactly(name: str, out, result):
    """Store the result of an operator, a tensor or a tuple of them, in `out=`; returns `out`.

    Raises RuntimeError when an argument or `out` requires grad, and for another dtype.
    """
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        pairs = list(zip(out, result, strict=True))
        for one, value in pairs:  # each is checked and resized before any is written
            if isinstance(one, Tensor):
                _check_exactly(name, one, value)
                fit(one, value._raw.shape, value._strides)
        return like_tuple(result, [store(name, o, r) for o, r in pairs])
    if isinstance(out, Tensor):
        _check_exactly(name, out, result)
    return store(name, out, result)


def check_dtypes(out, *dtypes) -> None:
    """Raise RuntimeError for tensors of `out=`, if that is given, that have not these dtypes: the
    check of a structured kernel before it computes."""
    for one, expected in zip(out or (), dtypes, strict=False):
        if isinstance(one, Tensor) and one.dtype is not expected:
            raise RuntimeError(messages.OUT_DTYPE.format(expected.c_name, one.dtype.c_name))


def _check_exactly(name: str, out: Tensor, result: Tensor) -> None:
    check_out(name, out, requires_grad(result), plain=result._raw.dtype not in DIFFERENTIABLE)
    check_dtypes((out,), result.dtype)
