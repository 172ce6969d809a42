"""The operators of ATen that those of the implementation stand for: `torch.ops.aten`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import resources
from typing import Any

import impl.tensor.conversions  # noqa: F401  gives tensors `item`
from impl.core.registry import FUNCTIONS, OPERATORS
from impl.core.state import STATE
from impl.dispatch.kernel_parameters import signature_of
from impl.dispatch.op_overload import OpOverload, namespace
from impl.tensor.tensor import Tensor

# Comparisons and logic, for which ATen has an overload of its own for a number.
_OF_NUMBERS = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "Scalar"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "Scalar"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "Tensor_Scalar"),
}
# Reductions, for which it has one of its own without a dimension.
_WITHOUT_DIM = {"all", "any"}
# The overloads in place of those of which the operands' kinds are in the name, and of others.
_WRITTEN_KINDS = {"Tensor_Scalar": "Scalar", "Tensor_Tensor": "Tensor"}
_WRITTEN = {
    **{f"bitwise_{side}_shift.Tensor_Scalar": "Tensor_Scalar" for side in ("left", "right")},
    **{"bernoulli.default": "float", "floor_divide.default": "Tensor", "ldexp.Tensor": "default"},
    "transpose.int": "default",
}
# The overloads with `out=` that have other names than "out", or that of the overload without it.
_OUT = {
    **{f"{name}.Tensor": "out" for name in ("add", "copysign", "div", "ldexp", "mul", "sub")},
    **{"div.Tensor_mode": "out_mode", "max.default": "unary_out", "mean.default": "dtype_out"},
    **{"min.default": "unary_out", "norm.ScalarOpt_dim": "out", "prod.dim_int": "int_out"},
    **{"sum.dim_IntList": "IntList_out", "xlogy.Scalar_Other": "OutScalar_Other"},
    **{"xlogy.Scalar_Self": "OutScalar_Self", "xlogy.Tensor": "OutTensor"},
}
# The parameters that ATen takes by keyword only; "value" is one where numbers scale a product.
_KEYWORDS = {
    *("alpha", "beta", "correction", "dtype", "generator", "include_self", "memory_format"),
    *("non_blocking", "rounding_mode", "stable"),
}
_SCALED = {"addcmul", "addcdiv"}
# The defaults that parameters of these names have in ATen, and some of operators alone.
_DEFAULTS: dict[str, Any] = {
    **{"keepdim": False, "largest": True, "sorted": True, "descending": False},
    **{"reduction": 1, "approximate": "none", "unbiased": True},
    **{"padding_idx": -1, "scale_grad_by_freq": False, "sparse": False},
    **{"max": None, "dim": None, "correction": None, "generator": None},
    **{"split.dim": 0, "sort.dim": -1, "topk.dim": -1, "linalg_vector_norm.ord": 2},
}
# Operators that take a list of dimensions.
_OF_DIMS = {
    *("amax", "amin", "count_nonzero", "flip", "linalg_vector_norm", "logsumexp", "mean"),
    *("nansum", "std", "std_mean", "sum", "var", "var_mean"),
}


# Functions that ask a mode or the class of a tensor themselves, with their overloads: what returns
# no tensor, and factories.
_FUNCTIONS = {
    **dict.fromkeys(("allclose", "equal", "nonzero", "full", "ones", "zeros"), ("default",)),
    **dict.fromkeys(("resize_", "resize_as_"), ("default",)),
    "set_": (
        *("default", "source_Tensor", "source_Storage"),
        *("source_Tensor_storage_offset", "source_Storage_storage_offset"),
    ),
    **dict.fromkeys(("empty_strided", "linspace", "logspace", "scalar_tensor"), ("default",)),
    **dict.fromkeys(("empty_like", "full_like", "ones_like", "zeros_like"), ("default",)),
    **dict.fromkeys(("rand_like", "randn_like", "new_empty"), ("default",)),
    **dict.fromkeys(("new_empty_strided", "new_full", "new_ones", "new_zeros"), ("default",)),
    **dict.fromkeys(("empty_permuted", "tril_indices", "triu_indices"), ("default",)),
    **dict.fromkeys(("rand", "randn", "randperm"), ("default", "generator")),
    "arange": ("default", "start", "start_step"),
    "empty": ("memory_format",),
    "eye": ("default", "m"),
    "normal": ("float_float",),
    "randint": ("default", "low", "generator", "low_generator"),
    "randint_like": ("default", "low_dtype"),
}


# Functions that draw the samples which their operators record.
_SAMPLERS = {"_sample_dirichlet", "_standard_gamma", "binomial", "normal", "poisson"}
# The defaults of the last arguments of samplers, by overload.
_OF_SAMPLERS: dict[str, tuple] = {
    **{"uniform_": (0.0, 1.0), "normal_": (0.0, 1.0), "cauchy_": (0.0, 1.0)},
    **{"log_normal_": (1.0, 2.0), "exponential_": (1.0,), "bernoulli_.float": (0.5,)},
    **{"multinomial": (False,), "normal.Tensor_float": (1.0,)},
}


@functools.cache
def _names() -> dict[str, tuple[str, str]]:
    """ATen's names of the operators whose own name, or whose overload, is another."""
    text = resources.files(__package__).joinpath("aten_names.txt").read_text()
    lines = (line.split() for line in text.splitlines())
    return {name: tuple(known.rsplit(".", 1)) for name, known in lines}  # type: ignore[misc]


