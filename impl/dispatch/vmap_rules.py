"""Batching rules of operators: how torch.func.vmap applies them to batched tensors
(ATen/functorch/BatchRules*.cpp).

A rule makes the arguments for the values of batched tensors from those for batched tensors, with
the mapped dimension in front; the operator is applied to them, and the mapped dimension of its
results is the first. An operator states its rule in its definition (`batching=`):

    pointwise   operands broadcast behind the mapped dimension (elementwise operators, by default);
                that of a single operand stays in its place
    front       as `pointwise`, for a single operand: its mapped dimension is moved to the front
    dims        parameters that name dimensions count from the next one, those that are sizes begin
                with the size of the batch (views, by default)
    elements    as `dims`, and tensors without dimensions get one (scatter and gather)
    leading     the operator takes any dimensions in front, and every operand has the mapped one
    merged      the mapped dimension and the first of all operands are one
    fold        images: as `merged`, or the mapped dimension takes the place of a missing first one

or registers a function (`Operator.batches`). The operator is applied to each example where there is
no rule (ATen/functorch/BatchedFallback.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from impl.core.dims import wrap_dim
from impl.core.dtypes import result_dtype
from impl.core.registry import FUNCTIONS, method_of, tensor_ops
from impl.core.warning import warn
from impl.dispatch import aten
from impl.tape.batched_tangents import lifted
from impl.tensor.batched_tensor import BatchedTensor, batched, is_at, moved, with_dim
from impl.tensor.nested import each
from impl.tensor.tensor import Tensor

_SLOW = (
    "There is a performance drop because we have not yet implemented the batching rule for "
    "{}. Please file us an issue on GitHub so that we can prioritize its implementation."
)
_DIMS = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}
_SIZES = {"size", "input_sizes", "sizes", "repeats"}


def fronted(value: Any, level) -> Any:
    """The value of a batched tensor with the mapped dimension in front; any other as it is."""
    return moved(value._value, value._dim, 0) if is_at(value, level) else value


def folded_into(batch: Any, dim: int) -> Tensor:
    """The value of a batched tensor, its mapped dimension merged into the dimension `dim`."""
    return merged(batch._value, batch._dim, dim)


def merged(tensor: Tensor, source: int, dim: int) -> Tensor:
    """A tensor with its dimension `source` merged into `dim`, counted without it, as the slower
    one (reshape_dim_into)."""
    value = FUNCTIONS["movedim"](tensor, source, dim)
    shape = value._raw.shape
    return value.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])


def unfolded(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A tensor with its dimension `dim` split in two, of which the first has this size
    (reshape_dim_outof)."""
    shape = tensor._raw.shape
    rest = shape[dim] // size if size else 0
    return tensor.reshape(*shape[:dim], size, rest, *shape[dim + 1 :])


def ensured(value: Any, level) -> Any:
    """`fronted`, of a tensor that is not batched an expansion."""
    if isinstance(value, Tensor) and not is_at(value, level):
        return value.expand(level.size, *value._raw.shape)
    return fronted(value, level)


def ensured_batch(value: Any, level) -> Any:
    """A tensor that is batched at the level, by an expansion if it is not yet."""
    at_level = not isinstance(value, Tensor) or is_at(value, level)
    return value if at_level else batched(with_dim(value, level, 0), 0, level)


def _rank(value: Any) -> int:
    return value._raw.ndim if isinstance(value, Tensor) else 0


def padded(batch: Any, rank: int, level) -> Any:
    """`fronted`, with dimensions of size one behind the mapped one up to a rank."""
    value = fronted(batch, level)
    missing = rank - _rank(batch)
    if not is_at(batch, level) or not missing:
        return value
    size, *rest = value._raw.shape
    return value.view(size, *(1,) * missing, *rest)


def padded_example(value: Any, rank: int, level) -> Any:
    """`padded`, of a tensor that is not batched an expansion."""
    return padded(value, rank, level) if is_at(value, level) else ensured(value, level)


