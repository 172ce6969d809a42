"""Factories: tensors from data, constants, ranges and random numbers."""

from __future__ import annotations

import math
import warnings

import numpy as np

from impl import dtypes, inplace, random
from impl.constants import empty_like as _empty_like
from impl.dtypes import BY_NUMPY, dtype
from impl.operator import FUNCTIONS, new
from impl.sizes import sizes_of
from impl.storage import Storage, contiguous_strides, strided
from impl.storage import empty_strided as _strided_memory
from impl.tensor import Tensor
from impl.tensor import device as _device

_bool = bool


def _publish(factory):
    FUNCTIONS[factory.__name__] = factory
    return factory


def _options(device=None, pin_memory=False, layout=None) -> None:
    """Check the options every factory takes. Raises as torch without an accelerator does."""
    if device is not None and not isinstance(device, _device):
        place = str(device).split(":")[0]
        if place == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled")
        _device(device)
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def _finish(raw, requires_grad: _bool, strides=None, name: str = "tensor") -> Tensor:
    tensor = new(raw, strides)
    if requires_grad:
        _require(tensor, requires_grad, name)
    return tensor


def _require(tensor: Tensor, requires_grad, name: str) -> Tensor:
    if not isinstance(requires_grad, _bool):
        raise TypeError(
            f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    if requires_grad:
        if BY_NUMPY[tensor._raw.dtype].category < dtypes.FLOATING:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        tensor._requires_grad = True
    return tensor


# -- from data --------------------------------------------------------------------------------

_COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


def _shape_of(data) -> tuple[int, ...]:
    shape = []
    while isinstance(data, (list, tuple, range, np.ndarray, Tensor)):
        if isinstance(data, Tensor):
            if data._raw.ndim:
                shape += data._raw.shape
            break
        if isinstance(data, np.ndarray):
            shape += data.shape
            break
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _flatten(data, shape, depth: int, flat: list) -> None:
    """Collect the scalars of nested data. Raises ValueError where it is not rectangular."""
    if depth == len(shape):
        if isinstance(data, Tensor):
            if data._raw.size != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            flat.append(data._raw.reshape(())[()])
        elif isinstance(data, (list, tuple)):
            raise TypeError(f"must be real number, not {type(data).__name__}")
        else:
            flat.append(data)
        return
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    if not hasattr(data, "__len__") or (isinstance(data, (Tensor, np.ndarray)) and not data.ndim):
        raise TypeError(f"not a sequence: {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    if isinstance(data, Tensor):
        if depth or len(shape) > 1 or data._raw.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
    for item in data:
        _flatten(item, shape, depth + 1, flat)


def _scalar_dtype(value) -> dtype:
    if isinstance(value, np.generic):
        return BY_NUMPY[value.dtype]
    if isinstance(value, (bool, int, float, complex)):
        return dtypes.dtype_of_number(value)
    if isinstance(value, str):
        raise ValueError("too many dimensions 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def _inferred(flat: list) -> dtype:
    result = None
    for value in flat:
        d = _scalar_dtype(value)
        result = d if result is None else dtypes.JOIN[result, d]
    return dtypes.get_default_dtype() if result is None else result


def _stored(flat: list, d: dtype) -> np.ndarray:
    for value in flat:
        if isinstance(value, (complex, np.complexfloating)) and d.category < dtypes.COMPLEX:
            if d is not dtypes.bool_:
                raise TypeError("must be real number, not complex")
        if value is None or isinstance(value, str):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    if d.category == dtypes.INTEGRAL:
        flat = [_whole(value, d) for value in flat]
        return np.array(flat, np.int64).astype(d.numpy)
    if d.numpy.kind == "V":
        return np.array(flat, np.float64).astype(np.float32).astype(d.numpy)
    return np.array([value != 0 for value in flat] if d is dtypes.bool_ else flat, d.numpy)


def _whole(value, d: dtype) -> int:
    value = int(value)
    if not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    low = np.iinfo(d.numpy).min if d is not dtypes.uint8 else -255
    if not low <= value <= np.iinfo(d.numpy).max:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES[d.name]} without overflow"
        )
    return value


_C_NAMES = {"uint8": "uint8", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "long"}


def array_of(data, d: dtype | None = None, warn: _bool = True) -> np.ndarray:
    """Numbers, nested sequences, arrays or tensors as a new array of the given or inferred dtype.

    Raises ValueError for ragged data, TypeError and RuntimeError for what is no number.
    """
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(data, (np.ndarray, np.generic)):
        raw = np.array(data, order="C")
        if raw.dtype not in BY_NUMPY:
            raise TypeError(_unsupported(raw.dtype))
        return raw if d is None else _cast(raw, d)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray) and warn:
        warnings.warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting "
            "to a tensor.",
            UserWarning,
            stacklevel=3,
        )
    shape = _shape_of(data)
    flat: list = []
    _flatten(data, shape, 0, flat)
    if d is None:
        d = _inferred(flat)
    return _stored(flat, d).reshape(shape)


def _cast(raw, d: dtype):
    from impl.operators.copies import converted

    return converted(raw, d.numpy)


def _unsupported(d: np.dtype) -> str:
    return (
        f"can't convert np.ndarray of type numpy.{d.type.__name__}. The only supported types are: "
        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
        "uint32, uint16, uint8, and bool."
    )


@_publish
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A new leaf holding a copy of `data`: a number, nested lists, an array or a tensor.

    Integers become int64, floats the default dtype; arrays keep their dtype. A tensor is copied
    with a warning. Raises ValueError for ragged lists (torch.tensor).
    """
    if isinstance(data, Tensor):
        warnings.warn(_COPY_WARNING.format("torch.tensor"), UserWarning, stacklevel=2)
        return _require(_copy_of(data, dtype), requires_grad, "tensor")
    raw = array_of(data, dtype)
    _options(device, pin_memory)
    return _require(new(raw), requires_grad, "tensor")


def _copy_of(source: Tensor, d: dtype | None) -> Tensor:
    result = source.detach().clone()
    return result if d is None else result.to(d)


@_publish
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a tensor, shared rather than copied where that is possible (torch.as_tensor).

    A tensor of the wanted dtype is returned as it is, an array's memory is shared.
    """
    _options(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or dtype.numpy == data.dtype):
        return from_numpy(data)
    return new(array_of(data, dtype))


@_publish
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False) -> Tensor:
    """`obj` as a tensor (torch.asarray)."""
    result = as_tensor(obj, dtype, device)
    if copy and result is obj:
        result = result.clone()
    return result if isinstance(obj, Tensor) else _require(result, requires_grad, "asarray")


@_publish
def from_numpy(ndarray) -> Tensor:
    """A tensor over the memory of an array: writes on either side are seen on the other.

    Raises TypeError for anything else and for unsupported dtypes, ValueError for negative strides
    (torch.from_numpy).
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype not in BY_NUMPY:
        raise TypeError(_unsupported(ndarray.dtype))
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    steps = tuple(s // ndarray.itemsize for s in ndarray.strides)
    extent = 0
    if ndarray.size:
        extent = 1 + sum((n - 1) * s for n, s in zip(ndarray.shape, steps, strict=True))
    memory = np.lib.stride_tricks.as_strided(ndarray, (extent,), (ndarray.itemsize,))
    result = Tensor.__new__(Tensor)
    result._storage = Storage(memory)
    result._raw = ndarray if ndarray.size else np.empty(ndarray.shape, ndarray.dtype)
    if steps != contiguous_strides(ndarray.shape):
        result._strides = steps
    return result


# -- constants --------------------------------------------------------------------------------


def _size(name: str, size, named=None) -> tuple[int, ...]:
    if named is not None:
        size = (named,)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], Tensor):
        size = (int(size[0].item()),)
    first = size[0] if size else ()
    if not isinstance(first, (tuple, list)) and not hasattr(first, "__index__"):
        raise TypeError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(first).__name__}"
        )
    result = sizes_of(size)
    for n in result:
        if n < 0:
            if name in ("zeros",):
                raise RuntimeError(f"{name}: Dimension size must be non-negative.")
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(result)}"
            )
    return result


def _type(dtype) -> np.dtype:
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy


@_publish
def zeros(*size, dtype=None, requires_grad=False, device=None, pin_memory=False, layout=None,
          out=None, **named) -> Tensor:
    """Zeros of the given sizes (torch.zeros)."""
    shape = _size("zeros", size, named.pop("size", None))
    return _constant(np.zeros, shape, dtype, requires_grad, device, pin_memory, out, "zeros")


@_publish
def ones(*size, dtype=None, requires_grad=False, device=None, pin_memory=False, layout=None,
         out=None, **named) -> Tensor:
    """Ones of the given sizes (torch.ones)."""
    shape = _size("ones", size, named.pop("size", None))
    return _constant(np.ones, shape, dtype, requires_grad, device, pin_memory, out, "ones")


@_publish
def empty(*size, dtype=None, requires_grad=False, device=None, pin_memory=False, layout=None,
          out=None, memory_format=None, **named) -> Tensor:
    """A tensor of the given sizes whose contents are unspecified (torch.empty)."""
    shape = _size("empty", size, named.pop("size", None))
    return _constant(np.empty, shape, dtype, requires_grad, device, pin_memory, out, "empty")


def _constant(make, shape, dtype, requires_grad, device, pin_memory, out, name):
    _options(device, pin_memory)
    if out is not None:
        inplace.write_out(out, make(shape, out._raw.dtype))
        return out
    return _finish(make(shape, _type(dtype)), requires_grad, None, name)


@_publish
def full(size, fill_value, *, dtype=None, requires_grad=False, device=None, pin_memory=False,
         layout=None, out=None) -> Tensor:
    """A tensor filled with one value, whose type decides the dtype (torch.full)."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "full(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    _options(device, pin_memory)
    if isinstance(fill_value, Tensor):
        if fill_value.requires_grad:
            raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
        d = fill_value.dtype
        fill_value = fill_value.item()
    else:
        d = dtypes.dtype_of_number(fill_value)
    raw = np.full(sizes_of((size,)), fill_value, (dtype or d).numpy)
    if out is not None:
        inplace.write_out(out, raw)
        return out
    return _finish(raw, requires_grad, None, "full")


@_publish
def scalar_tensor(s, *, dtype=None, requires_grad=False, device=None) -> Tensor:
    """A 0-dim tensor of a number (torch.scalar_tensor)."""
    return _finish(np.array(s, _type(dtype)), requires_grad, None, "scalar_tensor")


@_publish
def empty_strided(size, stride, *, dtype=None, requires_grad=False, device=None,
                  pin_memory=False, layout=None) -> Tensor:
    """A tensor with the given strides whose contents are unspecified (torch.empty_strided)."""
    _options(device, pin_memory)
    size, stride = tuple(size), tuple(stride)
    extent = 0 if 0 in size else 1 + sum(
        (n - 1) * s for n, s in zip(size, stride, strict=True)
    )
    flat = np.empty(extent, _type(dtype))
    result = new(flat)
    result._raw = strided(flat, size, stride, 0)
    if stride != contiguous_strides(size):
        result._strides = stride
    return _require(result, requires_grad, "empty_strided")


def _filled_like(name: str, value=None):
    def like(input, *, dtype=None, requires_grad=False, device=None, layout=None,
             memory_format=None, pin_memory=False) -> Tensor:
        _options(device, pin_memory)
        result = _like(input, dtype, memory_format)
        if value is not None:
            result._raw[...] = value
        return _require(result, requires_grad, name)

    like.__name__ = name
    like.__doc__ = f"A tensor of the sizes, dtype and layout of `input` (torch.{name})."
    return _publish(like)


def _like(input: Tensor, dtype, memory_format=None) -> Tensor:
    from impl.layouts import contiguous_format

    d = input._raw.dtype if dtype is None else dtype.numpy
    if memory_format is contiguous_format:
        return new(np.empty(input._raw.shape, d))
    return _empty_like(input, d)


zeros_like = _filled_like("zeros_like", 0)
ones_like = _filled_like("ones_like", 1)
empty_like = _filled_like("empty_like")


@_publish
def full_like(input, fill_value, *, dtype=None, requires_grad=False, device=None, layout=None,
              memory_format=None, pin_memory=False) -> Tensor:
    """A tensor like `input` filled with one value (torch.full_like)."""
    result = _like(input, dtype, memory_format)
    result._raw[...] = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return _require(result, requires_grad, "full_like")


@_publish
def eye(n, m=None, *, dtype=None, requires_grad=False, device=None, layout=None,
        pin_memory=False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere (torch.eye). Raises RuntimeError for negative sizes."""
    _options(device, pin_memory)
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return _finish(np.eye(n, m, dtype=_type(dtype)), requires_grad, None, "eye")


# -- ranges -----------------------------------------------------------------------------------


@_publish
def arange(start, end=None, step=1, *, dtype=None, requires_grad=False, device=None,
           pin_memory=False, layout=None, out=None) -> Tensor:
    """Numbers from start (0) up to but not including end, `step` apart (torch.arange).

    int64 if all are integers, else the default dtype. Raises RuntimeError when the step is zero or
    points the wrong way.
    """
    _options(device, pin_memory)
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    d = dtype or (dtypes.int64 if whole else dtypes.get_default_dtype())
    count = math.ceil((end - start) / step)
    if d.category == dtypes.FLOATING:
        steps = np.arange(count, dtype=np.float64)
        raw = (start + step * steps).astype(d.numpy)
    else:
        raw = (int(start) + int(step) * np.arange(count)).astype(d.numpy)
    return _finish(raw, requires_grad, None, "arange")


@_publish
def linspace(start, end, steps, *, dtype=None, requires_grad=False, device=None,
             pin_memory=False, layout=None, out=None) -> Tensor:
    """`steps` numbers evenly spaced from start to end, both included (torch.linspace).

    The first half counts from the start, the second from the end, so that both ends are exact.
    Raises RuntimeError for a negative number of steps.
    """
    _options(device, pin_memory)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    d = _type(dtype)
    if steps <= 1:
        return _finish(np.full(steps, start, d), requires_grad, None, "linspace")
    exact = d.type if d.kind == "f" and d.itemsize > 2 else np.float32
    if d.kind in "iu":
        exact = np.float64
    step = exact((exact(end) - exact(start)) / exact(steps - 1))
    i = np.arange(steps)
    rising = exact(start) + step * i.astype(exact)
    falling = exact(end) - step * (steps - 1 - i).astype(exact)
    raw = np.where(i < steps // 2, rising, falling).astype(d)
    return _finish(raw, requires_grad, None, "linspace")


@_publish
def logspace(start, end, steps, base=10.0, *, dtype=None, requires_grad=False,
             device=None) -> Tensor:
    """Powers of `base` whose exponents are evenly spaced (torch.logspace)."""
    exponents = linspace(start, end, steps, dtype=dtypes.float64)._raw
    return _finish(np.power(base, exponents).astype(_type(dtype)), requires_grad, None, "logspace")


def _triangle_indices(name: str, of):
    def indices(row, col, offset=0, *, dtype=dtypes.int64, device=None) -> Tensor:
        return new(np.stack(of(row, offset, col)).astype(dtype.numpy))

    indices.__name__ = name
    indices.__doc__ = f"Rows and columns of a triangle of a matrix (torch.{name})."
    return _publish(indices)


tril_indices = _triangle_indices("tril_indices", np.tril_indices)
triu_indices = _triangle_indices("triu_indices", np.triu_indices)


# -- random numbers ---------------------------------------------------------------------------


def _random(name: str, draw):
    def factory(*size, generator=None, dtype=None, requires_grad=False, device=None,
                pin_memory=False, layout=None, out=None, **named) -> Tensor:
        shape = _size(name, size, named.pop("size", None))
        _options(device, pin_memory)
        if out is not None:
            if out._raw.shape != shape:
                inplace.resize(out, shape)
            draw(out, generator)
            out._storage.version += 1
            return out
        result = new(np.empty(shape, _type(dtype)))
        draw(result, generator)
        return _require(result, requires_grad, name)

    def like(input, *, generator=None, dtype=None, requires_grad=False, device=None, layout=None,
             memory_format=None, pin_memory=False) -> Tensor:
        result = _like(input, dtype, memory_format)
        draw(result, generator)
        return _require(result, requires_grad, name + "_like")

    factory.__name__, like.__name__ = name, name + "_like"
    factory.__doc__ = f"Random numbers of the given sizes (torch.{name})."
    like.__doc__ = f"Random numbers of the sizes, dtype and layout of `input` (torch.{name}_like)."
    _publish(like)
    return _publish(factory)


rand = _random("rand", lambda t, g: random.draw_uniform(t, 0, 1, g))
randn = _random("randn", lambda t, g: random.draw_normal(t, 0.0, 1.0, g))


@_publish
def randint(low, high=None, size=None, *, generator=None, dtype=None, requires_grad=False,
            device=None, pin_memory=False, layout=None) -> Tensor:
    """Random integers from low (0) up to but not including high (torch.randint).

    int64 unless a dtype is given. Raises RuntimeError for an empty range.
    """
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "randint(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type(high if size is None else size).__name__}"
        )
    _options(device, pin_memory)
    result = new(np.empty(sizes_of((size,)), (dtype or dtypes.int64).numpy))
    random.draw_integers(result, int(low), int(high), generator)
    return _require(result, requires_grad, "randint")


@_publish
def randint_like(input, low, high=None, *, dtype=None, requires_grad=False, device=None) -> Tensor:
    """Random integers in the sizes and dtype of `input` (torch.randint_like)."""
    if high is None:
        low, high = 0, low
    result = _like(input, dtype)
    random.draw_integers(result, int(low), int(high), None)
    return _require(result, requires_grad, "randint_like")


@_publish
def randperm(n, *, generator=None, dtype=None, requires_grad=False, device=None,
             pin_memory=False, layout=None) -> Tensor:
    """The integers below `n` in a random order (torch.randperm)."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _options(device, pin_memory)
    order = (generator or random.default_generator).permutation(n)
    return _finish(order.astype((dtype or dtypes.int64).numpy), requires_grad, None, "randperm")


# -- new_* and the legacy constructors --------------------------------------------------------


def _method(function):
    setattr(Tensor, function.__name__, function)
    return function


def _new_constant(name: str, make):
    def factory(self, *size, dtype=None, requires_grad=False, device=None, layout=None,
                pin_memory=False, **named) -> Tensor:
        shape = _size(name, size, named.pop("size", None))
        _options(device, pin_memory)
        d = self._raw.dtype if dtype is None else dtype.numpy
        return _finish(make(shape, d), requires_grad, None, name)

    factory.__name__ = name
    factory.__doc__ = f"A tensor of the given sizes in the dtype of this one (torch.Tensor.{name})."
    return _method(factory)


new_zeros = _new_constant("new_zeros", np.zeros)
new_ones = _new_constant("new_ones", np.ones)
new_empty = _new_constant("new_empty", np.empty)


@_method
def new_full(self, size, fill_value, *, dtype=None, requires_grad=False, device=None, layout=None,
             pin_memory=False) -> Tensor:
    """A tensor filled with one value, in the dtype of this one (torch.Tensor.new_full)."""
    return full(
        size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad, device=device,
        pin_memory=pin_memory,
    )


@_method
def new_empty_strided(self, size, stride, dtype=None, requires_grad=False, device=None) -> Tensor:
    """A tensor with the given strides in the dtype of this one."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new_tensor(self, data, *, dtype=None, requires_grad=False, device=None,
               pin_memory=False) -> Tensor:
    """A copy of `data` in the dtype of this tensor (torch.Tensor.new_tensor)."""
    if isinstance(data, Tensor):
        warnings.warn(_COPY_WARNING.format("tensor.new_tensor"), UserWarning, stacklevel=2)
        return _require(_copy_of(data, dtype or self.dtype), requires_grad, "new_tensor")
    _options(device, pin_memory)
    return _require(new(array_of(data, dtype or self.dtype)), requires_grad, "new_tensor")


def legacy_constructor(d: dtype, *args, device=None, size=None, data=None) -> Tensor:
    """`torch.FloatTensor(...)`: data if a sequence is given, else uninitialised sizes.

    Raises TypeError for a number that is no size, and for a tensor of another dtype.
    """
    args = args if data is None else (data,)
    if size is not None:
        args = tuple(size)
    if (len(args) == 1 and not hasattr(args[0], "__index__")) or (
        len(args) == 1 and isinstance(args[0], (Tensor, np.ndarray))
    ):
        (data,) = args
        if isinstance(data, Tensor):
            if data.dtype is not d:
                raise TypeError(f"expected {_options_text(d)} (got {_options_text(data.dtype)})")
            return data.detach()
        if isinstance(data, tuple) and hasattr(data, "numel"):  # a torch.Size gives sizes
            return new(np.empty(data, d.numpy))
        if not hasattr(data, "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return new(array_of(data, d))
    if not args:
        return new(np.empty(0, d.numpy))
    return new(np.empty(sizes_of(args), d.numpy))


def _options_text(d: dtype) -> str:
    names = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
    return (
        f"TensorOptions(dtype={names.get(d.name, d.name)}, device=cpu, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


@_method
def new_(self, *args, **kwargs) -> Tensor:
    """The legacy constructor in the dtype of this tensor (torch.Tensor.new)."""
    return legacy_constructor(self.dtype, *args, **kwargs)


Tensor.new = Tensor.new_
del Tensor.new_


class _LegacyType(type):
    """`torch.FloatTensor` and its like: callable, and a class tensors are instances of."""

    def __call__(cls, *args, **kwargs):
        return legacy_constructor(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, instance) -> _bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


LEGACY_TYPES = {
    f"{d.legacy}Tensor": _LegacyType(f"{d.legacy}Tensor", (), {"dtype": d, "__module__": "torch"})
    for d in dtypes.ALL
    if d.category < dtypes.COMPLEX
}

__all__ = ["LEGACY_TYPES", "_strided_memory", "array_of", "from_numpy", "tensor", "zeros_like"]
