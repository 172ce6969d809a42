"""Primitive operators: unwrap, promote, run the kernel, lay the result out, record."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from impl import autocast, forward, inference, messages, straight
from impl.derivatives import Differentiable
from impl.dtypes import (
    CATEGORY,
    COMPLEX,
    DIFFERENTIABLE,
    FLOATING,
    REDUCED,
    bfloat16,
    category_of_number,
    float16,
    float32,
    get_default_dtype,
    result_dtype,
)
from impl.graph import gradient_edge
from impl.modes import STATE
from impl.refusals import check_complex_derivative, refusal_of_complex
from impl.storage import contiguous_strides, elementwise_strides, empty_strided, strides_of
from impl.tensor import Tensor, requires_grad

_BFLOAT16, _FLOAT16 = bfloat16.numpy, float16.numpy
_NUMBERS = (bool, int, float, complex, np.generic)


def new(raw, strides=None) -> Tensor:
    """A tensor over a new raw value; `strides` None stands for row-major."""
    tensor = object.__new__(Tensor)
    tensor._raw = raw
    tensor._strides = strides
    tensor._common = tensor._memory = tensor._node = tensor._view = None
    tensor._requires_grad = False
    tensor._nr = 0
    if STATE.path is None and STATE.inference:
        inference.mark(tensor)
    return tensor


class Operator(Differentiable):
    """A primitive operator; calling it applies it to tensors (see `impl.operator`)."""

    # The kernel over an array that is written itself, for operands that all look the same.
    in_memory = None
    validate = None  # checks the raw arguments before they are promoted
    validated_numbers: tuple[str, ...] = ()  # all it looks at when operands are floats, if floats
    validate_out = None  # checks the dtype of out= and the raw arguments
    layouts = None  # from the arguments, the (shape, strides) that the result's layout follows
    grows = False  # in place the target takes the result's shape
    lays_out = False  # an `out=` that is resized takes the strides of the kernel's result, too
    exact_number = False  # half precision does not round a last operand of one element first

    def __init__(self, kernel, node, promote, elementwise, outputs, fresh) -> None:
        name = kernel.__name__.rstrip("_")
        node_name = node or _camel(name) + "Backward0"
        super().__init__(name, node_name, inspect.signature(kernel), outputs)
        self.definition = kernel
        self.kernel = _positional(kernel)
        self.promote = promote
        self.refusal_of_complex = refusal_of_complex(name)
        self.elementwise = self.ordered = elementwise
        self.fresh = fresh
        # Whether Python numbers stand for 0-dim tensors.
        self.numbers = len(self.tensor_positions) > 1
        # What is written in place must not overlap itself or, in part, the operands; `overlaps`
        # allows the first (True, or what to warn of), `disjoint` forbids all sharing ("late": but
        # looks at shapes first), `guarded` are the positions of the operands.
        self.overlaps: bool | tuple[str, str] = False
        self.disjoint: bool | str = False
        self.guarded = self.tensor_positions[1:]
        # Whether what has the conj or the neg bit is copied before the operator sees it.
        self.resolves = True

    def checked(self, validate) -> Differentiable:
        """Decorate what raises, from the raw arguments as given, for those torch refuses."""
        self.validate = validate
        return validate

    def __call__(self, *args):
        """Apply to tensors (positional arguments, all of them), recording if needed."""
        return self.call(*args)

    @functools.cached_property
    def call(self):
        """What `general` does, written out for the common case (see `impl.straight`)."""
        parameters = inspect.signature(self.definition).parameters.values()
        defaults = {f"_{p.name}": p.default for p in parameters if p.default is not p.empty}
        given = [
            f"{public_name(p)}=_{p}" if f"_{p}" in defaults else public_name(p)
            for p in self.parameters
        ]
        header = f"def {self.name}({', '.join(given)}):\n"
        names = ", ".join(map(public_name, self.parameters))
        scope = {"kernel": self.definition, **defaults}
        return straight.function(self, self.name, header, f"op.general({names})", scope)

    def general(self, *args):
        """Apply to tensors of any kind, in any mode."""
        if STATE.batched:
            from impl import batched

            if batched.holds(args):
                return batched.mapped(self.general, args)
        if STATE.autocast is not None:
            args = autocast.operands(self.node_name, args)
        if self.list_edges:
            return self._apply_list(args)
        raws, mask, strided = self._unwrap(args)
        try:
            result = self._run(raws)
        except Exception:
            forward.refuse(self, args)  # torch asks for a rule before it looks for a kernel
            raise
        return self.finish(result, raws, args, mask, strided)

    def finish(self, result, raws, args, mask: int, strided: bool = False):
        """The output, or the tuple of them, of what the kernel returned; recorded if `mask`."""
        outputs: tuple[Tensor, ...]
        if len(self.outputs) == 1:
            outputs = (self._output(result, raws, strided, args),)
        else:
            outputs = tuple(self._output(r, raws, False, args) for r in result)
        if mask:
            self.record(args, outputs, mask)
        elif strided:  # as inference tensors are
            inference.count_making(self, args, outputs)
        forward.carry(self, args, outputs)
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
                    f"must be Tensor, not {type(a).__name__}"
                )
        if self.list_position is not None:
            raws[self.list_position] = [
                None if t is None else t._raw for t in args[self.list_position]
            ]
        return raws, self.mask(args), strided

    def mask(self, args) -> int:
        """The bits of the arguments for which a gradient will be wanted; 0 if nothing records."""
        mask = 0
        if STATE.enabled and inference.recordable(self, args):
            for bit, i in self.bits:
                a = args[i]
                if isinstance(a, Tensor) and (
                    a._node is not None
                    or a._requires_grad
                    or (a._view is not None and a.requires_grad)
                ):
                    mask |= bit
        return mask

    def _run(self, raws):
        if self.refusal_of_complex is not None:
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

    def _refuse_complex(self, raws) -> None:
        present = [raws[i] for i in self.tensor_positions if raws[i] is not None]
        d = result_dtype(present)
        if d.category == COMPLEX:
            raise self.refusal_of_complex(d)

    def _promote(self, raws):
        """Cast the operands to their common dtype; returns the result's if that is another one."""
        positions = self.tensor_positions
        first = None
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            d = getattr(value, "dtype", None)
            if d is None:
                category = category_of_number(value)
                if first is None or category > CATEGORY[first] or CATEGORY[first] < FLOATING:
                    break
            elif first is None:
                first = d
            elif d is not first:
                break
            # NumPy takes a Python number next to bfloat16 for a float32.
            if first is _BFLOAT16 or (first is _FLOAT16 and self.exact_number):
                break
        else:
            if self.promote != "float" or CATEGORY[first] >= FLOATING:
                return None
        present = [raws[i] for i in positions if raws[i] is not None]
        target = result_dtype(present)
        if self.promote == "float" and target.category < FLOATING:
            target = get_default_dtype()
        rounded = None
        if self.exact_number and target.numpy in REDUCED and np.size(raws[positions[-1]]) == 1:
            rounded, target = target.numpy, float32
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            if isinstance(value, (np.ndarray, np.generic)):
                if value.dtype != target.numpy:
                    raws[i] = value.astype(target.numpy)
            else:
                # Through an array, so that an integer out of range wraps around as torch's does.
                raws[i] = np.asarray(value).astype(target.numpy)[()]
        return rounded

    def mixes(self, args, output) -> bool:
        """Whether NumPy would promote what the formulas take in another way than torch does.

        It knows no weak tensors without dimensions, rounds numbers to half precision, and makes
        doubles of floats and integers.
        """
        if self.promote is None:
            return False
        dtype = output._raw.dtype
        for i in self.tensor_positions:
            value = args[i]
            if isinstance(value, Tensor):
                kind = value._raw.dtype
                if kind is not dtype and (
                    not value._raw.ndim
                    or dtype in REDUCED
                    or (kind.kind in "iu" and np.promote_types(kind, dtype) is not dtype)
                ):
                    return True
            elif value is not None and dtype in REDUCED:
                return True
        return False

    def _output(self, raw, raws, strided: bool, args) -> Tensor:
        if self.elementwise:
            if strided and raw.ndim:
                return new(*self._laid_out(raw, args))
        elif raw.ndim > 1 and self.fresh:
            return new(raw, strides_of(raw))
        elif raw.ndim > 1 and not raw.flags.c_contiguous:
            raw = np.ascontiguousarray(raw)
        return new(raw)

    def _laid_out(self, raw, args):
        if self.layouts is not None:
            operands = self.layouts(args)
        else:
            present = [args[i] for i in self.tensor_positions if args[i] is not None]
            common = raw.dtype
            if common == np.bool_:  # of a comparison, for which nobody is cast to that
                raws = [a._raw if isinstance(a, Tensor) else a for a in present]
                common = result_dtype(raws).numpy
            operands = [
                (a._raw.shape, self._strides_of_operand(a, common))
                if isinstance(a, Tensor)
                else ((), ())
                for a in present
            ]
        strides = elementwise_strides(raw.shape, operands)
        if strides is None:
            return np.ascontiguousarray(raw) if raw.ndim else raw, None
        laid = empty_strided(raw.shape, strides, raw.dtype)
        owned = np.empty_like(laid)  # as the engine asks of a gradient that it may add to
        laid = owned if owned.strides == laid.strides else laid
        laid[...] = raw
        return laid, strides

    def _strides_of_operand(self, tensor: Tensor, dtype) -> tuple[int, ...]:
        """A tensor's strides, or if it has to be cast those of what it is cast to."""
        strides = tensor.stride()
        if self.promote is None or tensor._raw.dtype == dtype:
            return strides
        shape = tensor._raw.shape
        return elementwise_strides(shape, [(shape, strides)]) or contiguous_strides(shape)

    def record(self, args, outputs, mask: int) -> None:
        dtype = outputs[self.differentiable_outputs[0]]._raw.dtype
        if dtype not in DIFFERENTIABLE:
            return
        if dtype.kind == "c":
            check_complex_derivative(self.name)
        node = self.node(args, None, mask, self.edges(args, mask), outputs)
        for number, index in enumerate(self.differentiable_outputs):
            output = outputs[index]
            output._node = node
            output._nr = number
        self.save_outputs(node, args, outputs)

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
        if STATE.enabled and inference.recordable(self, args):
            flags = [isinstance(t, Tensor) and requires_grad(t) for t in tensors]
            if any(flags) and result.dtype in DIFFERENTIABLE:
                edges = [
                    gradient_edge(t) if f else None for t, f in zip(tensors, flags, strict=True)
                ]
                outputs[0]._node = self.node(args, outputs, 1, edges)
        forward.carry(self, args, outputs)
        return outputs[0]

    def inplace(self, *args):
        """Apply and write the result into the first argument, rewriting its history.

        Raises RuntimeError as torch does: on leaves and their views, forbidden views, memory that
        overlaps itself, a broadcast that would change the shape, a dtype that cannot be cast.
        """
        from impl import inplace

        if STATE.batched:
            from impl import batched

            if batched.holds(args):
                return batched.written(self.inplace, self.name, args)
        target = args[0]
        raws, mask, _ = self._unwrap(args, written=True)
        inplace.check(target, mask != 0)
        tracked = mask and target._raw.dtype in DIFFERENTIABLE
        edges = self.edges(args, mask) if tracked else ()
        operands = [args[i] for i in self.guarded]
        late = self.disjoint == "late"
        inplace.check_memory(
            target, () if late else operands, self.overlaps, self.disjoint, self.resolves
        )
        try:
            result = self._run(raws)
        except NotImplementedError:
            # torch looks whether the result can be cast before it looks for a kernel.
            if self.promote is not None:
                present = [raws[i] for i in self.tensor_positions if raws[i] is not None]
                inplace.check_cast(result_dtype(present).numpy, target._raw.dtype)
            raise
        if late:
            inplace.check_memory(target, operands, True, True)
        if self.grows and np.shape(result) != target._raw.shape:
            inplace.resize(target, np.shape(result))
        inplace.check_fits(target, result)
        tangent = forward.before_write(self, args)
        if not tracked:
            inplace.write(target, result)
            tangent.write()
            return target
        # Edges and saved inputs are those from before the write: afterwards the target has a new
        # history, and an operand that shares its memory is stale, as torch has it. If the formula
        # needs what is about to be overwritten, a copy of it is saved, with its history.
        recorded = (target.clone(), *args[1:]) if self.saves_target(mask) else args
        node = self.node(recorded, None, mask, edges, (target,))
        inplace.write(target, result)
        inplace.rebase(target, node)
        self.save_outputs(node, args, (target,))
        tangent.write()
        return target

    def into(self, out, args):
        """Apply and write into `out=`; nothing is recorded.

        Raises RuntimeError when grad mode is on and an argument or `out` requires grad.
        """
        from impl import inplace

        raws, mask, _ = self._unwrap(args)
        inplace.check_out(self.name, out, mask != 0)
        if self.validate_out is not None:
            self.validate_out(out._raw.dtype, *raws)
        if self.disjoint:
            operands = [args[i] for i in self.guarded]
            inplace.check_memory(out, operands, False, True, self.resolves)
        raw = self._run(raws)
        inplace.write_out(out, raw, strides_of(raw) if self.lays_out else None)
        forward.refuse_out(self.name, (*args, out))
        return out


def _positional(kernel):
    """The kernel as the operator calls it, with keyword-only parameters by position too."""
    parameters = inspect.signature(kernel).parameters.values()
    if not any(p.kind is p.KEYWORD_ONLY for p in parameters):
        return kernel
    names = [p.name for p in parameters]
    call = [f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters]
    return eval(f"lambda {', '.join(names)}: _kernel({', '.join(call)})", {"_kernel": kernel})


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def public_name(parameter: str) -> str:
    """The name by which a caller passes a kernel's parameter: torch calls the first one `input`."""
    return "input" if parameter == "self" else parameter
