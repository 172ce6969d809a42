"""Which of equal elements torch's CPU kernels choose, and in which order it returns them.

Without equal elements there is one order, NumPy's. Where there are some, the algorithm that torch
calls decides: one of the GNU C++ library (`impl.kernels.introsort`), or ATen's own quick select.
NaN counts as the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from impl.kernels import introsort


def selected(rows: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The places of the elements at `ranks` of each row.

    The last dimension of `rows` is that of the elements, that of `ranks` that of the ranks.
    """
    order = np.argsort(rows, axis=-1, kind="stable")
    result = np.take_along_axis(order, ranks, -1)
    ascending = np.take_along_axis(rows, order, -1)
    for row in np.ndindex(rows.shape[:-1]):
        if _tied(ascending[row], ranks[row]):
            result[row] = _partitioned(rows[row].tolist(), ranks[row].tolist())
    return result


def in_order(rows: np.ndarray, descending: bool) -> np.ndarray:
    """The places of each row's elements in order, as std::sort leaves them."""

    def places(row: list) -> list[int]:
        items = [*range(len(row))]
        introsort.sort(items, _order(row, descending), 0, len(row))
        return items

    few = rows.shape[-1] <= introsort.FEW  # which it sorts by insertion
    return _by_row(rows, rows.shape[-1], descending, places, not few)


def largest(rows: np.ndarray, k: int, descending: bool, is_sorted: bool) -> np.ndarray:
    """The places of the k first of each row's elements in order (ATen's topk_impl_loop)."""

    def places(row: list) -> list[int]:
        items, less, end = [*range(len(row))], _order(row, descending), len(row)
        if k * 64 <= end:
            introsort.partial_sort(items, less, 0, k, end)
        else:
            introsort.nth_element(items, less, 0, k - 1, end)
            if is_sorted:
                introsort.sort(items, less, 0, k - 1)
        return items[:k]

    return _by_row(rows, k, descending, places, k > 0, always=not is_sorted)


def kth(rows: np.ndarray, k: int) -> np.ndarray:
    """The place of the element at rank `k` of each row, counted from 0."""

    def places(row: list) -> list[int]:
        items = [*range(len(row))]
        _quick_select(items, _order(row, True), k)
        return [items[k]]

    return _by_row(rows, k + 1, False, places)[..., -1]


def _by_row(
    rows: np.ndarray,
    count: int,
    descending: bool,
    places: Callable[[list], list[int]],
    ties: bool = True,
    always: bool = False,
) -> np.ndarray:
    """The first places in order of the elements of each row; those that an algorithm finds where
    `ties` and the row has equal elements, or `always`."""
    order = stable_order(rows, descending)
    result = order[..., :count]
    if ties:
        ordered = np.take_along_axis(rows, order, -1)
        same = ordered[..., 1:] == ordered[..., :-1]
        same |= np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1])
        for row in np.ndindex(rows.shape[:-1]):
            if always or same[row].any():
                chosen = places(rows[row].tolist())
                result[(*row, slice(count - len(chosen), None))] = chosen
    return result


def stable_order(rows: np.ndarray, descending: bool) -> np.ndarray:
    """The places of each row's elements in order, those of equal ones as they are."""
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable")
    # The ascending order of the reversed row, reversed back.
    order = np.argsort(rows[..., ::-1], axis=-1, kind="stable")
    return rows.shape[-1] - 1 - order[..., ::-1]


def _tied(ascending: np.ndarray, ranks: np.ndarray) -> bool:
    """Whether an element at one of the ranks has an equal."""
    chosen = ascending[ranks]
    before, after = ascending[ranks - 1], ascending[(ranks + 1) % len(ascending)]
    equals = ((chosen == before) & (ranks > 0)) | ((chosen == after) & (ranks < len(ascending) - 1))
    return bool(equals.any()) or bool(np.isnan(chosen).any())


def _order(row: Sequence[float], descending: bool) -> introsort.Less:
    """Whether the element at one place of a row comes before that at another."""

    def less(a: int, b: int) -> bool:
        return row[a] < row[b] or (row[b] != row[b] and row[a] == row[a])

    return (lambda a, b: less(b, a)) if descending else less


def _partitioned(row: Sequence[float], ranks: Iterable[int]) -> list[int]:
    """The places of the elements at the ranks: that in the middle is selected first, then those
    before it among what lies before, and those behind it among what lies behind."""
    order, less = [*range(len(row))], _order(row, False)
    distinct = sorted(set(ranks))

    def select(ranks: list[int], start: int, end: int) -> None:
        if ranks:
            middle = len(ranks) // 2
            rank = ranks[middle]
            introsort.nth_element(order, less, start, rank, end)
            select(ranks[:middle], start, rank)
            select(ranks[middle + 1 :], rank + 1, end)

    select(distinct, 0, len(row))
    return [order[rank] for rank in ranks]


def _quick_select(items: list[int], greater: introsort.Less, k: int) -> None:
    """Move the item at rank `k` of the sorted list there (ATen's quick_select_template)."""

    def swap(a: int, b: int) -> None:
        items[a], items[b] = items[b], items[a]

    def put_in_order(a: int, b: int) -> None:
        if greater(items[a], items[b]):
            swap(a, b)

    low, high = 0, len(items) - 1
    while high > low + 1:
        swap((low + high) // 2, low + 1)
        put_in_order(low + 1, high)
        put_in_order(low, high)
        put_in_order(low + 1, low)
        i, j, pivot = low + 1, high, items[low]
        while True:
            i += 1
            while greater(pivot, items[i]):
                i += 1
            j -= 1
            while greater(items[j], pivot):
                j -= 1
            if j < i:
                break
            swap(i, j)
        swap(low, j)
        low, high = (i if j <= k else low), (j - 1 if j >= k else high)
    if high == low + 1:
        put_in_order(low, high)