def pointwise(op, args: tuple, level) -> list:
    """Broadcast the operands behind the mapped dimension. One of two without dimensions counts as
    such for type promotion, but in comparisons (`_binary_pointwise_helper`)."""
    tensors = [args[i] for i in op.tensor_positions if isinstance(args[i], Tensor)]
    rank = max(map(_rank, tensors), default=0)
    promotes = op.promote is not None and not op.compares and len(op.tensor_positions) == 2
    differ = promotes and (rank or not all(is_at(t, level) for t in tensors))
    made = [*args]
    for i in op.tensor_positions:
        made[i] = padded(args[i], rank, level)
    if differ and any(is_at(t, level) and not _rank(t) for t in tensors):
        common = result_dtype([t._raw for t in tensors])
        for i in op.tensor_positions:
            if isinstance(args[i], Tensor) and args[i].dtype is not common:
                made[i] = made[i].to(common)
    return made


def dims(op, args: tuple, level) -> list:
    """Count dimensions from the one behind the mapped one, and put the batch before sizes."""
    positions = op.tensor_positions or (0,)  # those of views are not annotated as arrays
    rank = _counted_rank(op, args, positions)
    made = [*args]
    for i, name in enumerate(op.parameters):
        if i in positions:
            made[i] = ensured(args[i], level) if args[i] is not None else None
        elif i < len(args) and name in _DIMS:
            made[i] = _shifted(args[i], rank)
        elif i < len(args) and name in _SIZES and isinstance(args[i], (tuple, list)):
            made[i] = (1 if name == "repeats" else level.size, *args[i])
    return made


def _counted_rank(op, args: tuple, positions) -> int:
    """How many dimensions there are of which a parameter counts one."""
    if "input_sizes" in op.parameters:
        return len(args[op.position["input_sizes"]])
    rank = next(_rank(args[i]) for i in positions if args[i] is not None)
    return rank + op.name.startswith(("unsqueeze", "diag_embed"))


def with_dims(op, args: tuple, level) -> Any:
    """The results of an operator by the rule `dims`. Of an example without dimensions, dimension
    zero may be named, as if there were one."""
    if op.is_view and not args[0]._raw.ndim and op.name == "transpose":
        for dim in args[1:]:
            wrap_dim(dim, 0)
        return hide(fronted(args[0], level), level)
    made = dims(op, args, level)
    batch = next((a for a in args if isinstance(a, Tensor)), None)
    named = any(name in _DIMS for name in op.parameters)
    if _rank(batch) or not named or op.is_view or op.name == "diag_embed":
        return hide(op.slow_path(*made), level)
    if "input_sizes" in op.parameters:
        return hide(op.slow_path(*made), level)
    made = [a.unsqueeze(1) if isinstance(a, Tensor) else (1,) if a == () else a for a in made]
    results = op.slow_path(*made)
    several = isinstance(results, tuple)
    flat = [r.squeeze(1) if r._raw.ndim > 1 else r for r in (results if several else (results,))]
    return hide(tuple(flat) if several else flat[0], level)


def elements(op, args: tuple, level) -> list:
    """Count dimensions from the one behind the mapped one, and give tensors without dimensions one
    (ATen/functorch/BatchRulesScatterOps.cpp)."""
    made = dims(op, args, level)
    for i in op.tensor_positions:
        if made[i] is not None and not _rank(args[i]):
            made[i] = made[i].unsqueeze(1)
    return made


def _of_elements(op, args: tuple, level) -> Any:
    """The results of an operator by the rule `elements`, of the rank of the tensor that is written,
    or of the index at which elements are read."""
    result = op.slow_path(*elements(op, args, level))
    like = args[op.position["index"] if op.name == "gather" else 0]
    return hide(result if _rank(like) else result.squeeze(1), level)


def _shifted(dim: Any, rank: int) -> Any:
    if dim is None:
        return tuple(range(1, rank + 1))
    if isinstance(dim, (tuple, list)):
        return tuple(wrap_dim(d, rank) + 1 for d in dim or range(rank))
    return wrap_dim(dim, rank) + 1


