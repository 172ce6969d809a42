"""Operators: one kernel, one formula per input, and every spelling made from them.

    @operator(promote="float", elementwise=True, inplace=True)
    def sigmoid(self: Array) -> Array:
        return scipy.special.expit(self)

    sigmoid.gradient(self=lambda F, grad, result: grad * (1 - result) * result)

The *kernel* takes raw values (NumPy arrays, or NumPy scalars for 0-dim tensors) for the parameters
annotated `Array`, `Array | None` or `list[Array]`, everything else as given, and returns a new
array or a tuple of them. It never returns an argument or a view of one.

A *formula* names its inputs by its parameters, which determine the saved values: an input (the
tensor is saved), `result` or an output's name (the output is saved), any other argument of the
operator (its value), `x_shape`, `x_dtype` (NumPy), `x_layout` (shape, strides, offset), `x_dim`
(how many dimensions) and `x_device` of an input or output x, `grad` (of the first output),
`grads` (of all), `grad_<output>`, `needs` (per differentiable input). `F` holds the operations it
may use besides Python's operators: kernels when gradients are raw arrays, operators when they are
tensors (`create_graph=True`).

`sigmoid.forward(...)` states how tangents pass, where the default rule of
`impl.dispatch.forward_rules` is not the right one.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

from numpy import ndarray

from impl.core.registry import (
    FUNCTIONS,
    NATIVE,
    OPERATORS,
    array_ops,
    tensor_ops,
    tensor_ops_no_grad,
)
from impl.core.state import STATE
from impl.core.strides import owns_memory
from impl.dispatch import fast_path
from impl.dispatch.batching_rules import RULES, BatchingRule
from impl.dispatch.gradient_plan import OfArguments
from impl.dispatch.kernel_parameters import public_name, signature_of
from impl.dispatch.operator import Operator
from impl.dispatch.out import copy_out, named_out, store
from impl.dispatch.spellings import spelled
from impl.tensor.tensor import Tensor, new

Array: TypeAlias = Any  # in kernels' annotations: a raw value, array or NumPy scalar


def operator(
    *,
    node: str | None = None,
    promote: str | None = None,
    elementwise: bool = False,
    outputs: tuple[str, ...] = ("result",),
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool = False,
    fresh: bool = False,
    numbers: bool = True,
    torch_name: str | None = None,
    kind: type[Operator] = Operator,
    **facts: Any,
):
    """Define a primitive operator from its kernel.

    Args:
        node: the name of its node; by default the operator's, as `SigmoidBackward0`.
        promote: None; "arithmetic" (operands are cast to their common dtype); "float" (and
            integers to the default floating dtype).
        elementwise: the result takes its strides from the operands as ATen's TensorIterator does.
        outputs: the outputs' names when there are several.
        function, method, inplace, out: which public spellings to make from it.
        fresh: keep the kernel's own strides (they are torch's) instead of making it row-major.
        numbers: whether, of several operands, any may be a Python number.
        torch_name: the name in torch's messages, where the kernel has another one.
        kind: the class of the operator.
        facts: what else torch's tables say of the operator, each None or False by default:
            autocast: a CastPolicy, how autocast casts the operands.
            complex: a NoComplex, how complex numbers are refused.
            writes: how often torch's kernel writes its result while making it, which is the version
                of a result of inference tensors; a number, one for each output, or a function of
                the arguments that returns them.
            written_by: the operator, with `out=`, by which torch's kernel does that after its own
                checks, or a function of the arguments that returns its name or None.
            copies: the place of the operand that torch's kernel first copies into its result, or a
                function of the arguments that returns it or None.
            missing_counts: an operand that is not given counts as a normal tensor, because torch
                passes an undefined one.
            saved_as: a SavedAs, the attributes under which nodes show saved values.
            memory: a MemoryOverlap, which overlap of memory writes forbid.
            layout_sensitive: the formulas see to the order of dimensions in memory; by default as
                `elementwise`.
            reduces: an element-wise operator may reduce its result.
            compares: operands of several dtypes are compared, or taken for truth values, in their
                common one, which the layout of the result shows; the result is bool.
            grows: in place, the target takes the result's shape.
            lays_out: an `out=` that is resized takes the strides of the kernel's result.
            exact_number: half precision does not round a last operand of one element first.
            validated_numbers: the parameters that are numbers, which torch converts to the dtype of
                the operands, and takes as 0-dim tensors too.
            takes_real_part: of a complex gradient for a real input the real part goes on.
            view_backward: the function of an array that returns its gradient as a view.
    """

    def define(kernel) -> Operator:
        op = kind(kernel, node, promote, elementwise, outputs, fresh, **facts)
        op.numbers = op.numbers and numbers
        OPERATORS[op.name] = op
        call = public_function(op, kernel, out)
        setattr(array_ops, op.name, kernel if elementwise else _owning(kernel))
        setattr(tensor_ops, op.name, call)
        if function:
            FUNCTIONS[op.name] = call
        if method:
            setattr(Tensor, op.name, call)
        if inplace:
            written = public_function(op, kernel, False, inplace=True)
            setattr(Tensor, op.name + "_", written)
            if function:
                FUNCTIONS[op.name + "_"] = written
        op.name = torch_name or op.name
        return op

    return define


def _owning(kernel):
    """A kernel whose results own their memory, as gradients that an operator makes do."""

    @functools.wraps(kernel)
    def call(*args, **settings):
        result = kernel(*args, **settings)
        if type(result) is tuple:
            return tuple(map(owned, result))
        return owned(result)

    return call


def owned(raw):
    """An array in memory of its own, if it is a view; its dimensions stay in their order."""
    return raw if type(raw) is not ndarray or owns_memory(raw) else raw.copy("K")


def public_function(op: Operator, kernel, out: bool, inplace: bool = False):
    """A function with the kernel's own signature that applies the operator."""
    signature = signature_of(kernel)
    defaults: dict = {}
    pieces, starred = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            pieces.append("*")
            starred = True
        name = public_name(p.name)
        if p.default is p.empty:
            pieces.append(name)
        else:
            defaults[f"_d{len(defaults)}"] = p.default
            pieces.append(f"{name}=_d{len(defaults) - 1}")
    arguments = ", ".join(map(public_name, op.parameters))
    name = op.name + ("_" if inplace else "")
    body = ""
    if out:
        pieces += ([] if starred else ["*"]) + ["out=None"]
        body = f"    if out is not None: return op.call_out(out, ({arguments},))\n"
    header = f"def {name}({', '.join(pieces)}):\n{body}"
    general = f"op.inplace({arguments})" if inplace else f"op.slow_path({arguments})"
    scope = {"kernel": kernel, **defaults}
    made = fast_path.function(op, name, header, general, scope, inplace=inplace)
    made.__doc__ = kernel.__doc__
    made.__qualname__ = name
    made.out_operator = op
    return named_out(name)(made) if out else made


