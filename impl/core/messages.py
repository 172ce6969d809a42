"""The texts of torch's errors and warnings, verbatim."""

from __future__ import annotations

INFERENCE_WRITE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
INFERENCE_FLAG = (
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
)
INFERENCE_SAVE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)
INFERENCE_VERSION = "Inference tensors do not track version counter."
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)
FORWARD_OUT = (
    "Trying to use forward AD with {}_out that does not support it because it is an out= function"
)
OUT_GRADIENT = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
UNDIFFERENTIABLE = "derivative for {} is not implemented"
TRANSFORMED = (
    "You are attempting to call Tensor.{0}(){1} inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch transforms "
    "(e.g. grad, vjp, jacrev, jacfwd, hessian) or call {0}() outside of a function being "
    "transformed instead."
)
# The begin of torch's text, which goes on with the backends that have a kernel.
NO_KERNEL = (
    "Could not run 'aten::{}' with arguments from the '{}' backend. This could be because the "
    "operator doesn't exist for this backend, or was omitted during the selective/custom build "
    "process (if using custom build)."
)
ODD_OFFSET = "Tensor must have a storage_offset divisible by 2"
WRAPPER_STORAGE = "Cannot access storage of TensorWrapper"
SUBCLASS_ARRAY = ".numpy() is not supported for tensor subclasses."
SUBCLASS_LIST = ".tolist() is not supported for tensor subclasses, got {}"
NO_MEMORY = "Attempted to access the data pointer on an invalid python storage."
NO_POINTER = "Cannot access data pointer of Tensor that doesn't have storage"
CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
    "in-place operation (aten::{}) that would mutate a captured Tensor. This is not supported; "
    "please rewrite the function being transformed to explicitly accept the mutated Tensor(s) as "
    "inputs."
)
BACKWARD_TRANSFORMED = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
FUNCTIONAL = " (or perhaps using torch.autograd.functional.* APIs)"
FORWARD_UNKNOWN = "Trying to use forward AD with aten::{} that does not support it."
FORWARD_UNSUPPORTED = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented "
    "yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
    "template=feature-request.yml so that we can prioritize its implementation"
)
FORWARD_INVITATION = " or submit a PR adding the implementation to derivatives.yaml"
NO_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
    "...), it must override the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
NEGATIVE_CAPACITY = (
    f"SmallVector unable to grow. Requested capacity ({2**64 - 1}) is larger than maximum value "
    f"for size type ({2**32 - 1})"
)
LEAF_INPLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_LEAF_INPLACE = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
OUT_DTYPE = "Expected out tensor to have dtype {}, but got {} instead"
CASTABLE = "{0}: Expected {1} to be safely castable from {2} dtype, but got {1} with dtype {3}"
OUTPUT_SHAPE = "output with shape {} doesn't match the broadcast shape {}"
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
_MULTI_VIEW = (
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by "
    "an out-of-place one."
)
_FUNCTION_VIEW = (
    "This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)
_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
CREATE_GRAPH = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
CAPTURED_LEAF = (
    "A leaf node was passed to _will_engine_execute_node but we are currently running "
    "autograd.grad(). This is currently not supported."
)
PACK_RAISED = "the pack hook raised before saving data for this tensor"
PACK_WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)
ZEROS_WRITTEN = (
    "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if "
    "you want a mutable tensor."
)
ZEROS_COPIED = (
    "ZeroTensors are immutable. Please materialize the tensor using `.clone()`, if you want a "
    "mutable zero tensor."
)
HOOKS_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time."
)
HOOKS_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved variables after calling backward."
)
HOOKS_NONE = "Calling register_hooks on a saved tensor with value None is forbidden"
GRAD_VARIABLES = "`grad_variables` is deprecated. Use `grad_tensors` instead."
BOTH_GRAD_VARIABLES = (
    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
    "Please only use `grad_tensors`."
)
MATERIALIZE_UNUSED = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
    "allow_unused=False."
)
MATERIALIZE_EDGE = "materialize_grads cannot be used when the given input is a GradientEdge"
ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
    "gradient for other parts of the graph, please use torch.autograd.backward."
)
INPUTS_MAPPING = (
    "`inputs` argument to `{}()` must be a dict, not {}. Other Mapping types are not supported."
)
UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)
BATCHED_NONE = (
    "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type "
    "<class 'NoneType'>. We cannot vmap over non-Tensor arguments, please use None as the "
    "respective in_dim"
)
BATCHED_SCALAR = (
    "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor "
    "of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
)
BATCH_SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for "
    "the mapped dimension"
)
BATCHED_SHAPE = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
    "dimension. The sizes of the remaining dimensions are expected to match the shape of "
    "corresponding output, but a mismatch was detected: grad_output[{}] has a shape of {} and "
    "output[{}] has a shape of {}. If you only want some tensors in `grad_output` to be considered "
    "batched, consider using vmap."
)
DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
    "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
    "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
    "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
)
NON_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."
DETACH_INSTEAD = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
HELD_GRAD_DTYPE = (
    "Cannot set grad_dtype to '{}' because there is already a gradient with dtype '{}'. Please "
    "clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype "
    "matches the existing gradient's dtype."
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype '{}' to a tensor with grad_dtype '{}'. The "
    "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set "
    "the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
    "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
    "downstream systems that assume they match."
)
SCALAR_CONVERSION = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
ADD_FLOAT_ALPHA = "For integral input tensors, argument alpha must not be a floating point number."
ADD_BOOL_ALPHA = "Boolean alpha only supported for Boolean results."
SUBTRACT_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)
_INVERT = (
    "is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator "
    "instead."
)
SUBTRACT_BOOL = f"Subtraction, the `-` operator, with a bool tensor {_INVERT}"
NEGATE_BOOL = f"Negation, the `-` operator, on a bool tensor {_INVERT}"
UINT8_CONDITION = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
    "future version of PyTorch. Use a boolean condition instead."
)
OUT_BOOL_ONLY = "{} does not support non-boolean outputs."
# The dtypes without a legacy tensor type, which this message still names.
_YOUNG = ("bool", "bfloat16", "complex64", "complex128")

