"""A pure-Python autograd, torch-shaped, on NumPy: `import impl as torch`."""

from __future__ import annotations

import math as _math
import sys as _sys

from impl import (
    _C,
    __future__,
    _ops,
    accelerator,
    amp,
    autograd,
    backends,
    compiler,
    cpu,
    cuda,
    distributed,
    distributions,
    fft,
    func,
    functional,
    futures,
    jit,
    library,
    linalg,
    masked,
    mps,
    mtia,
    multiprocessing,
    nn,
    onnx,
    ops,
    optim,
    overrides,
    profiler,
    random,
    return_types,
    serialization,
    signal,
    sparse,
    special,
    storage,
    testing,
    torch_version,
    types,
    utils,
    version,
    xpu,
)
from impl import _tensor as _tensor_py
from impl import operators as _operators
from impl._checks import (
    _assert,
    _check,
    _check_index,
    _check_not_implemented,
    _check_type,
    _check_value,
)
from impl._device_modules import get_device_module
from impl._linalg_utils import _symeig as symeig
from impl._linalg_utils import cholesky, eig, lstsq, matrix_rank, qr, solve
from impl.amp import GradScaler
from impl.arg_parser.publish import publish as _publish
from impl.compiler import compile
from impl.core.accelerator_errors import AcceleratorError, OutOfMemoryError
from impl.core.context import (
    are_deterministic_algorithms_enabled,
    get_default_device,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_device,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from impl.core.devices import device
from impl.core.dtypes import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from impl.core.dtypes import bool_ as bool
from impl.core.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from impl.core.memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)
from impl.core.registry import FUNCTIONS as _FUNCTIONS
from impl.core.sizes import Size
from impl.core.streams import Event, Stream
from impl.dispatch.autocast import (
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from impl.factories import copy_and_pickle as _copy_and_pickle
from impl.factories import creation as _creation
from impl.factories import printing as _tensor_str
from impl.factories import tensor_methods as _tensor_methods
from impl.factories import type_info as _type_info
from impl.factories.creation import set_default_tensor_type
from impl.factories.creation.dlpack import from_dlpack, to_dlpack
from impl.factories.generator import Generator, default_generator
from impl.factories.legacy_storages import LEGACY_STORAGES as _LEGACY_STORAGES
from impl.factories.printing import set_printoptions
from impl.factories.storages import TypedStorage, UntypedStorage
from impl.func.mapping import vmap
from impl.futures import _Future as Future
from impl.graph.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from impl.serialization import load, save
from impl.tensor import overridable as _overridable
from impl.tensor import views as _views
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass

__version__ = "0.1.0"

float, double, half = float32, float64, float16
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None

globals().update(_creation.LEGACY_TYPES)
globals().update(_LEGACY_STORAGES)
globals().update(_FUNCTIONS)
globals().update({_name: getattr(functional, _name) for _name in functional.__all__})
_publish(
    {
        "": _sys.modules[__name__],
        "linalg": linalg,
        "fft": fft,
        "sparse": sparse,
        "special": special,
        "nn.functional": nn.functional,
    }
)
_overridable.complete()
# The older names of the product, for sparse first factors.
globals().update(dict.fromkeys(("dsmm", "spmm"), globals()["mm"]))
