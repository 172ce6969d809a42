"""`torch.testing`: the assertion that values are close, and tensors of random values."""

from impl.testing._comparison import assert_close
from impl.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
