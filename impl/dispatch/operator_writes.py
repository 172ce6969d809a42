"""Operators in place and with `out=`: checks, the write, and its record."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import DIFFERENTIABLE, FLOATING, get_default_dtype, result_dtype
from impl.core.meta_arrays import is_meta
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.core.strides import element_strides, strides_of
from impl.core.tensor_iterator import elementwise_strides
from impl.core.warning import warn_once
from impl.dispatch import (
    aten,
    dispatch_modes,
    forward_rules,
    forward_writes,
    meta_kernels,
    sparse_path,
    spellings,
)
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import of_kernel
from impl.dispatch.out import (
    all_inference,
    check_out,
    fit,
    set_output,
    warn_discarded,
    warn_of_temporary,
    warn_temporary,
    write_out,
)
from impl.dispatch.output_layout import OutputLayout
from impl.dispatch.record import underived_write
from impl.dispatch.rows import parts_in_order
from impl.dispatch.type_promotion import common_dtype
from impl.graph.node_creation_hooks import created
from impl.kernels.casting import discards
from impl.tape import inplace
from impl.tensor import batched_tensor, forward_grad, memory_overlap, sparse_tensor, write
from impl.tensor.tensor import DISPATCHING, Tensor, requires_grad
from impl.tensor.torch_dispatch import asks
from impl.tensor.wrappers import refuse_captured


class OperatorWrites(OutputLayout):
    """The spellings of an operator that write a tensor of the caller's."""

    memory: MemoryOverlap
    guarded: tuple[int, ...]  # the operands that must not overlap a target in memory
    grows: bool
    lays_out: bool
    compares: bool
    iterates: bool  # whether it goes through memory as TensorIterator does
    _unwrap: Any
    _call_kernel: Any
    _call_meta_kernel: Any
    _check_saved: Any
    _validate_out: Any = None  # checks the dtype of out= and the raw arguments
    _out_first = False  # whether it does before the operands are checked
    _casts_out = False  # whether torch computes a result for an out= of another dtype beside it
    _cast_late = False  # whether such an out= is resized only after the kernel has run
    _kernel_on_shared_memory = None  # the kernel for an operand in the memory that is written
    _meta_function = None  # the shape and dtype of the result, from the raw arguments
    _rereads = True  # whether the kernel looks at the sizes of an operand that is out=
    _prepares_late = False  # whether that follows the checks of the dtype and memory of out=
    _parts = None  # the parts that a write in place writes
    _prepares_out = None  # the preparation of out= before the kernel runs

    def on_shared_memory(self, kernel):
        """Register the kernel of a write in place or to `out=` whose memory an operand has a part
        of: it takes the array that will be written, whose elements it may change, and the operands,
        which see that."""
        self._kernel_on_shared_memory = kernel
        return kernel

    def in_parts(self, parts):
        """Register the parts, (key, value) each and made one after the other from the raw
        arguments, that a write in place writes to its target instead of the kernel's result."""
        self._parts = parts
        return parts

    def structured(self, meta, rereads: bool = True, late: bool = False):
        """Register the meta function of a structured kernel: from the raw arguments it returns the
        shape and the dtype of the result, or raises the errors that come before any of `out=`.

        Then `out=` is refused for another dtype, and resized; so it has its new shape when the
        kernel refuses an operand. With None for the dtype any one is resized. An operand that is
        `out=` has that shape too when the kernel `rereads` it. An operator that is not structured
        may do all this `late`, after it has looked at the dtype and memory of `out=`.
        """
        self._meta_function, self._rereads, self._prepares_late = meta, rereads, late
        return meta

    def prepares_out(self, prepare, late: bool = False):
        """Register a preparation of `out=` before the kernel runs: a function of it and of the raw
        arguments that returns the kernel's own. It may be done `late`, as in `structured`."""
        self._prepares_out, self._prepares_late = prepare, late
        return prepare

    def inplace(self, *args):
        """Apply and write the result into the first argument, rewriting its history.

        Raises RuntimeError as torch does: on leaves and their views, forbidden views, memory that
        overlaps itself, a broadcast that would change the shape, a dtype that cannot be cast.
        """
        if STATE.batched and (batch := batched_tensor.innermost(args)) is not None:
            return batch._written(self, args)
        if STATE.transforms:
            refuse_captured(args[0], lambda: aten.written_name(self, args))
        spellings.forget()
        if sparse_tensor.EXIST and sparse_tensor.holds(args):
            return sparse_path.inplace(self, args)
        if self.validated_numbers:
            args = self._with_numbers(args)
        target = args[0]
        raws, mask, strided = self._unwrap(args, written=True)
        # Of the operators that write, torch's copy_ alone looks at the dtype that is written.
        looks = self.node_name == "CopyBackwards"
        tracked = mask and (not looks or target._raw.dtype in DIFFERENTIABLE)
        inplace.check(target, bool(tracked))
        if mask:
            self._check_saved((None, *args[1:]) if self.saves_target(mask) else args, mask)
        edges = self.edges(args, mask) if tracked else ()
        operands = [args[i] for i in self.guarded]
        memory = self.memory
        late = memory.disjoint == "late"
        seen = bool(STATE.dispatch_modes or DISPATCHING) and asks(args)
        if not (late or seen):
            self._refuse_complex_early(raws)
            if memory.preceded is not None:
                memory.preceded(*raws)
            memory_overlap.check_memory(
                target, operands, memory.within, memory.disjoint, memory.resolves
            )
        result = None
        if not (seen or self._parts):
            result = self._computed_for(target, args, raws, strided, operands if late else None)
        tangent = forward_writes.before_write(self, args)
        if not tracked:
            self._write(target, result, args, raws, seen)
            tangent.write()
            return target
        # Edges and saved inputs are those from before the write: afterwards the target has a new
        # history, and an operand that shares its memory is stale, as torch has it. If a formula
        # needs the overwritten values, a copy of them is saved, with its history.
        recorded = (target.clone(), *args[1:]) if self.saves_target(mask) else args
        node = self.node(recorded, None, mask, edges, (target,))
        self._write(target, result, args, raws, seen)
        history = inplace.rebase_history(target, node)
        self.save_outputs(node, args, (target,))
        if STATE.node_creation_hooks:
            created(history)
        tangent.write(node)
        return target

    def _computed_for(self, target: Tensor, args, raws, strided, operands):
        """The result of the kernel, which fits the target of a write in place; `operands` are those
        whose memory is looked at after the kernel, or None."""
        others = [args[i] for i in self.tensor_positions[1:]]
        try:
            result = self._call_kernel_into(target, others, raws, self.grows, strided)
        except Exception as error:
            forward_rules.refuse(self, args, written=True)
            if operands is not None and of_kernel(error):
                memory_overlap.check_memory(target, operands, self.memory.within, True)
            raise
        if operands is not None:
            memory_overlap.check_memory(target, operands, self.memory.within, True)
        if self.grows and np.shape(result) != target._raw.shape:
            write.resize(target, np.shape(result))
        memory_overlap.check_fits(target, result)
        self._warn_of_parts(target, result, raws)
        return result

    def _warn_of_parts(self, target: Tensor, result, raws) -> None:
        """Warn, in a comparison in place, of imaginary parts that the target does not take."""
        if self.compares and discards(self._common(raws), target._raw.dtype) and result.size:
            warn_once(messages.DISCARDED)

    def _write(self, target: Tensor, result, args, raws, seen: bool) -> None:
        """Write the result to the target, in the order of TensorIterator where that shows; a mode
        or a class that has `seen` the call has it written."""
        if seen:
            dispatch_modes.called(self, args, written=True)
            inference_mode.count(target)
            return
        if self._parts is not None:
            write.write_parts(target, self._parts(*raws))
            return
        on_meta = is_meta(result) or is_meta(target._raw)
        parts = parts_in_order(self, target, args, raws) if self.iterates and not on_meta else None
        if parts is None:
            write.write(target, result)
        else:
            write.write_parts(target, parts)

    def call_out(self, out, args):
        """Apply and write into `out=`; nothing is recorded but that there is no derivative.

        Raises RuntimeError as `check_out` does, and for batched tensors.
        """
        if STATE.batched and batched_tensor.innermost((*args, out)) is not None:
            raise RuntimeError(messages.NO_VIEW_RULE.format(f"aten::{self.name}.out"))
        if self.validated_numbers:
            args = self._with_numbers(args)
        raws, mask, strided = self._unwrap(args)
        record = self._recorded_out(out, args, mask)
        if (STATE.dispatch_modes or DISPATCHING) and asks((*args, out)):
            dispatch_modes.called_out(self, args, out)
            inference_mode.count(out)
            record()
            return out
        self._refuse_complex_early(raws)
        raws = self._admitted(out, args, raws)
        present = [args[i] for i in self.tensor_positions if args[i] is not None]
        # TensorIterator does not resize an output that is an operand, too.
        resizes = not (self.elementwise and any(value is out for value in present))
        try:
            raw = self._call_kernel_into(out, present, raws, resizes, strided or out.is_meta)
        except Exception:
            forward_rules.refuse(self, args)
            raise
        if not resizes:
            memory_overlap.check_shape(out._raw.shape, np.shape(raw))
        if self._casts_out and not self._cast_late:
            warn_temporary(out, raw, common_dtype(raw, present))
        self._write_out(out, raw, args, raws, strided)
        if self._casts_out or self.compares:
            warn_discarded(out, common_dtype(raw, present))
        if self.grad_inputs or raw.dtype.kind == "b":  # airy_ai has no derivative
            forward_grad.refuse_out(self.name, (*args, out))
        record()
        return out

    def _recorded_out(self, out, args, mask: int):
        """The function that records a write to `out=`, which it does of an operator without a
        derivative; one that has a derivative refuses `out=` where something requires grad."""
        if self.node_name == "NotImplemented" and isinstance(out, Tensor):
            given = [a for a in args if isinstance(a, Tensor)]
            return underived_write(f"aten::{self.name}", given, (out,))
        linked = mask != 0 or (self.list_edges and self._links_list(args))
        plain = not self.grad_inputs or all_inference((args, out))
        check_out(self.name, out, linked, plain)
        return lambda: None

    def _refuse_complex_early(self, raws) -> None:
        """Raise the refusal of complex numbers that comes before the checks of the written tensor:
        that of a meta function, not of a kernel."""
        if self.complex is not None and self.complex.refuses and self.complex.kernel is None:
            self._refuse_complex(raws)

    def _admitted(self, out: Tensor, args, raws):
        """The raw arguments after `out=` has passed the checks of its dtype and memory, and has
        been prepared before these or after them."""
        prepares = self._meta_function is not None or self._prepares_out is not None
        if prepares and not self._prepares_late:
            raws = self._prepared(out, args, raws)
        if self._validate_out is not None:
            self._check_out(out, raws)
        self._check_memory_of_out(out, args)
        return self._prepared(out, args, raws) if prepares and self._prepares_late else raws

    def _prepared(self, out: Tensor, args, raws):
        """The raw arguments after `out=`, which may be one of them, has got the shape of the result
        (see `structured` and `prepares_out`)."""
        try:
            if self._meta_function is not None:
                shape, dtype, *strides = self._meta_function(*raws)
                on_meta = any(is_meta(raws[i]) for i in self.tensor_positions)
                device = None if dtype is None else "meta" if on_meta else "cpu"
                if self.memory.disjoint == "late":
                    memory_overlap.check_overlap(out)
                set_output(out, shape, dtype, strides[0] if strides else None, device)
                if self._rereads and any(value is out for value in args):
                    raws, _, _ = self._unwrap(args)
            if self._prepares_out is not None:
                raws = self._prepares_out(out, *raws)
        except Exception:
            forward_rules.refuse(self, args)
            raise
        return raws

    def _check_memory_of_out(self, out, args) -> None:
        """Raise RuntimeError for an `out=` that shares memory with an operand as it may not."""
        memory = self.memory
        if self.elementwise and not (memory.disjoint or memory.within):
            operands = [args[i] for i in self.tensor_positions]
            memory_overlap.check_memory(out, operands, resolves=memory.resolves)
        if memory.copied:
            memory_overlap.check_memory(out, args[:1])
        if memory.disjoint:
            operands = [args[i] for i in self.guarded]
            memory_overlap.check_memory(out, operands, False, True, memory.resolves)

    def _write_out(self, out, raw, args, raws, strided: bool) -> None:
        """Write the result to `out=`, in the order of TensorIterator where that shows, and laid out
        as the kernel's result or as the operands where it has to be resized."""
        parts = None
        iterates = self.iterates and not (is_meta(out._raw) or is_meta(raw))
        if iterates and (out._raw.shape, out._raw.dtype) == (raw.shape, raw.dtype):
            parts = parts_in_order(self, out, args, raws)
        if parts is not None:
            write.write_parts(out, parts)
        elif self.lays_out:
            write_out(out, raw, strides_of(raw))
        elif self.elementwise and (strided or not raw.size) and raw.ndim:
            write_out(out, raw, self._elementwise_strides(raw, args))
        else:
            write_out(out, raw)

    def _check_out(self, out, raws) -> None:
        """Raise RuntimeError for an `out=` of a wrong dtype; a structured kernel looks at it after
        it has looked at its operands, and before it looks whether it knows their dtype."""
        try:
            self._validate_out(out._raw.dtype, *raws)
        except RuntimeError:
            if not self._out_first:
                self._look_at_operands(raws)
                if self.elementwise and not self.memory.within:
                    memory_overlap.check_overlap(out)
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

    def _call_kernel_into(self, target: Tensor, operands, raws, resizes: bool, strided: bool):
        """The kernel's result, for `target`, which one of the operands may share memory with."""
        if strided and meta_kernels.mixes(raws):
            return self._call_meta_kernel(raws)
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
                if self.elementwise:
                    shape = broadcast_shapes(*map(np.shape, present))
                    if not resizes:
                        memory_overlap.check_shape(target._raw.shape, shape)
                if (self.promote is not None or self._casts_out) and not self.compares:
                    memory_overlap.check_cast(result_dtype(present).numpy, target._raw.dtype)
                if self.elementwise and resizes and not self.grows:
                    self._fit_before_kernel(target, shape, present)
            written = getattr(error, "written", None)
            if written is not None and np.shape(written) == target._raw.shape:  # until there
                target._array()[...] = written
            values, reached = getattr(error, "computed", (None, None))
            if values is not None and values.dtype == target._raw.dtype:
                np.copyto(target._array(), values, where=reached)
            raise

    def _fit_before_kernel(self, target: Tensor, shape, present) -> None:
        """Resize `out=`, as TensorIterator does before the kernel refuses a dtype."""
        if self._casts_out:
            common = self._computed_in(present)
            warn_of_temporary(target, shape, common)
            if self._cast_late and target._raw.dtype != common:
                return
        layouts = [(np.shape(p), element_strides(p) if np.ndim(p) else ()) for p in present]
        fit(target, shape, elementwise_strides(shape, layouts))

    def _computed_in(self, present) -> np.dtype:
        """The NumPy dtype in which TensorIterator computes."""
        common = result_dtype(present)
        floats = self.promote == "float" and common.category < FLOATING
        return get_default_dtype().numpy if floats else common.numpy

    def _common(self, raws) -> np.dtype:
        """The NumPy dtype that the operands have in common."""
        return result_dtype([raws[i] for i in self.tensor_positions]).numpy