def leading(op, args: tuple, level) -> list:
    """Give every operand the mapped dimension as the first of those in front; pivots, and factors
    of reflections, are vectors where the others are matrices."""
    rank = max(_rank(args[i]) for i in op.tensor_positions)
    made = [*args]
    for i in op.tensor_positions:
        if args[i] is not None:
            value = ensured(args[i], level)
            missing = rank - _rank(args[i]) - op.parameters[i].endswith(("pivots", "tau"))
            size, *rest = value._raw.shape
            made[i] = value.view(size, *(1,) * missing, *rest) if missing else value
    return made


Rule = Callable[[Any, tuple, Any], list]
RULES: dict[str, Rule] = {
    "pointwise": pointwise,
    "front": pointwise,
    "dims": dims,
    "elements": elements,
    "leading": leading,
}


def applied(op, args: tuple, level) -> Any:
    """The results of an operator for the examples of batched tensors of a level."""
    if op.batching_function is not None:
        found = op.batching_function(args, level)
        if found is not NotImplemented:
            return found
    elif op.batching == "pointwise" and "reduction" in op.parameters:
        return _reduced(op, args, level)
    elif op.batching == "dims":
        return with_dims(op, args, level)
    elif op.batching == "elements":
        return _of_elements(op, args, level)
    elif op.batching == "merged":
        return _merged(op, args, level)
    elif op.batching == "fold":
        return folded(op, args, level)
    elif op.batching == "pointwise" and len(op.tensor_positions) == len(op.outputs) == 1:
        return _unary(op, args, level)
    elif op.batching in RULES:
        return hide(op.slow_path(*RULES[op.batching](op, args, level)), level)
    if op.batching == "fallback":
        return fallback(aten.shown_name(op, args), op.slow_path, args, level)
    return by_example(op.slow_path, args, level)


def _unary(op, args: tuple, level) -> Any:
    """The results of an elementwise operator of one operand: the mapped dimension stays in its
    place."""
    batch = args[op.tensor_positions[0]]
    values = [batch._value if value is batch else value for value in args]
    return hide_at(op.slow_path(*values), batch._dim, level)


def warn_slow(name: str) -> None:
    """Warn, as torch does, of an operator that has no rule there either."""
    warn(_SLOW.format(_qualified(name)))


def _qualified(name: str) -> str:
    """The name of an operator with its namespace, ATen's if none is given."""
    return name if "::" in name else f"aten::{name}"


def require_examples(name: str, level) -> None:
    """Raise RuntimeError, as ATen's fallback does, for a mapped dimension of size 0."""
    if not level.size:
        raise RuntimeError(
            f"Batching rule not implemented for {_qualified(name)}. The fallback path does not "
            "support vmap over dims of size 0."
        )


def fallback(name: str, function: Callable, args: tuple, level) -> Any:
    """The results of a function for each example, with torch's warning that it has no rule: views
    of the stacked ones (ATen/functorch/BatchedFallback.cpp)."""
    warn_slow(name)
    require_examples(name, level)
    results = by_example(function, args, level)
    if isinstance(results, (tuple, list)):
        return type(results)([_view(result) for result in results])
    return _view(results)


def _view(result: Any) -> Any:
    return result._over(result._value.view_as(result._value))


def folded(op, args: tuple, level) -> Any:
    """The results of an operator on images, (N, C, ...) or (C, ...)."""
    rank = 2 + next(int(digit) for digit in op.name if digit.isdigit())
    made = [*args]
    ranks = {_rank(args[i]) for i in op.tensor_positions}
    if ranks not in ({rank}, {rank - 1}):
        return by_example(op.slow_path, args, level)
    if ranks == {rank}:
        return _merged(op, args, level)
    for i in op.tensor_positions:
        made[i] = ensured(args[i], level)
    return hide(op.slow_path(*made), level)


