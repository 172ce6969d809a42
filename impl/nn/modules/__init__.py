"""`torch.nn.modules`: the layers, collected from this package's files."""

from types import ModuleType

from impl.core.torch_modules import place
from impl.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    dropout,
    images,
    lazy,
    linear,
    loss,
    normalization,
    padding,
    parameter_containers,
    pooling,
    rnn,
    rnn_cells,
    sparse,
    transformer,
    utils,
)
from impl.nn.modules.module import Module

# The layers of which torch has another file than impl.
_IN_TORCH = {
    "activation": "MultiheadAttention",
    "batchnorm": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "channelshuffle": "ChannelShuffle",
    "container": "ParameterDict ParameterList",
    "conv": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d "
    "LazyConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
    "LazyInstanceNorm2d LazyInstanceNorm3d",
    "linear": "LazyLinear",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "rnn": "GRUCell LSTMCell RNNCell RNNCellBase",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
_INTERNAL = ("LazyModuleMixin", "NonDynamicallyQuantizableLinear")


def _layers() -> dict[str, type[Module]]:
    """The public layers of all files, by name."""
    files = [vars(value) for value in globals().values() if isinstance(value, ModuleType)]
    values = {name: value for file in files for name, value in file.items() if name[0] != "_"}
    layers = {n: v for n, v in values.items() if isinstance(v, type) and issubclass(v, Module)}
    return {name: layer for name, layer in layers.items() if name not in _INTERNAL}


globals().update(_layers())
__all__ = sorted(_layers())

for _module, _names in _IN_TORCH.items():
    _members = map(globals().__getitem__, _names.split())
    globals()[_module] = place(f"{__name__}.{_module}", *_members)
place(f"{__name__}.batchnorm", lazy._LazyNormBase)
place(f"{__name__}.conv", lazy._LazyConvXdMixin)
place(f"{__name__}.instancenorm", batchnorm._InstanceNorm)