# -- transforms -----------------------------------------------------------------------------------

NO_RULE = "Batching rule not implemented for {}. We could not generate a fallback."
NO_VIEW_RULE = (
    "Batching rule not implemented for {}; the fallback path doesn't work on out= or view ops."
)

# -- custom Functions -----------------------------------------------------------------------------

SAVE_FOR_BACKWARD = "save_for_backward can only save variables, but argument {} is of type {}"
SAVE_FOR_FORWARD = (
    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
    "attributes on ctx."
)
NO_TUPLE = "autograd internal error: {} attribute is expected to be a tuple but is "
INPUT_GRAD_BUFFERS = (
    "input_grad_buffers can only be accessed while autograd is executing backward()"
)
MARK_DIRTY = "mark_dirty can only accept variables, but argument {} is of type {}"
MARK_NON_DIFFERENTIABLE = "mark_non_differentiable only accepts variable arguments, but got {1}"
MATERIALIZE_GRADS = (
    "set_materialize_grads received an invalid combination of arguments - got (), but expected "
    "(bool)"
)
SHARED_STORAGE = (
    "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
    "Note that calls to `set_()` are not tracked"
)
SAVED_VARIABLES = "'saved_variables' is deprecated; use 'saved_tensors'"
CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)
FUNCTION_ATTRIBUTE = "attribute '{}' of 'torch._C._FunctionBase' objects is not {}"
FUNCTION_INSTANCE = (
    "{} should not be instantiated. Methods on autograd functions are all static, so you should "
    "invoke them on the class itself. Instantiating an autograd function will raise an error in a "
    "future version of PyTorch."
)
LEGACY_FUNCTION = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)
NO_JVP = (
    "You must implement the jvp function for custom autograd.Function to use it with forward mode "
    "AD."
)
NO_VMAP = (
    "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
    "generate_vmap_rule=True."
)
BACKWARD_AND_VJP = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them."
)
ONCE_DIFFERENTIABLE = (
    "trying to differentiate twice a function that was marked with @once_differentiable"
)
LEAF_DIRTY = "a leaf Variable that requires grad has been used in an in-place operation."
DIRTY_NO_ARGUMENT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The "
    "inputs that are modified inplace must all be outputs of the Function."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