def alias(name: str, *others: str) -> None:
    """Publish an operator's or a composite's spellings, in-place ones included, by other names."""
    for other in others:
        for suffix in ("", "_"):
            spelling = other + suffix
            if name + suffix in FUNCTIONS:
                FUNCTIONS[spelling] = _shown(spelling, FUNCTIONS[name + suffix])
            if hasattr(Tensor, name + suffix):
                setattr(Tensor, spelling, _shown(spelling, getattr(Tensor, name + suffix)))


def _shown(spelling: str, call):
    """The function of another spelling: that of the name itself, unless it writes in place."""
    return spelled(spelling)(call) if spelling.endswith("_") else call


def function(
    name: str | None = None,
    *,
    method: bool = True,
    torch: bool = True,
    out: bool | str = False,
    derived: bool | tuple[int, ...] = True,
    storing=store,
    before=None,
    batching: BatchingRule | None = None,
):
    """Publish a composite: a Python function written with operators, as torch composes it.

    With `out` the function of the namespace takes `out=`; as a text it is the name of the ATen
    operator that writes it, which messages of refusals have, unless an operator without a
    derivative is not `derived`, or only the results at these places are; `storing` is how the
    result gets there, as `impl.dispatch.out.store` does by default, and `before` is called with
    `out` and the arguments first.
    `batching` is how it is applied to batched tensors, for composites that look at elements
    themselves or draw random numbers.
    """

    def define(composite):
        public = name or composite.__name__
        composite.__name__ = composite.__qualname__ = public  # which torch's messages may show
        rule = RULES[batching] if batching else None
        if torch:
            named = out if isinstance(out, str) else public
            call = taking_out(composite, named, storing, derived, before) if out else composite
            FUNCTIONS[public] = rule(call) if rule else call
        if method:
            setattr(Tensor, public, rule(composite) if rule else composite)
        return composite

    return define


