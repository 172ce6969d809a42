"""Data sets: sources of examples, by index or as a stream (torch.utils.data.dataset)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from impl.core.registry import C
from impl.core.warning import deprecated, warn
from impl.factories.generator import default_generator

T = TypeVar("T")


def _examples(dataset: Any, indices: list) -> Any:
    """The examples of a data set at several indices, by its `__getitems__` where it has one."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


class Dataset(Generic[T]):
    """A data set that maps an index to an example (torch.utils.data.Dataset)."""

    def __getitem__(self, index) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """A data set that is a stream of examples (torch.utils.data.IterableDataset)."""

    def __add__(self, other: Dataset[T]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The slices of tensors along their first dimension (torch.utils.data.TensorDataset)."""

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors: tuple[Any, ...] = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[T]):
    """Data sets of one length side by side: tuples, or dictionaries, of their examples
    (torch.utils.data.StackDataset)."""

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
                if args
                else "At least one dataset should be passed"
            )
        self.datasets: Any = args or kwargs
        every: list[Any] = list(kwargs.values() or args)
        self._length = len(every[0])
        if any(len(each) != self._length for each in every):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list) -> list:
        """The examples at several indices. A data set with its own `__getitems__` is asked once;
        ValueError where it returns another number of examples."""
        named = isinstance(self.datasets, dict)
        every = self.datasets.values() if named else self.datasets
        columns = [self._column(dataset, indices) for dataset in every]
        rows = list(zip(*columns, strict=True))
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else rows

    def _column(self, dataset: Any, indices: list) -> list:
        column = _examples(dataset, indices)
        if len(column) != len(indices):
            raise ValueError(
                f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
            )
        return column

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Data sets one after the other (torch.utils.data.ConcatDataset)."""

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The sums of the lengths of a sequence of data sets, up to each of them."""
        return list(accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx) -> T:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[number][idx - ([0, *self.cumulative_sizes][number])]

    @property
    @deprecated("`cummulative_sizes` attribute is renamed to `cumulative_sizes`")
    def cummulative_sizes(self) -> list[int]:
        """`cumulative_sizes` by its former name; FutureWarning."""
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Streams one after the other (torch.utils.data.ChainDataset)."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets: Iterable[Any] = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


_OTHER_ITEM_ALONE = (
    "{} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
    "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with "
    "your custom logic. A simple implementation:\n\n"
    "def __getitems__(self, indices):\n"
    "    return [self.__getitem__(idx) for idx in indices]"
)


class Subset(Dataset[T]):
    """The examples of a data set at some indices (torch.utils.data.Subset).

    Raises NotImplementedError for a subclass with its own `__getitem__` alone, which a loader,
    that calls `__getitems__`, would not see.
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(_OTHER_ITEM_ALONE.format(own.__name__))

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        """The examples at several positions of the subset's indices."""
        return _examples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator=default_generator
) -> list[Subset[T]]:
    """Subsets of these lengths, or fractions of the whole, that do not overlap, at random
    (torch.utils.data.random_split). Raises ValueError for lengths with another sum."""
    of_the_whole = math.isclose(sum(lengths), 1) and sum(lengths) <= 1
    total = len(dataset)  # type: ignore[arg-type]
    if of_the_whole:
        sizes = []
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(total * fraction))
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
        for i in (i for i, size in enumerate(sizes) if size == 0):
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = C.randperm(sum(lengths), generator=generator).tolist()
    ends = accumulate(lengths)
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]
