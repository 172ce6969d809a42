"""The names of dispatch keys (c10/core/DispatchKey.h).

A kernel may be registered for any of them. Those of the CPU, of the meta device and of sparse
tensors on the CPU are used, with the aliases that stand for several.
"""

from __future__ import annotations

from typing import NoReturn

from impl.core.devices import device

CPU, META, SPARSE, UNDEFINED = "CPU", "Meta", "SparseCPU", "Undefined"
AUTOGRAD, COMPOSITE, EXPLICIT = (
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
)
AUTOCAST, BATCHED = "AutocastCPU", "FuncTorchBatched"

_OF_DEVICES = {
    **{"cpu": CPU, "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "ipu": "IPU"},
    **{"xpu": "XPU", "hpu": "HPU", "ve": "VE", "lazy": "Lazy", "mtia": "MTIA", "maia": "MAIA"},
    **{"meta": META, "privateuseone": "PrivateUse1"},
}
_KEYS = frozenset(
    [
        *(
            kind + backend
            for kind in ("", "Autograd", "Autocast", "Sparse", "SparseCsr", "Quantized")
            for backend in _OF_DEVICES.values()
        ),
        *(AUTOGRAD, COMPOSITE, EXPLICIT, "AutogradOther", UNDEFINED),
    ]
)
# Keys of PyTorch's own machinery.
_INNER = frozenset(
    [
        *("ADInplaceOrView", "BackendSelect", "Conjugate", "Negative", "ZeroTensor", "Named"),
        *("Functionalize", "Python", "PythonDispatcher", "PreDispatch", "Tracer", BATCHED),
        *("FuncTorchBatchedDecomposition", "FuncTorchVmapMode", "FuncTorchGradWrapper"),
        *("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode", "Batched"),
        *("BatchedNestedTensor", "VmapMode", "CompositeExplicitAutogradNonFunctional"),
        "CompositeImplicitAutogradNestedTensor",
    ]
)


def checked_key(name: str) -> str:
    """A name of a key, for which a program registers a kernel.

    Raises RuntimeError for one that is none, NotImplementedError for one of PyTorch's machinery
    that is built otherwise here.
    """
    if name not in _KEYS:
        _refuse(name)
    return name


def _refuse(name: str) -> NoReturn:
    if name not in _INNER:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    raise NotImplementedError(
        f"a kernel for {name}: there are kernels for backends, Autograd, Autocast, Composite keys"
    )


def key_of(name: str) -> str:
    """The key of a device type, of "default", or of a key's own name. Raises RuntimeError for any
    other name."""
    if name == "default":
        return EXPLICIT
    if name in _KEYS or name in _INNER:
        return checked_key(name)
    return _OF_DEVICES[device(name).type]
