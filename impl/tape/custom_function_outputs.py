"""The outputs of a custom Function: their grad_fn, views and declarations (_wrap_outputs).

Each kind of output is treated differently (csrc/autograd/custom_function.cpp): a new tensor gets
the node as its grad_fn; an input marked dirty gets it as after an in-place operator; an input
returned as-is is replaced by a view; a non-differentiable output is detached.
"""

from __future__ import annotations

from impl.core import inference_mode, messages
from impl.core.dtypes import DIFFERENTIABLE
from impl.core.grad_mode import no_grad
from impl.core.registry import tensor_ops_no_grad
from impl.core.warning import warn
from impl.graph.input_metadata import tensor_meta
from impl.tape import custom_function_jvp, inplace
from impl.tape.saved_variable import SavedVariable
from impl.tensor.aliases import detach
from impl.tensor.geometry import geometry
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_function import overrides
from impl.tensor.views import FUNCTION, MULTI, view_of


def outputs(node, tensors: list[Tensor], returned: tuple, recorded: bool, split: bool) -> list:
    """The outputs of a Function: `returned`, with a grad_fn on its tensors.

    `tensors` are the tensor arguments; `recorded`: whether the node is recorded; `split`: whether
    the Function has a setup_context. Raises RuntimeError and TypeError for invalid declarations
    (see `reference/spec/10-functions.md`).
    """
    saved = _declared_saved(node, recorded)
    kept = {*_identities(saved), *_identities(node.saved_for_forward)} if split else set()
    constant = _declared(node, "non_differentiable", messages.MARK_NON_DIFFERENTIABLE)
    dirty = _declared(node, "dirty_tensors", messages.MARK_DIRTY, written=True)
    placing = _Placing(node if recorded else None, tensors, returned, constant, dirty, kept)
    results = placing.outputs()
    custom_function_jvp.push(node, tensors, placing, results)
    if recorded:
        node._saved = _saved(saved, _identities(results))
        node._outputs = [
            _described(result)
            if node._materialize_non_diff_grads or placing.is_differentiable(value)
            else None
            for value, result in zip(returned, results, strict=True)
        ]
    node.to_save = node.saved_for_forward = None
    return results


def _saved(tensors, outputs: set[int]) -> list[SavedVariable | None]:
    entries: list[SavedVariable | None] = []
    for tensor in tensors:
        entry = None
        if tensor is not None:
            entry = SavedVariable(tensor, id(tensor) in outputs and tensor._node is not None)
            entry.view = None  # a dirty view is unpacked with this node as its grad_fn
        entries.append(entry)
    return entries


def _described(result):
    return (result._raw.shape, result._raw.dtype) if isinstance(result, Tensor) else None


def describe(node, tensors) -> None:
    """Store the metadata of incoming gradients; a None among `tensors` is not differentiable."""
    metas = [None if t is None else tensor_meta(t._raw) for t in tensors]
    if len(metas) == 1:
        node._meta = metas[0]
    else:
        node._metas = tuple(metas)


def _declared_saved(node, recorded: bool) -> tuple:
    saved = node.to_save
    if saved is None:
        return ()
    if not isinstance(saved, tuple):
        raise RuntimeError(messages.NO_TUPLE.format("to_save"))
    if recorded:
        for i, value in enumerate(saved):
            if not (value is None or isinstance(value, Tensor)):
                raise TypeError(messages.SAVE_FOR_BACKWARD.format(i, type(value).__name__))
    return saved


def _declared(node, attribute: str, refusal: str, written: bool = False) -> tuple:
    """The tensors declared by a ctx method; if `written`, their versions are incremented."""
    declared = getattr(node, attribute)
    setattr(node, attribute, None)
    if declared is None:
        return ()
    if not isinstance(declared, tuple):
        raise RuntimeError(messages.NO_TUPLE.format(attribute))
    for i, value in enumerate(declared):
        if not isinstance(value, Tensor):
            raise RuntimeError(refusal.format(i, type(value).__name__))
        if written:
            inference_mode.count(value)
    return declared


