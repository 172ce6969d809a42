"""`torch.utils.data`: data sets, samplers, and the loader that makes batches of them."""

from impl.utils.data import _utils, dataloader
from impl.utils.data.collating import default_collate, default_convert
from impl.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from impl.utils.data.distributed import DistributedSampler
from impl.utils.data.loader import DataLoader, get_worker_info
from impl.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_utils",
    "dataloader",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
