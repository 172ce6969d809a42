"""Lesser modules of torch: windows, made tensors, conversions, weak keys, profiles, printed."""

import copy
import gc
import warnings

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.signal import windows
from torch.testing import make_tensor
from torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary

warnings.simplefilter("always")
warnings.showwarning = lambda message, kind, *rest: print("warned", kind.__name__, message)


def tried(f):
    try:
        print(f())
    except (Exception, AssertionError) as e:
        print(type(e).__name__, str(e)[:300].replace("torch.", "impl."))


# -- windows and made tensors ----------------------------------------------------------------------

for name in windows.__all__:
    window = getattr(windows, name)
    options = {"a": [0.5, 0.3, 0.2]} if name == "general_cosine" else {}
    for length in (0, 1, 2, 5, 8, -1):
        for sym in (True, False):
            tried(lambda: window(length, sym=sym, dtype=torch.float64, **options))
    tried(lambda: window(4, dtype=torch.float16, **options))
    tried(lambda: window(4, layout=torch.sparse_coo, **options))
    tried(lambda: window(3, requires_grad=True, **options).requires_grad)
tried(lambda: windows.exponential(5, center=1.0))
tried(lambda: windows.exponential(5, center=1.0, tau=2.0, sym=False))
tried(lambda: windows.exponential(5, tau=0))
tried(lambda: windows.gaussian(5, std=-1))
tried(lambda: windows.kaiser(5, beta=-1))
tried(lambda: windows.general_cosine(5, a=[]))
tried(lambda: windows.general_cosine(5, a=3))
tried(lambda: windows.general_hamming(5, alpha=0.7))

torch.manual_seed(0)
for dtype in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64):
    tried(lambda: make_tensor(2, 3, dtype=dtype, device="cpu"))
    tried(lambda: make_tensor((2, 3), dtype=dtype, device="cpu", low=0, high=2))
    tried(lambda: make_tensor(3, dtype=dtype, device="cpu", exclude_zero=True, low=0, high=2))
    tried(lambda: make_tensor(2, 3, dtype=dtype, device="cpu", noncontiguous=True).stride())
    tried(lambda: make_tensor(2, dtype=dtype, device="cpu", requires_grad=True).requires_grad)
    tried(lambda: make_tensor(2, dtype=dtype, device="cpu", low=3, high=1))
    tried(lambda: make_tensor(2, dtype=dtype, device="cpu", low=1, high=1))
    tried(lambda: make_tensor(2, dtype=dtype, device="cpu", low=float("nan")))
    tried(lambda: make_tensor(2, dtype=dtype, device="cpu", low=1e30, high=1e31))
nhwc = torch.channels_last
tried(
    lambda: make_tensor(1, 2, 3, 3, dtype=torch.float32, device="cpu", memory_format=nhwc).stride()
)
tried(
    lambda: make_tensor(2, dtype=torch.int8, device="cpu", noncontiguous=True, memory_format=nhwc)
)

# -- conversions of modules ------------------------------------------------------------------------

for overwrite, swap in ((False, False), (True, False), (False, True)):
    torch.__future__.set_overwrite_module_params_on_conversion(overwrite)
    torch.__future__.set_swap_module_params_on_conversion(swap)
    layer = nn.Linear(2, 1)
    layer(torch.ones(2)).backward()
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    print(layer.weight is weight, weight.dtype, layer.weight.dtype, layer.weight.grad.dtype)
    print(layer.weight.grad is grad, grad.dtype, layer.weight.requires_grad)
    weight, state = layer.weight, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    tried(lambda: layer.load_state_dict(state))
    print(layer.weight is weight, layer.weight, layer.weight is state["weight"])
    tried(lambda: layer.load_state_dict(state, assign=True))
    print(layer.weight is weight, layer.weight.dtype)
    tried(lambda: layer.load_state_dict({"weight": torch.ones(3), "bias": torch.zeros(1)}))
    kept = TensorWeakRef(layer.weight)
    tried(lambda: layer.float().weight.dtype)
    tried(lambda: layer.load_state_dict(state))
    del kept
torch.__future__.set_swap_module_params_on_conversion(False)
x = torch.zeros(2)
print(x.module_load(torch.ones(2)), x, x.module_load(torch.ones(3), assign=True))

# -- weak references and keys ----------------------------------------------------------------------