def _identities(tensors) -> set[int]:
    return {id(t) for t in tensors if isinstance(t, Tensor)} if tensors else set()


class _Placing:
    """The processing of one call's outputs; `node` is None if nothing is recorded."""

    def __init__(self, node, tensors, returned: tuple, constant, dirty, kept: set[int]) -> None:
        self.node = node
        self.returned = returned
        self.arguments = _identities(tensors)
        self.constant = _identities(constant)
        self.dirty = _identities(dirty)
        self.kept = kept  # saved tensors, which must not be returned as-is

    def is_differentiable(self, value) -> bool:
        """Whether a returned value is a differentiable tensor: by its dtype, and not marked
        otherwise."""
        if not isinstance(value, Tensor) or id(value) in self.constant:
            return False
        return value._raw.dtype in DIFFERENTIABLE

    def outputs(self) -> list:
        """The outputs, one for each entry of `returned`."""
        results = []
        metas: list = []
        for number, value in enumerate(self.returned):
            differentiable = False
            if isinstance(value, Tensor):
                differentiable = self.node is not None and self.is_differentiable(value)
                value = self._placed(value, number, differentiable)
            results.append(value)
            metas.append(value if differentiable else None)
        if self.node is not None:
            describe(self.node, metas)
            self.node._num_inputs = len(metas)
        if sum(meta is not None for meta in metas) > 1:
            for value in results:
                if isinstance(value, Tensor) and value._view is not None:
                    value._view.creation = MULTI
        if not self.dirty <= _identities(self.returned):
            raise RuntimeError(messages.DIRTY_NOT_RETURNED)
        return results

    def _placed(self, value: Tensor, number: int, differentiable: bool) -> Tensor:
        is_argument, is_dirty = id(value) in self.arguments, id(value) in self.dirty
        result = value
        if not differentiable:
            result = self._constant(value, is_argument, is_dirty)
        elif is_dirty:
            self._rewrite(value, number, is_argument)
        else:
            if is_argument:
                result = self._view_of_itself(value)
            _set_history(result, self.node, number)
        if result._view is not None and not (is_argument and is_dirty):
            result._view.creation = FUNCTION
        return result

    def _constant(self, value: Tensor, is_argument: bool, is_dirty: bool) -> Tensor:
        if not requires_grad(value):
            return self._view_of_itself(value) if is_argument and not is_dirty else value
        if is_argument:
            return detach(value)
        if value._view is None:
            value.detach_()
        return value

    def _rewrite(self, value: Tensor, number: int, is_argument: bool) -> None:
        # Not `grad_fn`: after the increment of the version it would regenerate a view's too early.
        if value._node is None and requires_grad(value):
            raise RuntimeError(messages.LEAF_DIRTY)
        if not is_argument:
            if value._view is not None:
                raise RuntimeError(messages.DIRTY_NO_ARGUMENT)
            warn(messages.DIRTY_NO_ARGUMENT)
        if value._view is not None:
            if len(self.returned) > 1:
                raise RuntimeError(messages.DIRTY_VIEW)
            inplace.check_view(value)
        value._own_grad = None
        inplace.rebase_history(value, self.node, number)

    def _view_of_itself(self, value: Tensor) -> Tensor:
        if id(value) in self.kept:
            raise RuntimeError(messages.RETURNED_AND_SAVED)
        if overrides(value):
            with no_grad():
                return value.view_as(value)
        if value._strides is None or 1 not in value._raw.shape:
            return view_of(value, geometry(value))
        # A view has strides of its own in dimensions of size one.
        return view_of(value, geometry(tensor_ops_no_grad.view(value, value._raw.shape)))


def _set_history(tensor: Tensor, node, number: int) -> None:
    tensor._node, tensor._nr = node, number
    tensor._hooks = None
    if tensor._view is not None:
        tensor._view.version = tensor._storage.version
