"""`torch.func.rearrange`: axes split, permuted and joined by a pattern of their names.

The pattern is that of einops (A. Rogozhnikov, ICLR 2022): `"(a b) c -> c a b"`.
"""

from __future__ import annotations

import keyword
import math
import re
import warnings
from typing import Any

from impl.core.registry import C
from impl.tensor.tensor import Tensor

__all__ = ["rearrange"]

_ELLIPSIS = "…"
_Axes = list[Any]  # of each dimension the names of its axes, or the ellipsis


class DimensionBindError(Exception):
    """Axes whose lengths do not make up a dimension."""


def _check_name(name: str) -> None:
    """Raise ValueError for a text that is no name of an axis."""
    reason = None
    if not name.isidentifier():
        reason = "not a valid python identifier"
    elif name[0] == "_" or name[-1] == "_":
        reason = "axis name should should not start or end with underscore"
    if reason is not None:
        raise ValueError(f"Invalid axis identifier: {name}\n{reason}")
    if keyword.iskeyword(name):
        told = f"It is discouraged to use axes names that are keywords: {name}"
        warnings.warn(told, RuntimeWarning, stacklevel=5)


def _parsed(text: str) -> _Axes:
    """One side of a pattern; of an axis of length 1 the list of names is empty."""
    if "." in text:
        if "..." not in text:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if text.count("...") != 1 or text.count(".") != 3:
            raise ValueError(
                "Expression may contain dots only inside ellipsis (...); only one ellipsis for "
                "tensor "
            )
        text = text.replace("...", _ELLIPSIS)
    found: _Axes = []
    names: set[str] = set()
    group: list[str] | None = None
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            if group is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            found.append(group)
            group = None
        else:
            axis = _axis(token, names)
            if group is not None:
                group += axis
            else:
                found.append(_ELLIPSIS if axis == [_ELLIPSIS] else axis)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return found


def _axis(token: str, names: set[str]) -> list[str]:
    """The names that a token stands for: none for a length of 1."""
    for char in token:
        if not (char.isalnum() or char in ("_", _ELLIPSIS)):
            raise ValueError(f"Unknown character '{char}'")
    if token in names:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    if token == "1":
        return []
    if token.isdecimal():
        if int(token) < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {token}")
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if token != _ELLIPSIS:
        _check_name(token)
    names.add(token)
    return [token]


def _names(side: _Axes) -> set[str]:
    return {name for part in side for name in ([part] if part == _ELLIPSIS else part)}


def _sides(pattern: str, lengths: dict[str, int]) -> tuple[_Axes, _Axes]:
    """Both sides of a pattern. Raises ValueError where they have other axes."""
    texts = pattern.split("->")
    if len(texts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_parsed, texts)
    if _ELLIPSIS in _names(right) and _ELLIPSIS not in _names(left):
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(part != _ELLIPSIS and _ELLIPSIS in part for part in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for length in lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    one_sided = _names(left) ^ _names(right)
    if one_sided:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {one_sided}"
        )
    unknown = lengths.keys() - _names(left)
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _split(size: int, names: list[str], lengths: dict[str, int], numbers: dict[str, int]) -> None:
    """Find the lengths of the axes of a dimension. Raises DimensionBindError where they do not
    make it up."""
    unknown = [name for name in names if name not in lengths]
    if len(unknown) > 1:
        first, second = (f"d{numbers[name]}" for name in unknown[:2])
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once {first} and {second}"
        )
    known = math.prod(lengths[name] for name in names if name in lengths)
    if unknown:
        if known == 0 or size % known:
            parts = tuple(lengths.get(name, "?") for name in names)
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {size} vs {parts}"
            )
        lengths[unknown[0]] = size // known
    elif known != size:
        pack = ", ".join(f"d{numbers[name]}" for name in names)
        pack += "," * (len(names) == 1)
        raise DimensionBindError(
            f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack "
            f"({pack})"
        )


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor, or a stack of several, whose axes a pattern names on both sides: split, permuted
    and joined (torch.func.rearrange).

    Raises ValueError for a wrong pattern, TypeError for a length that is no number, and
    DimensionBindError for lengths that do not fit.
    """
    given: Any = tensor if isinstance(tensor, Tensor) else C.stack(tensor)
    left, right = _sides(pattern, axes_lengths)
    rest = _rest(left, given.dim())
    axes: list[str] = []  # one name for each axis of the split tensor
    lengths = dict(axes_lengths)
    parts = [["1"] if part == [] else part for part in left]
    flat = [n for part in parts for n in (rest if part == _ELLIPSIS else part)]
    numbers = {name: i for i, name in enumerate(flat)}
    shape = list(given.shape)
    sizes: list[int] = []
    for part in parts:
        if part == _ELLIPSIS:
            axes += rest
            sizes += shape[: len(rest)]
            del shape[: len(rest)]
            continue
        size = shape.pop(0)
        if part == ["1"]:
            sizes.append(size)
        else:
            _split(size, part, lengths, numbers)
            sizes += [lengths[name] for name in part]
        axes += part
    of_unit = [i for i, name in enumerate(axes) if name == "1"]
    groups = [rest if part == _ELLIPSIS else _expanded(part, rest) for part in right]
    joined = [[name] for name in rest]
    order = [axes.index(name) for group in groups for name in group]
    result = given.reshape(sizes).permute([*order, *of_unit])
    if of_unit:
        result = result.sum(tuple(range(len(order), len(axes))))
    found = dict(zip(axes, sizes, strict=True))
    final: list[int] = []
    for part, group in zip(right, groups, strict=True):
        split = joined if part == _ELLIPSIS else [group]
        final += [math.prod(found[name] for name in names) for names in split]
    return result.reshape(final)


def _expanded(part: list[str], rest: list[str]) -> list[str]:
    return [n for name in part for n in (rest if name == _ELLIPSIS else [name])]


def _rest(left: _Axes, ndim: int) -> list[str]:
    """Names for the dimensions that the ellipsis stands for. Raises ValueError for a tensor of
    another number of dimensions than the pattern's."""
    if _ELLIPSIS not in left:
        if len(left) != ndim:
            raise ValueError(
                f"Number of dimensions in pattern ({len(left)}) must be equal to the number of "
                f"dimensions in the tensor ({ndim})"
            )
        return []
    named = sum(1 for part in left if part != _ELLIPSIS)
    if named > ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be less than or equal to the number "
            f"of dimensions in the tensor ({ndim})"
        )
    return [f"{_ELLIPSIS}{i}" for i in range(ndim - named)]
