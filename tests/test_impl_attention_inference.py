"""Attention in evaluation, where PyTorch calls other kernels: values, masks, refusals, warnings."""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")

LAYER = "t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()"
ENCODER = f"t.nn.TransformerEncoder({LAYER}, 2).eval()"
ATTENTION = "t.nn.MultiheadAttention(8, 2, batch_first=True).eval()"
X = "t.randn(2, 3, 8)"
PADDING = "t.tensor([[False, False, True], [False, True, True]])"
ALL = "t.tensor([[False, False, True], [True, True, True]])"


def check(source: str, mode: str = "no_grad"):
    """The outcome of an expression that names `t`, and the input `x`, is torch's."""

    def program(t):
        t.manual_seed(0)
        with getattr(t, mode)():
            return eval(source, {"t": t, "x": t.randn(2, 3, 8), "flat": t.randn(3, 8)})

    assert shown(impl, program) == shown(torch, program)


def shown(library, program) -> str:
    """The outcome as a text, in which NaN equals NaN."""
    return repr(outcome(library, program, digits=3)).replace("-0.0", "0.0")


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "enable_grad"])
@pytest.mark.parametrize(
    "masks",
    [
        f"key_padding_mask={ALL}",
        f"key_padding_mask={ALL}, need_weights=False",
        f"key_padding_mask={ALL}.float() * -1e9, need_weights=False",
        "attn_mask=t.ones(3, 3).bool(), need_weights=False",
        "attn_mask=t.arange(36).view(4, 3, 3) % 2 == 0, average_attn_weights=False",
        f"attn_mask=t.ones(3, 3).triu(1).bool(), key_padding_mask={PADDING}",
        "is_causal=True, need_weights=False",
        "attn_mask=t.zeros(4, 4).bool()",
        "attn_mask=t.zeros(5, 3, 3).bool()",
        "key_padding_mask=t.zeros(2, 4).bool()",
    ],
)
def test_multihead_attention(mode, masks):
    check(f"{ATTENTION}(x, x, x, {masks})", mode)


@pytest.mark.parametrize(
    "module",
    [
        "t.nn.MultiheadAttention(8, 1, batch_first=True).eval()",
        "t.nn.MultiheadAttention(8, 2, batch_first=True, bias=False).eval()",
        "t.nn.MultiheadAttention(8, 2, batch_first=True, add_zero_attn=True).eval()",
        "t.nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True).eval()",
        "t.nn.MultiheadAttention(8, 2, batch_first=True, kdim=8).eval()",
        "t.nn.MultiheadAttention(8, 2).eval()",
        "t.nn.MultiheadAttention(8, 2, batch_first=True, dtype=t.double).eval()",
        "t.nn.MultiheadAttention(6, 2, batch_first=True).eval()",
    ],
)
def test_attention_that_does_not_fit_the_kernel(module):
    check(f"{module}(x, x, x, attn_mask=t.ones(3, 3).bool(), need_weights=False)")


@pytest.mark.parametrize("other", ["x, x + 0, x", "flat, flat, flat", "x[:0], x[:0], x[:0]"])
def test_operands_that_do_not_fit_the_kernel(other):
    check(f"{ATTENTION}({other}, need_weights=False)")


@pytest.mark.parametrize("options", ["", ", norm_first=True, activation='gelu'", ", dropout=0.0"])
@pytest.mark.parametrize(
    "masks",
    [
        f"src_key_padding_mask={ALL}",
        "src_mask=t.ones(3, 3).triu(1) * -1.0",
        f"src_mask=t.ones(3, 3).triu(1) * -1.0, src_key_padding_mask={PADDING}.float()",
        "src_mask=t.zeros(4, 4).bool()",
        "src_key_padding_mask=t.zeros(2, 4).bool()",
    ],
)
def test_encoder_layer(options, masks):
    check(f"t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True{options}).eval()(x, {masks})")


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad"])
@pytest.mark.parametrize(
    "masks",
    [
        f"src_key_padding_mask={PADDING}",
        f"src_key_padding_mask={ALL}",
        f"src_key_padding_mask={PADDING}.flip(1)",
        f"src_key_padding_mask={PADDING}.float() * -1",
        f"src_key_padding_mask={PADDING}, mask=t.ones(3, 3).triu(1).bool()",
        "src_key_padding_mask=t.zeros(2, 4).bool()",
    ],
)
def test_encoder_without_padding(mode, masks):
    check(f"{ENCODER}(x, {masks})", mode)


@pytest.mark.parametrize(
    "source",
    [
        f"t.nn.TransformerEncoder({LAYER}, 1, t.nn.LayerNorm(8)).eval()",
        f"t.nn.TransformerEncoder({LAYER}, 1, mask_check=False).eval()",
        f"t.nn.TransformerEncoder({LAYER}, 1, enable_nested_tensor=False).eval()",
    ],
)
def test_options_of_the_encoder(source):
    check(f"{source}(x, src_key_padding_mask={PADDING})")
    check(f"{source}(x, src_key_padding_mask={PADDING}.flip(1))")


@pytest.mark.parametrize("shape", ["(0, 3, 8)", "(2, 0, 8)"])
def test_nothing_to_attend_to(shape):
    check(f"{LAYER}(t.ones{shape})")
    check(f"{ENCODER}(t.ones{shape}, src_key_padding_mask=t.zeros{shape[:-4]}).bool())")


def test_a_layer_in_training_refuses_a_nested_tensor():
    def program(t):
        encoder = eval(ENCODER, {"t": t})
        encoder.layers[1].train()
        with t.no_grad():
            return encoder(t.ones(2, 3, 8), src_key_padding_mask=eval(PADDING, {"t": t}))

    assert outcome(impl, program) == outcome(torch, program)


def test_a_hook_keeps_a_layer_from_its_kernel():
    def program(t):
        t.manual_seed(0)
        layer = eval(LAYER, {"t": t})
        layer.linear1.register_forward_hook(lambda *_: None)
        with t.no_grad():
            return layer(t.ones(2, 3, 8), src_mask=t.ones(3, 3).bool())

    assert shown(impl, program) == shown(torch, program)


def test_the_flag_switches_it_off():
    def program(t):
        t.manual_seed(0)
        t.backends.mha.set_fastpath_enabled(False)
        try:
            with t.no_grad():
                return eval(f"{LAYER}(t.ones(2, 3, 8), src_key_padding_mask={ALL})", {"t": t})
        finally:
            t.backends.mha.set_fastpath_enabled(True)

    assert shown(impl, program) == shown(torch, program)
