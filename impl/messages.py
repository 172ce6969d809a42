"""The texts of torch's errors and warnings, word for word."""

from __future__ import annotations

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
LEAF_INPLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_LEAF_INPLACE = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
_MULTI_VIEW = (
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by "
    "an out-of-place one."
)
_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
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
# The dtypes that never had a tensor type of their own, which this message still names.
_YOUNG = ("bool", "bfloat16", "complex64", "complex128")


def operation(node) -> str:
    """How messages name a node's operation: `Mul` for MulBackward0, `Pow1` for PowBackward1."""
    name = node.name()
    head, separator, tail = name.rpartition("Backward")
    if not separator or not (tail.isdigit() or not tail):
        return name
    return head if tail in ("", "0") else head + tail


def stale(dtype, shape, producer, number: int, version: int, expected: int) -> str:
    """A saved tensor that was modified in place before it was needed."""
    kind = f"CPU{dtype.legacy}Type" if dtype.name in _YOUNG else f"torch.{dtype.legacy}Tensor"
    what = f"[{kind} {list(shape)}]"
    if producer is not None:
        what += f", which is output {number} of {operation(producer)},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {what} is at version {version}; expected version {expected} instead. Hint: "
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def view_misuse(creation: str, node, number: int, base_changed: bool) -> str:
    """A view that must not be written, or whose base was, because of how it was created."""
    what = "its base or another view of its base has been" if base_changed else "is being"
    if creation == "multi" and node is not None:
        text = f"Output {number} of {operation(node)} is a view and {what} modified inplace."
    else:
        who = "A view was created in"
        if node is not None:
            who = f"Output {number} of {operation(node)} is a view of a view which was created in"
        text = f"{who} no_grad mode and {what} modified inplace with grad mode enabled."
    return f"{text} {_MULTI_VIEW if creation == 'multi' else _AMBIGUOUS}"


def broadcast(shapes) -> str:
    """Shapes that do not broadcast, as torch reports the first clash."""
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
    """An accumulated gradient whose layout differs from its leaf's."""
    return (
        "grad and param do not obey the gradient layout contract. This is not an error, but may "
        f"impair performance.\ngrad.sizes() = {list(shape)}, strides() = {list(strides)}\n"
        f"param.sizes() = {list(shape)}, strides() = {list(expected)}"
    )
