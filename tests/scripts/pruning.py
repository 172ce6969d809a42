"""Pruned parameters: masks, draws, hooks and errors, printed."""

import pickle

import torch
from torch import nn
from torch.nn.utils import prune


def tried(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:200].replace("torch", "impl"))


torch.manual_seed(0)
for function in (prune.random_unstructured, prune.l1_unstructured):
    for amount in (0, 0.3, 3, 1.0, 100, -1, 1.5, "a", True):
        layer = nn.Linear(3, 4)
        tried(lambda: function(layer, "weight", amount).weight_mask)
        print(prune.is_pruned(layer), list(layer.state_dict()), list(layer._parameters))
for amount in (0, 0.5, 1, 100):
    for dim in (0, -1, 2, -3, 4):
        tried(lambda: prune.random_structured(nn.Conv1d(2, 3, 4), "weight", amount, dim).weight)
        for n in (1, float("inf"), "fro", "nuc"):
            for layer in (nn.Conv1d(2, 3, 4), nn.Conv2d(2, 3, 2)):
                tried(lambda: prune.ln_structured(layer, "weight", amount, n, dim).weight_mask)
tried(lambda: prune.random_structured(nn.Linear(2, 2), "bias", 1, 0))

layer = nn.Linear(4, 3)
prune.l1_unstructured(layer, "weight", 2)
prune.random_unstructured(layer, "weight", 0.5)
prune.ln_structured(layer, "weight", 1, 2, 0)
prune.random_structured(layer, "weight", 1, 1)
(hook,) = layer._forward_pre_hooks.values()
print(layer.weight, type(hook).__name__, [type(each).__name__ for each in hook], len(hook))
layer(torch.randn(2, 4)).sum().backward()
print(layer.weight_orig.grad, layer.weight.grad_fn.name())
print(vars(pickle.loads(pickle.dumps(hook[0]))))
tried(lambda: prune.remove(layer, "weight").weight)
print(layer.weight.is_leaf, list(layer._buffers), list(layer._parameters), prune.is_pruned(layer))
tried(lambda: prune.remove(layer, "weight"))

model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
pairs = [(model[0], "weight"), (model[2], "weight")]
for options in (
    {"pruning_method": prune.L1Unstructured, "amount": 0.4},
    {"pruning_method": prune.RandomUnstructured, "amount": 3},
    {"pruning_method": prune.LnStructured, "amount": 0.4, "n": 2},
    {"pruning_method": prune.L1Unstructured, "amount": 0.4, "importance_scores": 3},
    {
        "pruning_method": prune.L1Unstructured,
        "amount": 2,
        "importance_scores": {pairs[0]: torch.ones(3, 3)},
    },
):
    tried(lambda: prune.global_unstructured(pairs, **options))
    print(model[0].weight_mask, model[2].weight, list(model.state_dict()))
tried(lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1))


class EverySecond(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


class Odd(EverySecond):
    PRUNING_TYPE = "odd"


class WithoutDim(EverySecond):
    PRUNING_TYPE = "structured"


layer = nn.Linear(4, 2)
tried(lambda: prune.custom_from_mask(layer, "bias", torch.tensor([0, 1])).bias)
tried(lambda: prune.custom_from_mask(layer, "weight", torch.ones(3)))
tried(lambda: prune.l1_unstructured(layer, "weight", 1, importance_scores=torch.ones(3)))
tried(lambda: prune.l1_unstructured(layer, "absent", 1))
print(list(layer._parameters))
for method in (EverySecond, EverySecond, Odd, WithoutDim):
    tried(lambda: type(method.apply(layer, "weight")).__name__)
    print(layer.weight_mask, layer.weight, len(layer._forward_pre_hooks))
tried(lambda: prune.BasePruningMethod())
t = torch.tensor([3.0, 1.0, 2.0])
tried(lambda: prune.L1Unstructured(1).prune(t))
tried(lambda: prune.L1Unstructured(1).prune(t, torch.tensor([0.0, 1, 1]), torch.arange(3.0)))
tried(lambda: prune.L1Unstructured(1).prune(t, importance_scores=t[1:]))
tried(lambda: prune.PruningContainer(3))
tried(lambda: prune.PruningContainer(prune.L1Unstructured(1), prune.L1Unstructured(2)))

torch.manual_seed(1)
skipped = nn.utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64)
print(skipped.weight.shape, skipped.weight.dtype, skipped.weight.requires_grad, torch.rand(1))
for kind in (3, torch.Tensor, nn.ReLU):
    tried(lambda: nn.utils.skip_init(kind))
convolutions = nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv3d(2, 3, 2))
nn.utils.convert_conv2d_weight_memory_format(convolutions, torch.channels_last)
nn.utils.convert_conv3d_weight_memory_format(convolutions, torch.channels_last_3d)
print([(type(c.weight).__name__, c.weight.stride()) for c in convolutions])

layer.register_forward_hook(lambda *given: print("called", len(given)), with_kwargs=True)
handle = layer.register_forward_hook(lambda *given: None, always_call=True)
print(len(layer._forward_hooks), len(layer._forward_hooks_with_kwargs))
print(len(layer._forward_hooks_always_called), layer(torch.ones(4)).shape)
handle.remove()
print(len(layer._forward_hooks_always_called), type(layer._forward_hooks).__name__)
