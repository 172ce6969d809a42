"""The qualified names of layers' methods, which Python shows in errors for arguments.

torch has a method in the class that is named here, where that is not the layer itself.
"""

from __future__ import annotations

from typing import Any

from impl.core.method_names import rename

_METHODS = {
    "__init__": {
        "_Loss": ("MSELoss", "L1Loss", "MultiLabelMarginLoss", "SoftMarginLoss"),
        "_WeightedLoss": ("BCELoss", "MultiLabelSoftMarginLoss"),
        "_DropoutNd": ("Dropout", "Dropout{}d", "AlphaDropout", "FeatureAlphaDropout"),
        "_AdaptiveAvgPoolNd": ("AdaptiveAvgPool{}d",),
        "_AdaptiveMaxPoolNd": ("AdaptiveMaxPool{}d",),
        "_MaxPoolNd": ("MaxPool{}d",),
        "_LPPoolNd": ("LPPool{}d",),
        "_BatchNorm": ("BatchNorm{}d",),
        "_InstanceNorm": ("InstanceNorm{}d",),
        "GRUCell": ("GRUCell",),
        "LSTMCell": ("LSTMCell",),
        "_LazyNormBase": ("LazyBatchNorm{}d", "LazyInstanceNorm{}d"),
    },
    "forward": {
        "_BatchNorm": ("BatchNorm{}d", "LazyBatchNorm{}d"),
        "_InstanceNorm": ("InstanceNorm{}d", "LazyInstanceNorm{}d"),
        "_CircularPadNd": ("CircularPad{}d",),
        "_ConstantPadNd": ("ConstantPad{}d", "ZeroPad{}d"),
        "_ReflectionPadNd": ("ReflectionPad{}d",),
        "_ReplicationPadNd": ("ReplicationPad{}d",),
    },
}


def qualify(modules: Any) -> None:
    """Give the methods of the layers the names that torch has for them."""
    for method, owners in _METHODS.items():
        for owner, patterns in owners.items():
            for name in _numbered(patterns):
                rename(getattr(modules, name, None), method, f"{owner}.{method}")
    listed = {
        (method, name)
        for method, owners in _METHODS.items()
        for patterns in owners.values()
        for name in _numbered(patterns)
    }
    for name, layer in vars(modules).items():
        for method in _METHODS:
            owner, dot, _ = getattr(getattr(layer, method, None), "__qualname__", "").partition(".")
            private = dot and owner.startswith("_")
            if isinstance(layer, type) and (method, name) not in listed and private:
                rename(layer, method, f"{name}.{method}")


def _numbered(patterns: tuple[str, ...]) -> list[str]:
    return [pattern.format(n) for pattern in patterns for n in ("123" if "{}" in pattern else "1")]
