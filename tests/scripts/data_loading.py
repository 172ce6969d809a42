"""Loading of data: batches, draws and errors, printed."""

import collections

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

torch.manual_seed(0)


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:200])


d = TensorDataset(torch.arange(10.0), torch.arange(10))
t(lambda: list(DataLoader(d, batch_size=3, shuffle=True)))
t(lambda: list(DataLoader(d, batch_size=4, drop_last=True)))
t(lambda: torch.rand(2))
t(lambda: list(DataLoader(d, batch_size=None, shuffle=True))[:2])
t(lambda: [s.indices for s in random_split(d, [3, 7])])
t(
    lambda: [
        s.indices for s in random_split(d, [0.25, 0.75], generator=torch.Generator().manual_seed(3))
    ]
)
t(lambda: random_split(d, [3, 3]))
t(lambda: list(WeightedRandomSampler([0.1, 0.5, 0.9], 5)))
t(lambda: list(RandomSampler(d, replacement=True, num_samples=40)))
t(lambda: list(RandomSampler(d, num_samples=13)))
t(lambda: list(SubsetRandomSampler([3, 1, 4])))
t(
    lambda: list(
        DataLoader(d, batch_size=5, sampler=WeightedRandomSampler(torch.ones(10), 10, False))
    )
)
t(
    lambda: list(
        DataLoader(d, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(1))
    )[0]
)


class It(IterableDataset):
    def __iter__(self):
        return iter(range(5))


t(lambda: list(DataLoader(It(), batch_size=2)))
t(lambda: list(DataLoader(It(), batch_size=None)))
t(lambda: DataLoader(It(), shuffle=True))
t(lambda: list(It() + It()))
P = collections.namedtuple("P", "a b")
for b in (
    [{"a": 1, "b": [1.0, 2.0]}, {"a": 2, "b": [3.0, 4.0]}],
    [P(1, "x"), P(2, "y")],
    [(1, np.float32(2)), (3, np.float32(4))],
    [np.ones(2), np.zeros(2)],
    [True, False],
    ["a", "b"],
    [None, None],
    [[1, 2], [1]],
    [b"a"],
    [1.5, 2],
    [np.array("a")],
):
    t(lambda: default_collate(b))
t(lambda: default_convert({"a": np.ones(2), "b": (np.int64(1), "s")}))
t(lambda: (d + d)[13])
t(lambda: len(DataLoader(d, batch_size=3)))
t(lambda: DataLoader(d, sampler=[1], shuffle=True))
t(lambda: TensorDataset(torch.ones(2), torch.ones(3)))
t(lambda: ConcatDataset([]))
t(lambda: Dataset()[0])
t(lambda: len(Dataset()))
t(lambda: StackDataset(d, a=d))
t(lambda: StackDataset(a=d, b=d)[1])
t(lambda: Subset(d, [2, 3])[[0, 1]])
t(lambda: RandomSampler(d, replacement=2))
t(lambda: BatchSampler([1], 0, False))
t(lambda: list(BatchSampler(range(5), 2, True)))
t(lambda: RandomSampler([]))
t(lambda: list(DataLoader([1, 2, 3])))
t(lambda: DataLoader(d, batch_size=2, batch_sampler=[[1]]))
t(lambda: DataLoader(d, batch_size=None, drop_last=True))
t(lambda: list(DataLoader(d, batch_sampler=[[1, 2], [0]])))
t(lambda: list(DataLoader([], batch_size=2)))
t(lambda: WeightedRandomSampler([[1.0]], 1))
t(lambda: list(DataLoader([1, 2, 3], collate_fn=lambda b: b, batch_size=2)))
for length, replicas, drop, shuffle in (
    (7, 3, False, True),
    (7, 3, True, False),
    (1, 4, False, True),
):
    for rank in range(replicas):
        share = DistributedSampler(range(length), replicas, rank, shuffle, seed=3, drop_last=drop)
        share.set_epoch(2)
        print(len(share), list(share))
t(lambda: DistributedSampler(range(3), 2, 2))
