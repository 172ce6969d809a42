"""Sizes: `torch.Size`, size arguments, broadcasting, and the strides of a reshape."""

from __future__ import annotations

import functools
import itertools
import math
import operator as _python

from impl.core import messages
from impl.core.c_methods import without_arguments
from impl.core.named_types import NamedType, type_name


class Size(tuple, metaclass=NamedType):
    """A tensor's sizes, a tuple of ints (torch.Size). Raises TypeError for other elements."""

    __module__ = "impl"
    __slots__ = ()

    def __new__(cls, *given, **named):
        if named:
            raise TypeError("tuple() takes no keyword arguments")
        if len(given) > 1:
            raise TypeError(f"tuple expected at most 1 argument, got {len(given)}")
        sizes = given[0] if given else ()
        return tuple.__new__(cls, map(_size, itertools.count(), sizes))

    @without_arguments
    def numel(self) -> int:
        """The number of elements of a tensor of these sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self):
        return Size, (tuple(self),)

    def __getitem__(self, index):
        item = super().__getitem__(index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(super().__add__(other))

    def __radd__(self, other):
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return Size(super().__mul__(times))

    __rmul__ = __mul__


def size_of(shape: tuple[int, ...]) -> Size:
    """A Size of a tuple that is known to hold ints."""
    return tuple.__new__(Size, shape)


def _size(place: int, value) -> int:
    if type(value) is int:
        return value
    try:
        return _python.index(value)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {place} is '{type_name(value)}')"
        ) from None


def negative_size(sizes) -> RuntimeError:
    """The error for sizes of a new tensor of which one is negative: it names the first one."""
    first = next(n for n in sizes if n < 0)
    return RuntimeError(f"Trying to create tensor with negative dimension {first}: {[*sizes]}")


def check_count(sizes) -> None:
    """Raise RuntimeError for sizes of more elements than 64 bits count; a negative size stands for
    a large one there, as in TensorImpl's compute_numel."""
    count, overflows = 1, False
    for size in sizes:
        count *= size % 2**64
        overflows |= count >= 2**64
        count %= 2**64
    if overflows or count >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")


def check_resized(sizes) -> None:
    """Raise RuntimeError for the sizes of a tensor that is resized as `check_count` does, and
    NotImplementedError for a negative one beside a zero, which torch lets pass."""
    check_count(sizes)
    if sizes and min(sizes) < 0:
        raise NotImplementedError("negative sizes of tensors without elements")


def sizes_of(arguments) -> tuple[int, ...]:
    """Sizes from a variadic call: `f(2, 3)`, `f((2, 3))`, `f([2, 3])` or `f(torch.Size(...))`.

    Raises TypeError for anything that is not an integer.
    """
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        arguments = arguments[0]
    return tuple(_python.index(n) for n in arguments)


def sizes_given(parameter: str, sizes, named) -> tuple[int, ...]:
    """`sizes_of` a variadic call, or of its single keyword argument.

    Raises TypeError for non-integers.
    """
    return sizes_of(sizes or (named[parameter],))


def infer_size(shape, count: int) -> tuple[int, ...]:
    """`shape` with a -1 replaced by the size that gives `count` elements (ATen's infer_size).

    Raises RuntimeError when the sizes do not fit the count (torch.Tensor.view).
    """
    known, unknown = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    fits = known == count or (unknown is not None and known > 0 and count % known == 0)
    if not fits:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    if unknown is None:
        return tuple(shape)
    if known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            f"unspecified dimension size -1 can be any value and is ambiguous"
        )
    return (*shape[:unknown], count // known, *shape[unknown + 1 :])


def broadcast_shapes(*shapes) -> tuple[int, ...]:
    """The shape to which all `shapes` broadcast. Raises RuntimeError when they do not."""
    result: list[int] = []
    for shape in shapes:
        lead = len(shape) - len(result)
        if lead > 0:
            result = [1] * lead + result
        for i, n in enumerate(reversed(shape), 1):
            if result[-i] == 1:
                result[-i] = n
            elif n not in (1, result[-i]):
                raise RuntimeError(messages.broadcast(shapes))
    return tuple(result)


@functools.lru_cache(4096)
def repeated_dims(shape: tuple[int, ...], to: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of `to` along which `shape` is expanded; None if it does not broadcast."""
    lead = len(to) - len(shape)
    if lead < 0 or any(n not in (1, to[lead + i]) for i, n in enumerate(shape)):
        return None
    repeated = (lead + i for i, n in enumerate(shape) if n == 1 and to[lead + i] != 1)
    return (*range(lead), *repeated)


def restride(shape, strides, target) -> tuple[int, ...] | None:
    """The strides of (shape, strides) viewed with the sizes `target`; None if a copy is needed.

    `target` has as many elements. Each run of dimensions that are contiguous with each other must
    correspond to whole dimensions of the target (ATen's computeStride).
    """
    if 0 in shape:
        if tuple(shape) == tuple(target):
            return tuple(strides)
        result, step = [], 1
        for n in reversed(target):
            result.append(step)
            step *= max(n, 1)
        return tuple(reversed(result))
    if not shape:
        return (1,) * len(target)
    result = [0] * len(target)
    at = len(target) - 1
    base, old, new = strides[-1], 1, 1
    for d in range(len(shape) - 1, -1, -1):
        old *= shape[d]
        if d and (shape[d - 1] == 1 or strides[d - 1] == old * base):
            continue
        while at >= 0 and (new < old or target[at] == 1):
            result[at] = new * base
            new *= target[at]
            at -= 1
        if new != old:
            return None
        if d:
            base, old, new = strides[d - 1], 1, 1
    return tuple(result) if at == -1 else None


def check_expansion(shape: tuple[int, ...], dtype, size: tuple[int, ...]) -> None:
    """Raise RuntimeError if a tensor of this shape and dtype cannot be expanded to a size."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(messages.too_few_sizes(dtype, shape, size))
    for dim in range(len(shape) - 1, -1, -1):
        have, want = shape[dim], size[lead + dim]
        if have not in (1, want):
            raise RuntimeError(messages.not_expandable(lead + dim, have, want, shape, size))