x, y = torch.ones(2), torch.ones(2)
keys = WeakTensorKeyDictionary({x: 1})
keys[y] = 2
print(
    len(keys), x in keys, torch.ones(2) in keys, 3 in keys, keys[y], keys.get(torch.ones(2), "no")
)
print(list(keys.values()), len(list(keys.items())), keys.copy() == keys, (keys | {x: 3})[x])
print(keys.setdefault(x, 5), keys.pop(y), len(copy.deepcopy(keys)), WeakIdKeyDictionary() == {})
tried(lambda: keys.get(y))
reference = TensorWeakRef(x)
print(reference() is x, len(keys.keyrefs()))
del x
gc.collect()
print(reference(), len(keys))
tried(lambda: TensorWeakRef(3))

# -- profiles --------------------------------------------------------------------------------------

tried(lambda: schedule(wait=-1, warmup=0, active=1))
steps = schedule(wait=1, warmup=0, active=2, repeat=2, skip_first=1)
print([steps(i).name for i in range(10)])
steps = schedule(wait=1, warmup=1, active=1, skip_first=2, skip_first_wait=1)
print([steps(i).name for i in range(10)])
tried(lambda: steps(-1))
for wait, warmup, active, count in ((1, 1, 2, 9), (0, 0, 1, 3), (2, 1, 1, 2), (1, 2, 3, 5)):
    ready = []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=wait, warmup=warmup, active=active),
        on_trace_ready=lambda p: ready.append(p.step_num),
    ) as prof:
        for _ in range(count):
            with record_function("step"):
                torch.ones(2).sum()
            prof.step()
    print(ready, prof.step_num, prof.current_action.name)
prof = profile()
for call in (prof.key_averages, prof.events, lambda: prof.export_chrome_trace("x")):
    tried(call)
tried(lambda: profile(activities=[]))
tried(lambda: profile(activities=[3]))
tried(lambda: profile(schedule=lambda step: torch.profiler.ProfilerAction.DEVICE_STOPPED))


@record_function("decorated")
def decorated(value):
    return value + 1


block = torch.autograd.profiler.profile()
print(decorated(1), block)
with block:
    pass
tried(block.__enter__)
with torch.autograd.profiler.profile(enabled=False) as nothing:
    print(nothing)
tried(lambda: torch.autograd.profiler.profile(use_cpu=False))

# -- modules of processes, names of functions ------------------------------------------------------

norm = nn.SyncBatchNorm(3)
print(norm, norm(torch.ones(2, 3)), norm.num_batches_tracked)
tried(lambda: norm(torch.ones(3)))
tried(lambda: norm(torch.ones(2, 0)))
model = nn.Sequential(nn.BatchNorm2d(2, affine=False), nn.Linear(1, 1), nn.BatchNorm1d(2))
converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
print(converted, converted is model, list(converted.state_dict()))
tried(lambda: nn.parallel.DistributedDataParallel(nn.Linear(1, 1)))
for function in (torch.add, torch.Tensor.add, nn.functional.relu, torch.linalg.svd, len, 3):
    print(torch.overrides.resolve_name(function))
print(torch.overrides.resolve_name(torch.ops.aten.add.Tensor))
with torch.DisableTorchFunction(), torch.DisableTorchFunctionSubclass():
    print(torch.overrides.has_torch_function((torch.ones(1),)))

# -- an optimizer with other parameters ------------------------------------------------------------

layer = nn.Linear(2, 1)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
layer(torch.ones(2)).backward()
swap = torch.optim.swap_in_optimizer_params_and_state
tried(lambda: swap(optimizer, {}, {}).__enter__())
optimizer.step()
state = optimizer.state_dict()
state["param_groups"][0]["lr"] = 0.5
others = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
with swap(optimizer, others, copy.deepcopy(state)):
    others["weight"].grad = torch.ones(1, 2)
    optimizer.step()
    print(others, optimizer.param_groups[0]["lr"], len(optimizer.state))
print(optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["params"][0] is layer.weight)
for wrong in (
    3,
    {"state": 3},
    {**state, "param_groups": 3},
    {**state, "param_groups": []},
    {**state, "param_groups": [{"params": [0]}]},
    {**state, "param_groups": [{"params": [0, 1]}]},
    {**state, "state": {**state["state"], 7: {}}},
    {**state, "state": {0: 3}},
):
    tried(lambda: swap(optimizer, others, wrong).__enter__())
tried(lambda: swap(optimizer, {}, state).__enter__())
