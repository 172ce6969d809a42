"""Selection by partition: which of equal elements C++'s std::nth_element leaves at a rank.

The function of the GNU library halves a range around the median of three of its elements until
three are left, and sorts these by insertion. Where it gives up after too many partitions, in rows
made against it, this does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np


def selected(rows: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The places of the elements at `ranks` of each row, NaN counted as the largest.

    The last dimension of `rows` is that of the elements, that of `ranks` that of the ranks.
    """
    order = np.argsort(rows, axis=-1, kind="stable")
    result = np.take_along_axis(order, ranks, -1)
    ascending = np.take_along_axis(rows, order, -1)
    for row in np.ndindex(rows.shape[:-1]):
        if _tied(ascending[row], ranks[row]):
            result[row] = _partitioned(rows[row].tolist(), ranks[row].tolist())
    return result


def _tied(ascending: np.ndarray, ranks: np.ndarray) -> bool:
    """Whether an element at one of the ranks has an equal."""
    chosen = ascending[ranks]
    before, after = ascending[ranks - 1], ascending[(ranks + 1) % len(ascending)]
    equals = ((chosen == before) & (ranks > 0)) | ((chosen == after) & (ranks < len(ascending) - 1))
    return bool(equals.any()) or bool(np.isnan(chosen).any())


def _partitioned(row: Sequence[float], ranks: Iterable[int]) -> list[int]:
    """The places of the elements at the ranks: that in the middle is selected first, then those
    before it among what lies before, and those behind it among what lies behind."""
    order = [*range(len(row))]
    distinct = sorted(set(ranks))

    def less(a: int, b: int) -> bool:
        return row[a] < row[b] or (row[b] != row[b] and row[a] == row[a])

    def select(ranks: list[int], start: int, end: int) -> None:
        if ranks:
            middle = len(ranks) // 2
            rank = ranks[middle]
            nth_element(order, less, start, rank, end)
            select(ranks[:middle], start, rank)
            select(ranks[middle + 1 :], rank + 1, end)

    select(distinct, 0, len(row))
    return [order[rank] for rank in ranks]


def nth_element(
    items: list[int], less: Callable[[int, int], bool], start: int, nth: int, end: int
) -> None:
    """Move the items of a range so that the one at `nth` is that of the sorted range, smaller ones
    before it (std::nth_element)."""
    while end - start > 3:
        cut = _partition(items, less, start, end)
        start, end = (cut, end) if cut <= nth else (start, cut)
    for i in range(start + 1, end):
        item = items[i]
        while i > start and less(item, items[i - 1]):
            items[i] = items[i - 1]
            i -= 1
        items[i] = item


def _partition(items, less, start: int, end: int) -> int:
    """Partition a range around the median of three of its items; where the larger ones begin."""
    pivot = _median_of(items, less, start + 1, start + (end - start) // 2, end - 1)
    items[start], items[pivot] = items[pivot], items[start]
    low, high, middle = start + 1, end, items[start]
    while True:
        while less(items[low], middle):
            low += 1
        high -= 1
        while less(middle, items[high]):
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1


def _median_of(items, less, a: int, b: int, c: int) -> int:
    """Which of three places has the median."""
    if not less(items[a], items[b]):
        a, b = b, a
    if less(items[b], items[c]):
        return b
    return c if less(items[a], items[c]) else a