JVP_COUNT = (
    "Function's jvp returned an invalid number of forward gradients (expected {} but got {})"
)
JVP_KIND = "expected Variable or None (got {}) for grad output {}."
JVP_DTYPE = "Expected both tensor and its forward grad to be floating point or complex"
JVP_NOT_DIFFERENTIABLE = (
    "Function's jvp returned a gradient at position {}, but  the corresponding forward output is "
    "not a differentiable Tensor.You should return None at that position instead."
)
JVP_NOT_WRITTEN = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
    "forward is modifying an input inplace, then the jvp function must modify the corresponding "
    "gradient inplace."
)
JVP_NOT_RETURNED = (
    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward "
    "is modifying an input inplace, then the jvp function must modify the gradient inplace and "
    "return it as-is."
)
JVP_DIRTY = (
    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is "
    "no need to pass it to mark_dirty()."
)
JVP_NO_VIEW = (
    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
    "returning a view."
)
JVP_OTHER_VIEW = (
    "A custom Function is returning a view but the jvp is not returning a view of the given grad "
    "input."
)
RETURNED_AND_SAVED = (
    "An input that has been returned as-is as output is being saved for backward. This is not "
    "supported if you override setup_context. You should return and save a view of the input "
    "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
)


def operation(node) -> str:
    """The name of a node's operation: `Mul` for MulBackward0, `Pow1` for PowBackward1."""
    name = node.name()
    head, separator, tail = name.rpartition("Backward")
    if not separator or not (tail.isdigit() or not tail):
        return name
    return head if tail in ("", "0") else head + tail


def expected(condition: str) -> str:
    """The text of a check of ATen's that has none of its own (TORCH_CHECK)."""
    return (
        f"Expected {condition} to be true, but got false.  (Could this error message be improved?  "
        "If so, please report an enhancement request to PyTorch.)"
    )


def experimental(dtype: str) -> str:
    """The warning of an operator that makes a tensor of a complex dtype of half precision."""
    return f"{dtype} support is experimental and many operators don't support it yet."


def internal_assert(condition: str, file: str, line: int, text: str = "") -> str:
    """The text of a failed assertion of PyTorch's own (TORCH_INTERNAL_ASSERT)."""
    return (
        f'{condition} INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/{file}":{line}, please '
        f"report a bug to PyTorch. {text}"
    )


def not_expandable(dim: int, have: int, want: int, shape, size) -> str:
    """The error of expand() for a dimension that has another size than one."""
    return (
        f"The expanded size of the tensor ({want}) must match the existing size ({have}) at "
        f"non-singleton dimension {dim}.  Target sizes: {[*size]}.  Tensor sizes: {[*shape]}"
    )


def too_few_sizes(dtype, shape, size) -> str:
    """The error of expand() for fewer sizes than a tensor of that dtype and shape has."""
    return (
        f"expand({tensor_type(dtype)}{{{list(shape)}}}, size={list(size)}): the number of sizes "
        f"provided ({len(size)}) must be greater or equal to the number of dimensions in the "
        f"tensor ({len(shape)})"
    )


def tensor_type(dtype, on_meta: bool = False, sparse: bool = False) -> str:
    """The name of a tensor type: the legacy name, or the C++ type for dtypes without one and on the
    meta device."""
    if on_meta:
        return f"Meta{dtype.legacy}Type"
    if sparse:
        return f"torch.sparse.{dtype.legacy}Tensor"
    return f"CPU{dtype.legacy}Type" if dtype.name in _YOUNG else f"torch.{dtype.legacy}Tensor"


def stale(
    kind: str, shape, producer, number: int, version: int, expected: int, watched: bool
) -> str:
    """The error for a saved tensor, of a type of that name, that was modified in place; `watched`:
    anomaly mode is on."""
    what = f"[{kind} {list(shape)}]"
    if producer is not None:
        what += f", which is output {number} of {operation(producer)},"
    if watched:
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {what} is at version {version}; expected version {expected} instead. Hint: "
        f"{hint}"
    )


