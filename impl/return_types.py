"""`torch.return_types`: the classes of operators' named results."""

from impl.core.return_types import RETURN_TYPES

_public = sorted(name for name in RETURN_TYPES if not name.startswith("_"))
all_return_types = [RETURN_TYPES[name] for name in _public]
globals().update(RETURN_TYPES)
__all__ = ["all_return_types", *_public]