def native(name: str | None = None):
    """Publish a function of torch._C that only torch's Python code calls."""

    def define(composite):
        NATIVE[name or composite.__name__] = composite
        return composite

    return define


def copying_out(composite):
    """A composite that copies its result into `out=` where that is given: recorded, if needed."""
    return taking_out(composite, storing=copy_out, derived=False)


def taking_out(
    composite,
    name: str | None = None,
    storing=store,
    derived: bool | tuple[int, ...] = True,
    before=None,
):
    """A composite that stores its result, or results, in `out=` where that is given."""

    @functools.wraps(composite)
    def call(*args, out=None, **named):
        if before is not None and out is not None:
            before(out, *args, **named)
        result = composite(*args, **named)
        if out is None:
            return result
        return storing(name or composite.__name__, out, result)

    outputs = derived if isinstance(derived, tuple) else None
    return named_out(name or composite.__name__, outputs)(call) if derived else call


def written(function, times=1):
    """Mark a formula whose gradient torch makes in place, in new memory: that counts as a write,
    and shows as the version of a `.grad` that was taken over. `times` is how often, or a function
    that says so from which outputs' gradients arrived and the gradient made; `OfArguments` finds
    either when the operator is called; a dictionary has these for a formula of several inputs."""
    function.writes = times
    return function


def counted(tensor: Tensor, times: int = 1) -> Tensor:
    """Increment the version: torch's formula writes into a tensor of zeros in place, which a
    recorded backward shows, and which under `vmap`, or a dispatch mode, is not in place
    (areAnyTensorSubclassLike)."""
    if STATE.before_write is None:
        tensor._storage.version += times
    return tensor


def outside_transforms(*_) -> int:
    """How often a gradient is written by a formula that is not in place where a saved tensor is
    wrapped by a transform of torch.func (areAnyTensorSubclassLike), be that over or not."""
    return 0 if STATE.passes else 1


outside_transforms.in_pass = 1  # type: ignore[attr-defined]


def unless_recorded(times):
    """How often a gradient is written when it is made; what records writes to it by itself.

    `times` is given which outputs' gradients arrived.
    """
    return lambda arrived, made: 0 if isinstance(made, Tensor) else times(*arrived)


def formula_operation(function):
    """Make a function of raw values (and its tensor twin) available to formulas as `F.name`.

    Use on the raw version; give the tensor version with `tensor_ops.name = ...`.
    """
    setattr(array_ops, function.__name__, function)
    return function


__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "Array",
    "OfArguments",
    "Operator",
    "alias",
    "array_ops",
    "copying_out",
    "counted",
    "formula_operation",
    "function",
    "new",
    "operator",
    "outside_transforms",
    "owned",
    "public_function",
    "taking_out",
    "tensor_ops",
    "tensor_ops_no_grad",
    "unless_recorded",
    "written",
]
