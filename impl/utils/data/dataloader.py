"""`torch.utils.data.dataloader`: the loader and its parts by the names of torch's own module."""

from impl.utils.data.collating import default_collate, default_convert
from impl.utils.data.loader import DataLoader, get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