def view_misuse(creation: str, node, number: int, base_changed: bool) -> str:
    """The error for a write to a view, or to its base, that the view's creation forbids."""
    what = "its base or another view of its base has been" if base_changed else "is being"
    if creation in ("multi", "function") and node is not None:
        text = f"Output {number} of {operation(node)} is a view and {what} modified inplace."
    else:
        who = "A view was created in"
        if node is not None:
            who = f"Output {number} of {operation(node)} is a view of a view which was created in"
        if creation == "inference":
            text = f"{who} inference mode and {what} modified inplace in normal mode."
        else:
            text = f"{who} no_grad mode and {what} modified inplace with grad mode enabled."
    block = "inference_mode" if creation == "inference" else "no_grad"
    reasons = {"multi": _MULTI_VIEW, "function": _FUNCTION_VIEW}
    return f"{text} {reasons.get(creation, _AMBIGUOUS.format(block))}"


def broadcast_on_meta(shapes) -> str:
    """The error for shapes that do not broadcast on the meta device (torch._refs)."""
    common = [1] * max(map(len, shapes))
    for number, shape in enumerate(shapes):
        for dim in range(-1, -1 - len(shape), -1):
            if common[dim] == 1:
                common[dim] = shape[dim]
            elif shape[dim] not in (1, common[dim]):
                return (
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
                    f"Mismatching argument at index {number} had torch.Size({list(shape)}); but "
                    f"expected shape should be broadcastable to {common}"
                )
    return "shapes do not broadcast"


def broadcast(shapes) -> str:
    """The error for shapes that do not broadcast, which names the first mismatch."""
    a = list(shapes[0])
    for b in shapes[1:]:
        n = max(len(a), len(b))
        left, right = [1] * (n - len(a)) + list(a), [1] * (n - len(b)) + list(b)
        for dim in range(n - 1, -1, -1):
            if left[dim] != right[dim] and 1 not in (left[dim], right[dim]):
                return (
                    f"The size of tensor a ({left[dim]}) must match the size of tensor b "
                    f"({right[dim]}) at non-singleton dimension {dim}"
                )
        a = [y if x == 1 else x for x, y in zip(left, right, strict=True)]
    return "shapes cannot be broadcast"


def layout_contract(shape, strides, expected) -> str:
    """The warning for a gradient that violates the gradient layout contract of its leaf."""
    return (
        "grad and param do not obey the gradient layout contract. This is not an error, but may "
        f"impair performance.\ngrad.sizes() = {list(shape)}, strides() = {list(strides)}\n"
        f"param.sizes() = {list(shape)}, strides() = {list(expected)}"
    )


ADD_COMPLEX_ALPHA = "For non-complex input tensors, argument alpha must not be a complex number."

DISCARDED = "Casting complex values to real discards the imaginary part"

INTEGER_GRADIENT = internal_assert(
    "isDifferentiableType(grad.scalar_type())", "torch/csrc/autograd/engine.cpp", 1096
)
COMPLEX_GRADIENT = expected(
    "isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex)"
)

ONLY_FLOATING = "Only Tensors of floating point and complex dtype can require gradients"

# -- devices ------------------------------------------------------------------------------------

NO_DATA = "Cannot copy out of meta tensor; no data!"
META_ITEM = "Tensor.item() cannot be called on meta tensors"
TRACED = (
    "It appears that you're trying to get value out of a tracing tensor with aten.{}.default - "
    "erroring out! It's likely that this is caused by data-dependent control flow or similar.  It "
    "may be possible to trace this with dynamic shapes; try setting tracing_mode='symbolic' in "
    "your make_fx call."
)
META_NUMPY = (
    "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first."
)
NO_META_KERNEL = (
    "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or "
    "Meta kernel registered. You may have run into this message while using an operator with PT2 "
    "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs "
    "you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
META_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
    "data-independent implementation does not exist. This implementation returns a fake value, "
    "assuming all elements of the tensor are non-zero. To enable this registration, please set "
    "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
)
SET_DATA_DEVICE = (
    "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
    "tensor type."
)
OTHER_DEVICE = "Tensor on device {} is not on the expected device {}!"
OUT_DEVICE = (
    "Attempting to copy from device {} to device {}, but cross-device copies are not allowed!"
)
GRAD_DEVICE = (
    "attempting to assign a gradient with device type '{}' to a tensor with device type '{}'. "
    "Please ensure that the gradient and the tensor are on the same device"
)
UNBATCHED = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
    "over but `self` not being vmapped over {1}. Please try to use out-of-place operators instead "
    "of {0}. If said operator is being called inside the PyTorch framework, please file a bug "
    "report instead."
)
NUMPY_REQUIRES_GRAD = (
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
)