@functools.cache
def _registered() -> dict[int, str]:
    return {id(op): name for name, op in OPERATORS.items()}


def _name_of(op) -> tuple[str, str]:
    """ATen's name of an operator, and of its overload."""
    name = _registered().get(id(op), op.name)
    return _names().get(name, (name, "default"))


def shown_name(op, args: tuple = ()) -> str:
    """ATen's name of an operator as its errors and warnings show it, without a default overload;
    with the arguments, that of an operator of two tensors which takes a number for one of them."""
    name, overload = _name_of(op)
    for i in op.tensor_positions if op.numbers and len(args) == 2 else ():
        if not isinstance(args[i], Tensor):
            return f"{name}.{op.parameters[i]}_scalar"
    return shown(name, overload)


def shown(name: str, overload: str) -> str:
    """The name of an overload as errors and warnings show it: without "default"."""
    return name if overload == "default" else f"{name}.{overload}"


def overload_of(op, args: tuple, written: bool = False) -> OpOverload:
    """The overload that a call of an operator stands for; `written` is for a call in place."""
    if not written:
        return _overload(*_called(op, args), op.aten_call or _by_name(op))
    return _overload(*_written(*_called(op, args)), _by_name(op, op.inplace))


def written_name(op, args: tuple) -> str:
    """ATen's name of an operator in place as its errors and warnings show it, without a default
    overload: that of the alias by which it is called, where it is called by one."""
    name, overload = _written(*_called(op, args))
    if STATE.spelled is not None:
        name, overload = STATE.spelled.name, STATE.spelled.overload or overload
    return shown(name, overload)


def _written(name: str, overload: str) -> tuple[str, str]:
    """The names in place of an operator and of its overload."""
    usual = _WRITTEN_KINDS.get(overload, overload)
    known = _WRITTEN.get(f"{name}.{overload}", usual)
    name = name.removesuffix("_functional")
    return name if name.endswith("_") else f"{name}_", known


def _called(op, args: tuple) -> tuple[str, str]:
    """ATen's name of an operator, and of its overload for these arguments."""
    name, overload = _name_of(op)
    if STATE.within_formula and op.name.endswith("_scalar") and overload == "Tensor":
        overload = "Scalar"  # a formula of ATen calls that, and an operator of Python does not
    of_number = _OF_NUMBERS.get(name)
    if of_number is not None and not isinstance(args[1], Tensor):
        overload = of_number
    elif of_number == "Tensor_Scalar" and not isinstance(args[0], Tensor):
        overload = "Scalar_Tensor"
    if name in _WITHOUT_DIM and args[1:] and args[1] is None:
        overload = "default"
    if STATE.spelled is not None and STATE.spelled.dispatched:
        return STATE.spelled.name, overload.removeprefix("Tensor_")
    return name, overload


def _overload(name: str, overload: str, call: Callable[..., Any]) -> OpOverload:
    """The overload of an operator of ATen, a new one with this call where there is none."""
    packet = namespace("aten").packet(name)
    known = overload in packet.overloads()
    return getattr(packet, overload) if known else packet.define(overload, call)


def out_overload(op, args: tuple) -> OpOverload:
    """The overload that a call of an operator with `out=` stands for."""

    def call(*args, out, **named):
        return op.call_out(out, _bound(op, args, named))

    name, overload = _called(op, args)
    known = _OUT.get(f"{name}.{overload}")
    usual = "out" if overload in ("default", "dim") else f"{overload}_out"
    return _overload(name, known or usual, call)


def factory_overload(
    name: str, make: Callable[..., Any], count: int, given: tuple[str, ...], generator: bool
) -> OpOverload:
    """The overload that a call of a factory, `make`, stands for: of `count` arguments, those
    without trailing defaults under these names, and with a generator or not."""
    overload = "default"
    if name in ("arange", "empty"):
        overload = _FUNCTIONS[name][count - 1 if name == "arange" else 0]
    elif name == "eye" and "m" in given:
        overload = "m"
    elif name == "randint_like" and "high" in given:
        overload = "low_dtype"
    elif name == "randint" and "low" in given:
        overload = "low_generator" if generator else "low"
    elif generator and "generator" in _FUNCTIONS.get(name, ()):
        overload = "generator"
    return _overload(name, overload, make)


