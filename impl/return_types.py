"""`torch.return_types`: the classes of operators' named results."""

from impl.core.return_types import RETURN_TYPES

all_return_types = [RETURN_TYPES[name] for name in sorted(RETURN_TYPES)]
globals().update(RETURN_TYPES)
__all__ = ["all_return_types", *sorted(RETURN_TYPES)]
