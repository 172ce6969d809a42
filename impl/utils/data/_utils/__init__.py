"""`torch.utils.data._utils`: the collation of batches, which programs import from there."""

from impl.utils.data._utils import collate

__all__ = ["collate"]