def sampler_overload(full_name: str) -> OpOverload:
    """The overload of this name ("bernoulli_.float") of a function that draws samples."""
    name, _, overload = full_name.partition(".")
    return _overload(name, overload or "default", _function(name))


def sampler_arguments(full_name: str, args: tuple) -> tuple:
    """The arguments of a sampler as ATen gets them: floats where these are the defaults, of which
    the last ones are left out."""
    defaults = _OF_SAMPLERS.get(full_name, ())
    first = len(args) - len(defaults)
    given = list(args[:first])
    for value, default in zip(args[first:], defaults, strict=True):
        given.append(float(value) if type(value) is int and type(default) is float else value)
    while len(given) > first and given[-1] == defaults[len(given) - first - 1]:
        given.pop()
    return tuple(given)


def _function(name: str) -> Callable[..., Any]:
    """The public function of a name, or the method of tensors."""
    return FUNCTIONS.get(name) or getattr(Tensor, name)


def given(op, args: tuple) -> tuple[tuple, dict]:
    """The arguments of a call as ATen gets them: without trailing defaults, and by name where they
    have one only."""
    if op.aten_arguments is not None:
        return op.aten_arguments(*args)
    name = _name_of(op)[0]
    keywords = _KEYWORDS | {"value"} if name in _SCALED else _KEYWORDS
    parameters = list(signature_of(op.definition).parameters.values())
    named = {}
    positional = [_listed(name, p.name, a) for p, a in zip(parameters, args, strict=False)]
    while positional:
        parameter, value = parameters[len(positional) - 1], positional[-1]
        is_default = _is_default(name, parameter, value)
        if parameter.name in keywords and not is_default:
            named[parameter.name] = value
        elif not is_default:
            break
        positional.pop()
    return tuple(positional), named


def _listed(name: str, parameter: str, value: Any) -> Any:
    """An argument as ATen gets it: sizes and dimensions in lists."""
    if type(value) is int and parameter == "dim" and name in _OF_DIMS:
        return [value]
    return list(value) if isinstance(value, tuple) else value


def _default_of(name: str, parameter: inspect.Parameter) -> Any:
    """The default of an operator's parameter; where it has none, that of ATen's."""
    if parameter.default is not parameter.empty or name.endswith("_backward"):
        return parameter.default
    usual = _DEFAULTS.get(parameter.name, parameter.empty)
    return _DEFAULTS.get(f"{name}.{parameter.name}", usual)


def _is_default(name: str, parameter: inspect.Parameter, value: Any) -> bool:
    """Whether an argument is what ATen's operator takes where none is given."""
    if type(value) not in (bool, int, float, str, type(None)):
        return False
    default = _default_of(name, parameter)
    return type(value) is type(default) and value == default


def _by_name(op, apply: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The call of an operator, or of another `apply` with its arguments, which may be given by
    name."""
    apply = apply or op

    def call(*args, **named):
        return apply(*_bound(op, args, named))

    return call


def _bound(op, args: tuple, named: dict) -> tuple:
    """The arguments of an operator, of which some may be given by name, and defaults left out."""
    parameters = list(signature_of(op.definition).parameters.values())
    if not named and len(args) == len(parameters):
        return args
    name = _name_of(op)[0]
    values = list(args)
    for p in parameters[len(args) :]:
        value = named.pop(p.name, _default_of(name, p))
        if value is p.empty:
            raise TypeError(f"aten::{name}() is missing value for argument '{p.name}'")
        values.append(value)
    if named:
        raise TypeError(f"aten::{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return tuple(values)


def publish() -> None:
    """Define `torch.ops.aten` from the operators that there are, and from other functions."""
    aten = namespace("aten")
    aten.packet("detach").define("default", Tensor.detach).is_view = True
    aten.packet("_local_scalar_dense").define("default", Tensor.item)
    aten.packet("lift_fresh").define("default", lambda tensor: tensor)
    for name, overloads in _FUNCTIONS.items():
        for overload in overloads:
            aten.packet(name).define(overload, _function(name))
    shared: dict[tuple[str, str], list] = {}
    for op in OPERATORS.values():
        name, overload = _name_of(op)
        shared.setdefault((name, overload), []).append(op)
    for (name, overload), ops in shared.items():
        call = _by_name(ops[0], ops[0].inplace if name.endswith("_") else None)
        call = call if len(ops) == 1 and name not in _SAMPLERS else FUNCTIONS.get(name, call)
        _define(name, overload, ops[0].aten_call or call).is_view = ops[0].is_view
        if name in _OF_NUMBERS:
            _define(name, _OF_NUMBERS[name], FUNCTIONS[name])


def _define(name: str, overload: str, call: Any) -> OpOverload:
    aten = namespace("aten")
    found = aten.packet(name).define(overload, call)
    inplace = getattr(Tensor, f"{name}_", None)
    if inplace is not None:
        written, of_written = _written(name, overload)
        aten.packet(written).define(of_written, inplace)
    return found
