"""The texts of all modules against torch, each option at a value that is not its default."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import pytest

import impl

torch = pytest.importorskip("torch")

# Values of required parameters, and of options whose default does not show their type, by name.
VALUES = {
    **dict.fromkeys(("in_features", "in1_features", "in2_features", "d_model", "embed_dim"), "4"),
    **dict.fromkeys(("in_channels", "out_channels", "num_channels", "num_features"), "4"),
    **dict.fromkeys(("out_features", "input_size", "hidden_size", "num_embeddings"), "5"),
    **dict.fromkeys(("embedding_dim", "num_groups", "groups", "nhead", "num_heads"), "2"),
    **dict.fromkeys(("kernel_size", "padding", "output_size", "stride", "norm_type", "size"), "2"),
    **dict.fromkeys(("upscale_factor", "downscale_factor", "num_layers", "kdim", "vdim"), "2"),
    **dict.fromkeys(("value", "threshold", "output_ratio", "eps", "momentum", "max_norm"), "0.5"),
    **dict.fromkeys(("weight", "pos_weight"), "torch.ones(3)"),
    "dim_feedforward": "8",
    "num_encoder_layers": "1",
    "num_decoder_layers": "2",
    "n_classes": "10",
    "cutoffs": "[2, 5]",
    "dim": "1",
    "unflattened_size": "(2, 2)",
    "normalized_shape": "(3,)",
    "scale_factor": "2",
    "align_corners": "True",
    "divisor_override": "3",
    "padding_idx": "0",
    "encoder_layer": "torch.nn.TransformerEncoderLayer(4, 2, 8)",
    "decoder_layer": "torch.nn.TransformerDecoderLayer(4, 2, 8)",
    "norm": "torch.nn.LayerNorm(4)",
    "modules": "[torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.Tanh()]",
    "values": "[torch.ones(2), 5, torch.ones(1, dtype=torch.float64)]",
    "parameters": "{'a': torch.ones(2), 'long': 5, 'c': torch.ones(2, 3)}",
    "distance_function": "torch.nn.PairwiseDistance()",
    "reduction": "'sum'",
    "mode": "'sum'",
    "padding_mode": "'circular'",
    "nonlinearity": "'relu'",
    "approximate": "'tanh'",
    "activation": "'gelu'",
    "dtype": "torch.float64",
    "p": "1.0",
}
# Options whose defaults make large modules, and which are always given.
LARGE = {"d_model", "nhead", "num_encoder_layers", "num_decoder_layers", "dim_feedforward"}
SKIPPED = {"device", "_random_samples", "_weight", "_freeze", "size_average", "reduce"}
SPECIAL = {
    "UpsamplingBilinear2d": {"mode": None},
    "Upsample": {"mode": "'bilinear'"},
    "ModuleDict": {"modules": "{'a': torch.nn.ReLU(), 'b': torch.nn.ModuleList()}"},
}
ABSENT = {"Container", "DataParallel", "LinearCrossEntropyLoss", "NLLLoss2d", "SyncBatchNorm"}
ABSTRACT = {"RNNBase", "RNNCellBase"}
NAMES = [
    name
    for name, kind in vars(torch.nn).items()
    if isinstance(kind, type) and issubclass(kind, torch.nn.Module) and name not in ABSENT
]


def value_of(name: str, parameter) -> str | None:
    """An expression of a value that is not the default, or None where there is none to try."""
    default = parameter.default
    known = {**VALUES, **SPECIAL.get(name, {})}
    if parameter.name in SKIPPED or parameter.kind in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    ):
        return None
    if parameter.name in known:
        return known[parameter.name]
    if isinstance(default, bool):
        return repr(not default)
    if isinstance(default, (int, float)):
        return repr(default + 1 if isinstance(default, int) else default / 2)
    return None


def calls(name: str) -> list[str]:
    """Calls of a module's constructor: the required arguments, and each option besides them."""
    parameters = inspect.signature(getattr(torch.nn, name)).parameters.values()
    values = {p.name: value_of(name, p) for p in parameters}
    required = {
        p.name: values[p.name]
        for p in parameters
        if (p.default is p.empty or p.name in LARGE) and values[p.name] is not None
    }
    options = {p.name: values[p.name] for p in parameters if p.name not in required}
    chosen = [required, *({**required, k: v} for k, v in options.items() if v is not None)]
    return [
        f"torch.nn.{name}({', '.join(f'{key}={value}' for key, value in given.items())})"
        for given in chosen
    ]


def outcome(library, call: str):
    """The texts of a module and its warnings, or the error of its constructor."""
    library.default_generator.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            module = eval(call, {"torch": library})
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            return type(error)
        texts = [str(warning.message) for warning in caught]
    copies = []
    if not hasattr(module, "initialize_parameters"):  # torch copies no lazy modules
        copies = [str(copy.deepcopy(module)), str(pickle.loads(pickle.dumps(module)))]
    nested = str(library.nn.Sequential(module, library.nn.ModuleList([module, module])))
    return [str(module), module.extra_repr(), nested, list(module.state_dict()), copies, texts]


@pytest.mark.parametrize("name", sorted(set(NAMES) - ABSTRACT))
def test_a_module_has_the_text_of_torch(name):
    for call in calls(name):
        ours, theirs = (outcome(library, call) for library in (impl, torch))
        assert ours == theirs, call


def test_all_modules_are_compared():
    ours = {n for n, k in vars(impl.nn).items() if isinstance(k, type)}
    assert set(NAMES) <= ours


def test_every_option_of_most_modules_is_tried():
    assert sum(len(calls(name)) for name in NAMES) > 500
