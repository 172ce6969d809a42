"""The algorithms of the GNU C++ library that order elements, and leave equal ones where they fall.

Items are ordered by `less`, a strict order of them, within a range of their list: sort (std::sort),
partial_sort and nth_element.
"""

from __future__ import annotations

from collections.abc import Callable

Less = Callable[[int, int], bool]

FEW = 16  # items that are sorted by insertion


def sort(items: list[int], less: Less, start: int, end: int) -> None:
    """Sort a range: by partitions, then by insertion (std::sort)."""
    if start == end:
        return
    _sort_roughly(items, less, start, end, _depth(start, end))
    few = min(start + FEW, end)
    _insertion_sort(items, less, start, few)
    for i in range(few, end):
        _insert(items, less, i)


def partial_sort(items: list[int], less: Less, start: int, middle: int, end: int) -> None:
    """Sort the smallest items of a range to its beginning, up to the middle (std::partial_sort)."""
    _heap_select(items, less, start, middle, end)
    for last in range(middle - 1, start, -1):
        _pop_heap(items, less, start, last, last)


def nth_element(items: list[int], less: Less, start: int, nth: int, end: int) -> None:
    """Move the items of a range so that the one at `nth` is that of the sorted range, smaller ones
    before it (std::nth_element)."""
    depth = _depth(start, end)
    while end - start > 3:
        if not depth:
            _heap_select(items, less, start, nth + 1, end)
            items[start], items[nth] = items[nth], items[start]
            return
        depth -= 1
        cut = _partition(items, less, start, end)
        start, end = (cut, end) if cut <= nth else (start, cut)
    _insertion_sort(items, less, start, end)


def _depth(start: int, end: int) -> int:
    """How many partitions of a range are made before a heap takes over."""
    return 2 * max((end - start).bit_length() - 1, 0)


def _sort_roughly(items, less: Less, start: int, end: int, depth: int) -> None:
    while end - start > FEW:
        if not depth:
            partial_sort(items, less, start, end, end)
            return
        depth -= 1
        cut = _partition(items, less, start, end)
        _sort_roughly(items, less, cut, end, depth)
        end = cut


def _insertion_sort(items, less: Less, start: int, end: int) -> None:
    for i in range(start + 1, end):
        if less(items[i], items[start]):
            items[start : i + 1] = [items[i], *items[start:i]]
        else:
            _insert(items, less, i)


def _insert(items, less: Less, i: int) -> None:
    """Move an item down before the larger ones, of which not all before it are."""
    item = items[i]
    while less(item, items[i - 1]):
        items[i] = items[i - 1]
        i -= 1
    items[i] = item


def _partition(items, less: Less, start: int, end: int) -> int:
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


def _median_of(items, less: Less, a: int, b: int, c: int) -> int:
    """Which of three places has the median."""
    if not less(items[a], items[b]):
        a, b = b, a
    if less(items[b], items[c]):
        return b
    return c if less(items[a], items[c]) else a


def _heap_select(items, less: Less, start: int, middle: int, end: int) -> None:
    """Make the beginning of a range, up to the middle, a heap of its smallest items."""
    size = middle - start
    for parent in range((size - 2) // 2, -1, -1):
        _sift(items, less, start, parent, size, items[start + parent])
    for i in range(middle, end):
        if less(items[i], items[start]):
            _pop_heap(items, less, start, middle, i)


def _pop_heap(items, less: Less, start: int, end: int, place: int) -> None:
    """Move the largest item of a heap to a place; the item that was there goes into the heap."""
    item, items[place] = items[place], items[start]
    _sift(items, less, start, 0, end - start, item)


def _sift(items, less: Less, start: int, hole: int, size: int, item: int) -> None:
    """Put an item into a heap with a hole: the hole goes down to a leaf, the item up from there."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if less(items[start + child], items[start + child - 1]):
            child -= 1
        items[start + hole], hole = items[start + child], child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        items[start + hole], hole = items[start + child], child
    while hole > top and less(items[start + (hole - 1) // 2], item):
        parent = (hole - 1) // 2
        items[start + hole], hole = items[start + parent], parent
    items[start + hole] = item
