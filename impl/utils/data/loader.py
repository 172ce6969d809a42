"""The loader of batches (torch.utils.data.DataLoader), which works in the program's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from impl.utils.data.collating import default_collate, default_convert
from impl.utils.data.dataset import IterableDataset
from impl.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    drawn_seed,
)


def get_worker_info() -> None:
    """None: there are no worker processes (torch.utils.data.get_worker_info)."""


class DataLoader:
    """Batches of the examples of a data set (torch.utils.data.DataLoader).

    Worker processes, pinned memory and timeouts have no effect: examples are read when they are
    asked for. Raises ValueError for options that exclude each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        streams = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check(streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not streams:
            random = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = random or SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not streams:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batches else default_convert)
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_initialized", False):
            raise ValueError(f"{name} attribute should not be set after DataLoader is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        drawn_seed(self.generator)  # for worker processes, of which there are none
        if not isinstance(self.dataset, IterableDataset):
            return _Batches(self, self._indexed())
        return _Batches(self, self._streamed())

    def _indexed(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
            return
        for batch in self.batch_sampler:
            if hasattr(self.dataset, "__getitems__"):
                yield self.collate_fn(self.dataset.__getitems__(batch))
            else:
                yield self.collate_fn([self.dataset[index] for index in batch])

    def _streamed(self) -> Iterator[Any]:
        stream = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, stream)
            return
        while batch := list(islice(stream, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class _Batches:
    """One pass over the batches of a loader, which tells how many there are."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        self._loader, self._batches = loader, batches

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __len__(self) -> int:
        return len(self._loader)


_FIXED = (
    "batch_size",
    "batch_sampler",
    "sampler",
    "drop_last",
    "dataset",
    "persistent_workers",
)
"""Attributes of a loader that are not set after it was made."""


def _check_workers(num_workers: int, timeout: float, prefetch_factor, persistent: bool) -> None:
    """Raise ValueError for options of worker processes that exclude each other."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check(streams: bool, batch_size, shuffle, sampler, batch_sampler, drop_last: bool) -> None:
    if streams:
        for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                    f"{name}={value}"
                )
        if shuffle:
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
                f"shuffle={shuffle}"
            )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler or drop_last):
        raise ValueError(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last"
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )
