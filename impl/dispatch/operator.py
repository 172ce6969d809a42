"""Primitive operators: unwrap, promote, run the kernel, lay the result out, record."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import (
    DIFFERENTIABLE,
    bfloat16,
    float16,
    result_dtype,
)
from impl.core.named_types import type_name
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.core.strides import strides_of
from impl.dispatch import fast_path, forward_rules
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
from impl.dispatch.kernel_parameters import camel, positional, public_name, signature_of
from impl.dispatch.not_implemented import of_kernel, refuse_integer_input
from impl.dispatch.out import check_out, warn_discarded, warn_temporary, write_out
from impl.dispatch.output_layout import OutputLayout
from impl.dispatch.record import underived_write
from impl.dispatch.rows import parts_in_order
from impl.dispatch.type_promotion import common_dtype
from impl.graph.edge import gradient_edge
from impl.graph.node_creation_hooks import created
from impl.kernels.casting import discards
from impl.tape import inplace
from impl.tensor import batched_tensor, forward_grad, memory_overlap, write
from impl.tensor.tensor import Tensor, requires_grad

_BFLOAT16, _FLOAT16 = bfloat16.numpy, float16.numpy
_NUMBERS = (bool, int, float, complex, np.generic)


class Operator(OutputLayout):
    """A primitive operator; calling it applies it to tensors (see `impl.dispatch.definition`)."""

    # Which calls the fast path serves: "call", "view", or None. A subclass that changes how the
    # operator is called states its own.
    fast_path: str | None = "call"
    is_view = False  # whether the results are views of the first argument
    # Functions that a definition may register by the methods below.
    validate = None  # checks the raw arguments before they are promoted
    _validate_out: Any = None  # checks the dtype of out= and the raw arguments
    _out_first = False  # whether it does before the operands are checked
    _casts_out = False  # whether torch computes a result for an out= of another dtype beside it
    _kernel_in_memory = None  # the kernel over an array that is written itself
    _kernel_on_shared_memory = None  # the kernel for an operand in the memory that is written

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
        writes: int = 0,
        written_by: Any = None,
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

    def casts_out(self, casts: bool) -> None:
        """State whether an `out=` of another dtype is cast, as pointwise operators that promote do
        (TensorIterator's castcommon_dtype_to_outputs)."""
        self._casts_out = casts

    def on_slow_path(self, kernel):
        """Register the kernel for values that the fast path excludes, such as complex numbers."""
        self.kernel = positional(kernel)
        return kernel

    def in_memory(self, kernel):
        """Register the kernel of a write in place, for operands of one shape, dtype and layout: it
        writes its first argument."""
        self._kernel_in_memory = kernel
        return kernel

    def on_shared_memory(self, kernel):
        """Register the kernel of a write in place or to `out=` whose memory an operand has a part
        of: it takes the array that will be written, whose elements it may change, and the operands,
        which see that."""
        self._kernel_on_shared_memory = kernel
        return kernel

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
        if STATE.batched and batched_tensor.holds(args):
            return batched_tensor.mapped(self.slow_path, args)
        if STATE.autocast is not None:
            args = cast_operands(self.autocast, args)
        if self.validated_numbers:
            args = self._with_numbers(args)
        if self.list_edges:
            return self._apply_list(args)
        raws, mask, strided = self._unwrap(args)
        try:
            result = self._call_kernel(raws)
        except Exception:
            forward_rules.refuse(self, args)  # torch asks for a rule before it looks for a kernel
            raise
        return self.wrap_outputs(result, raws, args, mask, strided)

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
        elif strided:  # as inference tensors are
            inference_mode.count_making(self, args, outputs)
        forward_rules.propagate(self, args, outputs)
        return outputs[0] if len(self.outputs) == 1 else outputs

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
                    or (a._view is not None and a.requires_grad)
                ):
                    mask |= bit
        return mask

    def _call_kernel(self, raws):
        if self.complex is not None and self.complex.refuses:
            self._refuse_complex(raws)
        if self.validate is not None:
            self.validate(*raws)
        rounded = self._promote(raws) if self.promote is not None else None
        try:
            result = self.kernel(*raws)
        except ValueError as error:
            shapes = [np.shape(raws[i]) for i in self.tensor_positions if raws[i] is not None]
            if self.elementwise and len(shapes) > 1:
                raise RuntimeError(messages.broadcast(shapes)) from None
            raise RuntimeError(str(error)) from error
        return result if rounded is None else result.astype(rounded)

    def _call_kernel_into(self, target: Tensor, operands, raws, resizes: bool):
        """The kernel's result, for `target`, which one of the operands may share memory with."""
        result = self._called_for(target, raws, resizes)
        kernel = self._kernel_on_shared_memory
        if kernel is None or (np.shape(result), result.dtype) != (target.shape, target._raw.dtype):
            return result
        if any(memory_overlap.share_memory(target, operand) for operand in operands):
            return kernel(target._array(), *raws)
        return result

    def _called_for(self, target: Tensor, raws, resizes: bool):
        """The kernel's result, for `target`. Whether that has its shape, unless it `resizes`, and
        takes its dtype is looked at before the kernel is looked for, as in TensorIterator."""
        try:
            return self._call_kernel(raws)
        except (IndexError, RuntimeError) as error:
            if of_kernel(error) and not hasattr(error, "written"):
                present = [raws[i] for i in self.tensor_positions if raws[i] is not None]
                if self.elementwise and not resizes:
                    shape = broadcast_shapes(*map(np.shape, present))
                    memory_overlap.check_shape(target._raw.shape, shape)
                if self.promote is not None and not self.compares:
                    memory_overlap.check_cast(result_dtype(present).numpy, target._raw.dtype)
            written = getattr(error, "written", None)
            if written is not None and not resizes:  # until there
                target._array()[...] = written
            raise

    def record(self, args, outputs, mask: int) -> None:
        dtype = outputs[self.differentiable_outputs[0]]._raw.dtype
        if dtype not in DIFFERENTIABLE:
            refuse_integer_input(args, outputs[self.differentiable_outputs[0]].dtype)
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

    def _apply_list(self, args):
        position = self.list_position
        assert position is not None
        tensors = args[position]
        raws = [*args]
        raws[position] = [t._raw if isinstance(t, Tensor) else t for t in tensors]
        for i in self.tensor_positions:
            if isinstance(args[i], Tensor):
                raws[i] = args[i]._raw
        result = self.kernel(*raws)
        outputs = (self._output(result, raws, False, args),)
        if STATE.enabled and inference_mode.recordable(self, args):
            flags = [isinstance(t, Tensor) and requires_grad(t) for t in tensors]
            if any(flags) and result.dtype in DIFFERENTIABLE:
                edges = [
                    gradient_edge(t) if f else None for t, f in zip(tensors, flags, strict=True)
                ]
                outputs[0]._node = self.node(args, outputs, 1, edges)
                if STATE.node_creation_hooks:
                    created(outputs[0]._node)
        forward_rules.propagate(self, args, outputs)
        return outputs[0]

    def inplace(self, *args):
        """Apply and write the result into the first argument, rewriting its history.

        Raises RuntimeError as torch does: on leaves and their views, forbidden views, memory that
        overlaps itself, a broadcast that would change the shape, a dtype that cannot be cast.
        """
        if STATE.batched and batched_tensor.holds(args):
            return batched_tensor.written(self.inplace, self.name, args)
        if self.validated_numbers:
            args = self._with_numbers(args)
        target = args[0]
        raws, mask, _ = self._unwrap(args, written=True)
        inplace.check(target, mask != 0)
        # Of the operators that write, torch's copy_ alone looks at the dtype that is written.
        looks = self.node_name == "CopyBackwards"
        tracked = mask and (not looks or target._raw.dtype in DIFFERENTIABLE)
        edges = self.edges(args, mask) if tracked else ()
        operands = [args[i] for i in self.guarded]
        memory = self.memory
        late = memory.disjoint == "late"
        if not late:
            memory_overlap.check_memory(
                target, operands, memory.within, memory.disjoint, memory.resolves
            )
        others = [args[i] for i in self.tensor_positions[1:]]
        try:
            result = self._call_kernel_into(target, others, raws, self.grows)
        except Exception:
            forward_rules.refuse(self, args, written=True)
            raise
        if late:
            memory_overlap.check_memory(target, operands, memory.within, True)
        if self.grows and np.shape(result) != target._raw.shape:
            write.resize(target, np.shape(result))
        memory_overlap.check_fits(target, result)
        if self.compares and discards(self._common(raws), target._raw.dtype) and result.size:
            warnings.warn(messages.DISCARDED, UserWarning, stacklevel=4)
        tangent = forward_rules.before_write(self, args)
        if not tracked:
            self._write(target, result, args, raws)
            tangent.write()
            return target
        # Edges and saved inputs are those from before the write: afterwards the target has a new
        # history, and an operand that shares its memory is stale, as torch has it. If a formula
        # needs the overwritten values, a copy of them is saved, with its history.
        recorded = (target.clone(), *args[1:]) if self.saves_target(mask) else args
        node = self.node(recorded, None, mask, edges, (target,))
        self._write(target, result, args, raws)
        history = inplace.rebase_history(target, node)
        self.save_outputs(node, args, (target,))
        if STATE.node_creation_hooks:
            created(history)
        tangent.write()
        return target

    def _write(self, target: Tensor, result, args, raws) -> None:
        """Write the result to the target, in the order of TensorIterator where that shows."""
        parts = parts_in_order(self, target, args, raws) if self.iterates else None
        if parts is None:
            write.write(target, result)
        else:
            write.write_parts(target, parts)

    def _common(self, raws) -> np.dtype:
        """The NumPy dtype that the operands have in common."""
        return result_dtype([raws[i] for i in self.tensor_positions]).numpy

    def call_out(self, out, args):
        """Apply and write into `out=`; nothing is recorded but that there is no derivative.

        Raises RuntimeError as `check_out` does.
        """
        if self.validated_numbers:
            args = self._with_numbers(args)
        raws, mask, strided = self._unwrap(args)
        record = None
        if self.node_name == "NotImplemented" and isinstance(out, Tensor):
            given = [a for a in args if isinstance(a, Tensor)]
            record = underived_write(f"aten::{self.name}", given, (out,))
        else:
            linked = mask != 0 or (self.list_edges and self._links_list(args))
            check_out(self.name, out, linked, plain=not self.grad_inputs)
        if self._validate_out is not None:
            self._check_out(out, raws)
        if self.elementwise and not (self.memory.disjoint or self.memory.within):
            operands = [args[i] for i in self.tensor_positions]
            memory_overlap.check_memory(out, operands, resolves=self.memory.resolves)
        if self.memory.disjoint:
            operands = [args[i] for i in self.guarded]
            memory_overlap.check_memory(out, operands, False, True, self.memory.resolves)
        present = [args[i] for i in self.tensor_positions if args[i] is not None]
        try:
            raw = self._call_kernel_into(out, present, raws, resizes=True)
        except Exception:
            forward_rules.refuse(self, args)
            raise
        if self._casts_out:
            warn_temporary(out, raw, common_dtype(raw, present))
        parts = None
        if self.iterates and (out._raw.shape, out._raw.dtype) == (raw.shape, raw.dtype):
            parts = parts_in_order(self, out, args, raws)
        if parts is not None:
            write.write_parts(out, parts)
        elif self.lays_out:
            write_out(out, raw, strides_of(raw))
        elif self.elementwise and (strided or not raw.size) and raw.ndim:
            write_out(out, raw, self._elementwise_strides(raw, args))
        else:
            write_out(out, raw)
        if self._casts_out or self.compares:
            warn_discarded(out, common_dtype(raw, present))
        forward_grad.refuse_out(self.name, (*args, out))
        if record is not None:
            record()
        return out

    def _check_out(self, out, raws) -> None:
        """Raise RuntimeError for an `out=` of a wrong dtype; a structured kernel looks at it after
        it has looked at its operands, and before it looks whether it knows their dtype."""
        try:
            self._validate_out(out._raw.dtype, *raws)
        except RuntimeError:
            if not self._out_first:
                self._look_at_operands(raws)
            raise

    def _look_at_operands(self, raws) -> None:
        """Raise the errors that torch raises before it runs the kernel."""
        try:
            self._call_kernel([*raws])
        except (IndexError, RuntimeError) as error:
            if not of_kernel(error):
                raise

    def _links_list(self, args) -> bool:
        """Whether a tensor of the list of tensors requires grad."""
        return any(requires_grad(t) for t in args[self.list_position])
