"""Primitive operators: unwrap, promote, run the kernel, lay the result out, record."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.allocator import out_of_memory
from impl.core.dtypes import DIFFERENTIABLE, bfloat16, float16
from impl.core.meta_arrays import NeedsElements, holds
from impl.core.meta_functions import to_meta
from impl.core.named_types import type_name
from impl.core.registry import OPERATORS
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.core.zero_arrays import promoted
from impl.dispatch import dispatch_modes, fast_path, forward_rules, meta_kernels, sparse_path
from impl.dispatch.autocast import cast_operands
from impl.dispatch.derivatives import DerivativeInfo
from impl.dispatch.facts import (
    USUAL_NAMES,
    USUAL_OVERLAP,
    CastPolicy,
    MemoryOverlap,
    NoComplex,
    SavedAs,
)
from impl.dispatch.gradient_plan import INPUT
from impl.dispatch.kernel_parameters import camel, positional, public_name, signature_of
from impl.dispatch.not_implemented import of_kernel, refuse_integer_input, undifferentiable_dtype
from impl.dispatch.operator_lists import OperatorLists
from impl.graph.node_creation_hooks import created
from impl.tensor import batched_tensor, sparse_tensor
from impl.tensor.tensor import DISPATCHING, Tensor, requires_grad
from impl.tensor.torch_dispatch import asks

_BFLOAT16, _FLOAT16 = bfloat16.numpy, float16.numpy
_NUMBERS = (bool, int, float, complex, np.generic)


class Operator(OperatorLists):
    """A primitive operator; calling it applies it to tensors (see `impl.dispatch.definition`)."""

    # Which calls the fast path serves: "call", "view", or None. A subclass that changes how the
    # operator is called states its own.
    fast_path: str | None = "call"
    checks_devices = True  # whether all operands have to be on one device
    index_position: int | None = None  # of an operand that may be on the CPU where others are meta
    is_view = False  # whether the results are views of the first argument
    # Functions that a definition may register by the methods below.
    validate = None  # checks the raw arguments before they are promoted
    _kernel_on_large_meta = None  # one that checks no operand, for large ones
    _kernel_on_meta = None  # the kernel over arrays without elements
    _kernel_in_memory = None  # the kernel over an array that is written itself
    sparse_kernel = None  # the kernel for operands of which some are sparse
    sparse_inplace_kernel = None  # the one that writes, where it is another
    ends_history = False  # whether an integer result is not recorded, rather than refused
    aten_arguments = None  # those of ATen's operator, by place and by name, where they are others
    aten_call = None  # the call of it with those
    copied_by = "copy"  # the operator by which an operand is copied as `copies` states
    composition = None  # torch's kernel as a function that calls operators
    batching_function = None  # applies the operator to batched tensors of a level

    def __init__(
        self,
        kernel,
        node,
        promote,
        elementwise,
        outputs,
        fresh,
        *,
        autocast: CastPolicy | None = None,
        complex: NoComplex | None = None,
        writes: Any = 0,
        written_by: Any = None,
        copies: Any = None,
        missing_counts: bool = False,
        saved_as: SavedAs = USUAL_NAMES,
        memory: MemoryOverlap = USUAL_OVERLAP,
        layout_sensitive: bool | None = None,
        compares: bool = False,
        reduces: bool = False,
        grows: bool = False,
        lays_out: bool = False,
        exact_number: bool = False,
        validated_numbers: tuple[str, ...] = (),
        takes_real_part: bool = False,
        view_backward=None,
        batching: str | None = None,
    ) -> None:
        """See `impl.dispatch.definition.operator`."""
        name = kernel.__name__.rstrip("_")
        node_name = node or camel(name) + "Backward0"
        super().__init__(name, node_name, signature_of(kernel), outputs)
        self.definition = kernel
        self.kernel = positional(kernel)
        self.promote = promote
        self.complex = complex
        self.autocast = autocast
        self.writes = writes
        self.written_by = written_by
        self.copies = copies
        self.missing_counts = missing_counts
        self.saved_as = saved_as
        self.memory = memory
        self.elementwise = self.iterates = elementwise
        self._casts = promote is not None or compares
        self._casts_out = elementwise and promote is not None
        self.layout_sensitive = elementwise if layout_sensitive is None else layout_sensitive
        self.reduces = reduces
        self.compares = compares
        self.grows = grows
        self.lays_out = lays_out
        self.exact_number = exact_number
        self.validated_numbers = validated_numbers
        self.node_class._takes_real_part = takes_real_part
        self.node_class._view_backward = view_backward
        self.fresh = fresh
        self.batching = "pointwise" if elementwise and batching is None else batching
        # Whether Python numbers stand for 0-dim tensors.
        self.numbers = len(self.tensor_positions) > 1
        # The operands that must not overlap a target in memory.
        every = self.tensor_positions
        checked = {"others": every[1:], "second": every[1:2], "all": every, "none": ()}
        self.guarded = checked[memory.operands]

    def checked(self, validate) -> DerivativeInfo:
        """Decorate what raises, from the raw arguments as given, for those torch refuses."""
        self.validate = validate
        return validate

    def checks_out(self, validate, first: bool = False):
        """Register what raises for a wrong `out=`, from its NumPy dtype and the raw arguments;
        after the operands have been looked at, unless it is the `first` that is."""
        self._validate_out, self._out_first = validate, first
        return validate

    def casts_out(self, casts: bool, late: bool = False) -> None:
        """State whether an `out=` of another dtype is cast, as pointwise operators that promote do
        (TensorIterator's castcommon_dtype_to_outputs); and whether such an `out=` is resized
        `late`, after the kernel has run, as where that is not structured."""
        self._casts_out, self._cast_late = casts, late

    def on_slow_path(self, kernel):
        """Register the kernel for values that the fast path excludes, such as complex numbers."""
        self.kernel = positional(kernel)
        return kernel

    def on_meta(self, kernel):
        """Register the kernel for the meta device, which from MetaArrays, and the other arguments,
        makes that of the result; without one the kernel itself is asked."""
        self._kernel_on_meta = kernel
        return kernel

    def on_large_meta(self, kernel):
        """As `on_meta`, for a kernel that checks nothing: it is asked only where operands are too
        large for examples."""
        self._kernel_on_large_meta = kernel
        return kernel

    def sparse(self, kernel):
        """Register the kernel for operands of which at least one is a SparseArray."""
        self.sparse_kernel = positional(kernel)
        return kernel

    def sparse_inplace(self, kernel):
        """Register the kernel of a write in place to a SparseArray, where it is another."""
        self.sparse_inplace_kernel = kernel
        return kernel

    def in_memory(self, kernel):
        """Register the kernel of a write in place, for operands of one shape, dtype and layout: it
        writes its first argument."""
        self._kernel_in_memory = kernel
        return kernel

    def as_aten(self, arguments, call) -> None:
        """Register the arguments of ATen's operator, by place and by name, as a function of those
        of a call, and the function that takes these."""
        self.aten_arguments, self.aten_call = arguments, call

    def composes(self, function):
        """Register torch's kernel as a function of the arguments that calls operators, which is
        called where these show (`inference_mode.shows_kernel`); it returns NotImplemented for those
        for which `writes` and `copies` say enough."""
        self.composition = function
        return function

    def computed(self, *args):
        """The outputs of the kernel itself, with its writes counted, for a composition."""
        raws, _, strided = self._unwrap(args)
        on_meta = strided and meta_kernels.mixes(raws)
        result = self._call_meta_kernel(raws) if on_meta else self._call_kernel(raws)
        return self.wrap_outputs(result, raws, args, 0, strided)

    def on_arrays(self, *raws):
        """The kernel's result for arrays and numbers, checked and promoted as for tensors."""
        return self._call_kernel([*raws])

    def batches(self, function):
        """Register the batching rule, from the arguments and the level to the results; it returns
        NotImplemented for those for which there is none (see `impl.dispatch.vmap_rules`)."""
        self.batching_function = function
        return function

    def __call__(self, *args):
        """Apply to tensors (positional arguments, all of them), recording if needed."""
        return self.call(*args)

    @functools.cached_property
    def call(self):
        """What `general` does, written out for the common case (see `impl.dispatch.fast_path`)."""
        parameters = signature_of(self.definition).parameters.values()
        defaults = {f"_{p.name}": p.default for p in parameters if p.default is not p.empty}
        given = [
            f"{public_name(p)}=_{p}" if f"_{p}" in defaults else public_name(p)
            for p in self.parameters
        ]
        header = f"def {self.name}({', '.join(given)}):\n"
        names = ", ".join(map(public_name, self.parameters))
        scope = {"kernel": self.definition, **defaults}
        return fast_path.function(self, self.name, header, f"op.slow_path({names})", scope)

    def slow_path(self, *args):
        """Apply to tensors of any kind, in any mode."""
        if STATE.batched and (batch := batched_tensor.innermost(args)) is not None:
            return batch._applied(self, args)
        if STATE.autocast is not None:
            args = cast_operands(self.autocast, args)
        if sparse_tensor.EXIST and sparse_tensor.holds(args):
            return sparse_path.call(self, args)
        if self.validated_numbers:
            args = self._with_numbers(args)
        if self.list_edges:
            return self._apply_list(args)
        raws, mask, strided = self._unwrap(args)
        on_meta = strided and meta_kernels.mixes(raws)
        if on_meta and self.checks_devices:
            meta_kernels.check_same_device(self._on_one_device(args))
        if mask:
            self._check_saved(args, mask)
        if (STATE.dispatch_modes or DISPATCHING) and asks(args):
            return self._with_history(dispatch_modes.called(self, args), args, mask)
        if strided or STATE.below_autograd:  # strided as inference tensors are
            result = inference_mode.composed(self, args)
            if result is not NotImplemented:
                return result
        forward_rules.refuse(self, args)  # torch asks for a rule before it looks for a kernel
        try:
            result = self._call_meta_kernel(raws) if on_meta else self._call_kernel(raws)
        except MemoryError as error:
            raise out_of_memory(error) from None
        return self.wrap_outputs(result, raws, args, mask, strided)

    def _on_one_device(self, args) -> list:
        """The operands that have to be on one device."""
        free = self.index_position
        if free is not None and not args[0].is_meta:
            free = None
        return [args[i] for i in self.tensor_positions if i != free]

    def wrap_outputs(self, result, raws, args, mask: int, strided: bool = False):
        """The output, or the tuple of them, over the arrays that the kernel returned; recorded if
        `mask`."""
        outputs: tuple[Tensor, ...]
        if len(self.outputs) == 1:
            outputs = (self._output(result, raws, strided, args),)
        else:
            outputs = tuple(self._output(r, raws, False, args) for r in result)
        if mask:
            self.record(args, outputs, mask)
        elif strided or STATE.below_autograd:
            self._count_making(args, outputs)
        forward_rules.propagate(self, args, outputs)
        return outputs[0] if len(self.outputs) == 1 else outputs

    def _count_making(self, args, outputs) -> None:
        """Count the writes of torch's kernel, and record the copy of an operand that it makes."""
        source = inference_mode.count_making(self, args, outputs)
        if source is not None:
            for output in map(outputs.__getitem__, self.differentiable_outputs):
                OPERATORS[self.copied_by].record((output, source), (output,), 2)

    def _with_history(self, result, args, mask: int):
        """The result that a handler returned, recorded if `mask`."""
        outputs = (result,) if len(self.outputs) == 1 else tuple(result)
        there = [dispatch_modes.checked(output) is not None for output in outputs]
        if mask and all(there):
            self.record(args, outputs, mask)
        forward_rules.propagate(self, args, outputs)
        return result

    def _unwrap(self, args, written: bool = False):
        raws = [*args]
        strided = False
        for i in self.tensor_positions:
            a = args[i]
            if isinstance(a, Tensor):
                raws[i] = a._raw
                if a._strides is not None:
                    strided = True
            elif a is None and i in self.optional:
                continue
            elif not (self.numbers and isinstance(a, _NUMBERS)):
                # A method's own tensor is not counted.
                name, place = (self.name + "_", i) if written else (self.name, i + 1)
                raise TypeError(
                    f"{name}(): argument '{public_name(self.parameters[i])}' (position {place}) "
                    f"must be Tensor, not {type_name(a)}"
                )
        if self.list_position is not None:
            raws[self.list_position] = [
                None if t is None else t._raw for t in args[self.list_position]
            ]
        return raws, self.grad_input_mask(args), strided

    def grad_input_mask(self, args) -> int:
        """The bits of the arguments for which a gradient will be wanted; 0 if nothing records."""
        mask = 0
        if STATE.enabled and inference_mode.recordable(self, args):
            for bit, i in self.grad_inputs:
                a = args[i]
                if isinstance(a, Tensor) and (
                    a._node is not None
                    or a._requires_grad
                    or (a._view is not None and requires_grad(a))
                ):
                    mask |= bit
        return mask

    def check_saved(self, *args) -> None:
        """Raise RuntimeError for an inference tensor that the node of a call would save, for a
        function that looks at its arguments before it calls the operator."""
        if mask := self.grad_input_mask(args):
            self._check_saved(args, mask)

    def _check_saved(self, args, mask: int) -> None:
        """Raise RuntimeError for an inference tensor that a node would save: torch makes the node
        before it calls the kernel."""
        if not any(getattr(args[i], "_inference", False) for i in self.tensor_positions):
            return
        for kind, which in self.plan(mask).reads:
            if kind == INPUT and isinstance(args[which], Tensor):
                inference_mode.check_save(args[which])

    def _call_meta_kernel(self, raws):
        """The kernel's result, as MetaArrays, for raw values one of which is a MetaArray."""
        kernel = self._meta_kernel(raws)
        if kernel is None:
            return meta_kernels.call(self._call_kernel, raws)
        return self._call_kernel([*map(to_meta, raws)], kernel)

    def _meta_kernel(self, raws):
        """The kernel for raw values of the meta device; None where the operator has none of its
        own."""
        large = self._kernel_on_large_meta
        if self._kernel_on_meta is None and large is not None and meta_kernels.is_large(raws):
            return large
        return self._kernel_on_meta

    def _call_kernel(self, raws, kernel=None):
        if self.complex is not None and self.complex.refuses:
            self._refuse_complex(raws)
        if self.validate is not None:
            self.validate(*raws)
        rounded = self._promote(raws) if self.promote is not None else None
        try:
            result = (kernel or self.kernel)(*raws)
        except ValueError as error:
            if isinstance(error.__cause__, NeedsElements):  # a MetaArray was written to an array
                raise error.__cause__ from None
            shapes = [np.shape(raws[i]) for i in self.tensor_positions if raws[i] is not None]
            if self.elementwise and len(shapes) > 1:
                text = messages.broadcast_on_meta if holds(raws) else messages.broadcast
                raise RuntimeError(text(shapes)) from None
            raise RuntimeError(str(error)) from error
        except NotImplementedError as error:
            if self.elementwise and of_kernel(error):  # shapes are looked at before
                broadcast_shapes(
                    *(np.shape(r) for r in map(raws.__getitem__, self.tensor_positions))
                )
            raise
        return result if rounded is None else promoted(result, rounded)

    def record(self, args, outputs, mask: int) -> None:
        dtype = outputs[self.differentiable_outputs[0]]._raw.dtype
        if dtype not in DIFFERENTIABLE:
            output = outputs[self.differentiable_outputs[0]].dtype
            if not self.ends_history:
                raise undifferentiable_dtype(output)
            refuse_integer_input(args, output)
            return
        if dtype.kind == "c" and self.complex is not None:
            self.complex.check_derivative()
        node = self.node(args, None, mask, self.edges(args, mask), outputs)
        for number, index in enumerate(self.differentiable_outputs):
            output = outputs[index]
            output._node = node
            output._nr = number
        self.save_outputs(node, args, outputs)
        if STATE.node_creation_hooks:
            created(node)
