"""The loader of batches (torch.utils.data.DataLoader), which works in the program's own process."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import Any, Generic, TypeVar

from impl.core.warning import warn
from impl.utils.data.collating import default_collate, default_convert
from impl.utils.data.dataset import IterableDataset
from impl.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    drawn_seed,
)

T = TypeVar("T", covariant=True)


def get_worker_info() -> None:
    """None: there are no worker processes (torch.utils.data.get_worker_info)."""


class _InfiniteConstantSampler(Sampler):
    """None for ever: a stream has no indices."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


def _default_sampler(dataset: Any, shuffle: bool | None, generator: Any) -> Sampler:
    if isinstance(dataset, IterableDataset):
        return _InfiniteConstantSampler()
    if shuffle:
        return RandomSampler(dataset, generator=generator)
    return SequentialSampler(dataset)


class DataLoader(Generic[T]):
    """Batches of the examples of a data set (torch.utils.data.DataLoader).

    Worker processes, pinned memory and timeouts have no effect: examples are read when they are
    asked for. Raises ValueError for options that exclude each other, TypeError for a
    `multiprocessing_context` that is none.
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
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
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
        if isinstance(dataset, IterableDataset):
            _check_stream(shuffle, sampler, batch_sampler)
        _check(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = _default_sampler(dataset, shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._examples_told: int | None = None
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_initialized", False):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        return _SingleProcessDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started; ValueError for one without worker processes, or with an
        unknown name, TypeError for another object."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _context(context, self.num_workers)
        self._multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        self._examples_told = count = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class _SingleProcessDataLoaderIter:
    """One pass over the batches of a loader, which reads each when it is asked for.

    An error of the data set leaves the pass as it is: the next batch can still be read.
    """

    def __init__(self, loader: DataLoader) -> None:
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the "
                f"device,ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=2,
            )
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=2,
            )
        self._loader = loader
        self._told = loader._examples_told
        self._indices = iter(loader._index_sampler)
        drawn_seed(loader.generator)  # for worker processes, of which there are none
        if loader.timeout and not loader.num_workers:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        streams = isinstance(loader.dataset, IterableDataset)
        self._stream = iter(loader.dataset) if streams else None
        self._read = 0

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        return self

    def __next__(self) -> Any:
        index = next(self._indices)
        examples = self._indexed(index) if self._stream is None else self._streamed(index)
        batch = self._loader.collate_fn(examples)
        self._read += 1
        if self._told is not None and self._read > self._told:
            warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {self._told}"
                f"(when accessing len(dataloader)), but {self._read} samples have been fetched. "
            )
        return batch

    def _indexed(self, index: Any) -> Any:
        dataset = self._loader.dataset
        if not self._loader._auto_collation:
            return dataset[index]
        if getattr(dataset, "__getitems__", None):
            return dataset.__getitems__(index)
        return [dataset[i] for i in index]

    def _streamed(self, index: Any) -> Any:
        stream: Any = self._stream
        if not self._loader._auto_collation:
            return next(stream)
        examples = list(islice(stream, len(index)))
        if len(examples) < len(index):
            self._stream = iter(())
            if self._loader.drop_last:
                raise StopIteration
        if not examples:
            raise StopIteration
        return examples

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


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


def _context(context: Any, num_workers: int) -> Any:
    """The context of worker processes, which may be given by the name of its start method."""
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            "(num_workers > 0), but got num_workers=0"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Raise ValueError for an option that orders the examples of a stream."""
    options = (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler))
    for name, value in options:
        if value is not None and not (name == "shuffle" and value in {False}):
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def _check(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any) -> None:
    """Raise ValueError for options of the order and of batches that exclude each other."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (
        batch_size != 1 or shuffle or sampler is not None or drop_last
    ):
        raise ValueError(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last"
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )
