"""`torch.nn.modules`: the layers, collected from this package's files."""

from types import ModuleType

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
    public_modules,
    rnn,
    rnn_cells,
    sparse,
    transformer,
)
from impl.nn.modules.module import Module

_INTERNAL = ("LazyModuleMixin", "NonDynamicallyQuantizableLinear")


def _layers() -> dict[str, type[Module]]:
    """The public layers of all files, by name."""
    files = [vars(value) for value in globals().values() if isinstance(value, ModuleType)]
    values = {name: value for file in files for name, value in file.items() if name[0] != "_"}
    layers = {n: v for n, v in values.items() if isinstance(v, type) and issubclass(v, Module)}
    return {name: layer for name, layer in layers.items() if name not in _INTERNAL}


globals().update(_layers())
public_modules.place_layers(__name__, {"_InstanceNorm": batchnorm._InstanceNorm, **_layers()})
__all__ = sorted(_layers())
