"""`torch.utils.data._utils.collate`: the making of a batch from examples."""

from impl.utils.data.collating import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