def _merged(op, args: tuple, level) -> Any:
    """The results of an operator with the mapped dimension merged into the first, and split off."""
    made = [*args]
    for i in op.tensor_positions:
        value = ensured(args[i], level)
        rows, size, *rest = value._raw.shape
        made[i] = value.reshape(rows * size, *rest)
    if "input_size" in op.parameters:  # of upsampling's gradient, with that of the images
        place = op.position["input_size"]
        made[place] = (made[0]._raw.shape[0], *args[place][1:])
    results = op.slow_path(*made)
    several = isinstance(results, tuple)
    parts = [unfolded(r, 0, level.size) for r in (results if several else (results,))]
    return hide(tuple(parts) if several else parts[0], level)


def indexed(op, args: tuple, level) -> Any:
    """The results of an operator whose index, a vector, is the same for all examples; where it is
    not there is no rule."""
    index = op.position["index"]
    if is_at(args[index], level):
        return NotImplemented
    made = dims(op, args, level)
    made[index] = args[index]
    return hide(op.slow_path(*made), level) if _rank(args[0]) else NotImplemented


def along(index: Tensor, dim: int, like: Tensor) -> Tensor:
    """An index of whole slices as one of elements: a vector along a dimension, expanded to the
    sizes of the others. One without dimensions is expanded along all, as in torch."""
    shape = [*like._raw.shape]
    dim = wrap_dim(dim, len(shape))
    if not shape:
        return index
    if not index._raw.ndim:
        return index.expand(shape)
    shape[dim] = index._raw.shape[0]
    sizes = [1] * len(shape)
    sizes[dim] = -1
    return index.view(sizes).expand(shape)


def _reduced(op, args: tuple, level) -> Any:
    """The results of a loss: that without a reduction, reduced over each example. Those of its
    slope are divided by the number of an example's elements in a mean."""
    made = pointwise(op, (ensured_batch(args[0], level), *args[1:]), level)
    reduction = op.position["reduction"]
    how, made[reduction] = made[reduction], 0
    whole = op.slow_path(*made)
    if "grad_output" in op.parameters:
        count = math.prod(whole._raw.shape[1:])
        return hide(whole / count if how == 1 and count else whole, level)
    if how and whole._raw.ndim > 1:
        whole = (tensor_ops.mean_dim, tensor_ops.sum_dim)[how - 1](
            whole, tuple(range(1, whole._raw.ndim))
        )
    return hide(whole, level)


def hide(results: Any, level) -> Any:
    """The results of a rule, whose first dimension is the mapped one, as batched tensors."""
    return hide_at(results, 0, level)


def hide_at(results: Any, dim: int, level) -> Any:
    """The results of a rule, in which the mapped dimension has this place, as batched tensors."""
    if isinstance(results, (tuple, list)):
        return type(results)([hide_at(result, dim, level) for result in results])
    return batched(results, dim, level) if isinstance(results, Tensor) else results


def by_example(function: Callable, args: tuple, level) -> Any:
    """The results of a function for each example, stacked. Without examples the results have the
    sizes of those for zeros."""
    rows = [
        function(*[example(value, number, level) for value in args])
        for number in range(level.size or 1)
    ]
    return _stacked(rows, level)


def example(value: Any, number: int, level) -> Any:
    """The part of a value, or of the entries of a list, for one example."""

    def part(value: Any) -> Any:
        if not is_at(value, level):
            return value
        if level.size:
            return value._value.select(value._dim, number)
        return tensor_ops.zeros_like(moved(value._value, value._dim, 0).sum(0))

    return each(part, value)


def _stacked(rows: list, level) -> Any:
    if isinstance(rows[0], (tuple, list)):
        columns = [_stacked(list(column), level) for column in zip(*rows, strict=True)]
        return type(rows[0])(columns)
    if not isinstance(rows[0], Tensor):
        return rows[0]
    result = FUNCTIONS["stack"](rows)
    return batched(result if level.size else result.narrow(0, 0, 0), 0, level)


@method_of(BatchedTensor)
def _applied(self, op, args: tuple) -> Any:
    return applied(op, lifted(args, self._level), self._level)
