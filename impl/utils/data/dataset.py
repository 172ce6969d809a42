"""Data sets: sources of examples, by index or as a stream (torch.utils.data.dataset)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from impl.factories.creation.drawn import randperm
from impl.factories.generator import default_generator

T = TypeVar("T")


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


class StackDataset(Dataset):
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

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Data sets one after the other (torch.utils.data.ConcatDataset)."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx) -> T:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[number][idx - ([0, *self.cumulative_sizes][number])]


class ChainDataset(IterableDataset):
    """Streams one after the other (torch.utils.data.ChainDataset)."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets: Iterable[Any] = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[T]):
    """The examples of a data set at some indices (torch.utils.data.Subset)."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator=default_generator
) -> list[Subset[T]]:
    """Subsets of these lengths, or fractions of the whole, that do not overlap, at random
    (torch.utils.data.random_split). Raises ValueError for lengths with another sum."""
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes = []
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(total * fraction))
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=generator).tolist()
    ends = accumulate(lengths)
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]
