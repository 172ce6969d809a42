"""Complex samples: of operators that take complex numbers, and of those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.samples.operator import Operator
from conformance.samples.sample import Sample, fields_of

# The result for complex operands is real.
# fmt: off
REAL_VALUED = frozenset((
    "abs", "frobenius_norm", "l1_loss", "norm", "norm_except_dim", "std", "to", "var",
    "vector_norm",
))
# Those of the following that take complex numbers since torch 2.15, sampled as before.
COMPLEX_SINCE = frozenset(("alpha_dropout", "dropout", "dropout1d", "nan_to_num"))
# torch has these for real numbers only, or records them only for these.
REAL_ONLY = frozenset((
    "_pack_padded_sequence", "_weight_norm", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "alpha_dropout", "amax", "amin", "aminmax", "argmax", "argmin", "argsort", "atan2",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary_cross_entropy", "binomial",
    "ceil", "celu", "clamp", "clamp_max", "clamp_min", "cross_entropy", "cummax", "cummin",
    "dropout", "dropout1d", "elu", "embedding", "erf", "erfc", "floor", "fmax", "fmin", "fmod",
    "frac", "ge", "gelu", "glu", "grid_sample", "group_norm", "gt", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hypot", "instance_norm", "kthvalue", "layer_norm", "le", "leaky_relu",
    "log_softmax", "logit", "logsigmoid", "lt", "max", "max_pool1d", "max_pool2d", "max_pool3d",
    "maximum", "median", "min", "minimum", "mish", "mode", "mse_loss", "msort", "nan_to_num",
    "nanmedian", "nll_loss", "pdist", "prelu", "relu", "relu6", "remainder", "round",
    "scaled_dot_product_attention", "segment_reduce", "selu", "sign", "silu", "smooth_l1_loss",
    "softmax", "softplus", "softshrink", "sort", "threshold", "topk", "torch.adaptive_avg_pool1d",
    "torch.avg_pool1d", "torch.instance_norm", "torch.max_pool1d", "trunc", "xlogy",
))
# fmt: on

# One result is complex and the other real, for which a sample has no cotangents.
HALF_REAL = frozenset(("slogdet",))
# A real operand beside complex ones is refused, at once or in backward.
UNMIXED = frozenset(("lerp", "logaddexp"))


def complexes(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Complex operands: plain, conjugated lazily, beside real ones, twice differentiated, written;
    or the refusal of an operator that torch has not for them.
    """
    names = [
        entry.name
        for entry in operator.inputs
        if entry.differentiable and entry.name in fields_of(plain.call)
    ]
    if not names or operator.name in HALF_REAL:
        return
    sample = replace(plain, label="complex", probe="complex numbers", widths=("complex128",))
    if operator.name in REAL_ONLY:
        ending = "" if operator.name in COMPLEX_SINCE else ", which are refused"
        yield replace(sample, probe=f"complex numbers{ending}", result=None)
        return
    if operator.name in REAL_VALUED:
        sample = replace(sample, seeds="float64")
    else:
        yield replace(sample, widths=("complex64",))
    yield sample
    conjugated = plain.call
    for name in names:
        conjugated = conjugated.replace(f"{{{name}}}", f"{{{name}}}.conj()")
    yield replace(
        sample, label="complex-conjugated", probe="lazily conjugated operands", call=conjugated
    )
    if operator.unlinked:
        return
    if operator.twice_differentiable:
        yield replace(
            sample,
            label="complex-second-derivative",
            probe="complex numbers, the derivative of its derivative",
            ending="double",
        )
    if operator.pointwise and len(names) > 1:
        yield replace(
            sample,
            label="complex-second",
            probe="a real operand and complex ones"
            + (", which is refused" if operator.name in UNMIXED else ""),
            dtypes={names[0]: "float64"},
            result=None if operator.name == "lerp" else sample.result,
        )
    if operator.inplace:
        first = operator.inputs[0]
        refused = operator.name in REAL_VALUED
        yield replace(
            sample,
            label="complex-in-place-conjugated",
            probe="complex numbers, in place through a conjugated view"
            + (", which is refused" if refused else ""),
            call=operator.inplace,
            outputs=("h",),
            result=None if refused else first.shape,
            before=(f"h = {first.name} * 1", "mirror = h.conj()"),
            inplace=True,
            names={first.name: "mirror"},
            seeds=None,
        )
