"""The names by which programs tell torch's modules, tensors, parameters and layers."""

import io
import pickle
import warnings

import torch
import torch.optim.lr_scheduler
from torch.distributions import Normal, constraints, transforms

for module in (torch, torch.nn, torch.nn.functional, transforms, torch.optim, torch.linalg):
    print(module.__name__)
layer = torch.nn.Linear(2, 2)
for kind in (
    torch.Tensor,
    torch.Size,
    torch.nn.Parameter,
    torch.nn.Module,
    torch.optim.SGD,
    torch.optim.lr_scheduler.StepLR,
    torch.autograd.Function,
    torch.no_grad,
    Normal,
    type(constraints.positive),
    torch.nn.functional.relu,
    torch.nn.init.xavier_uniform_,
    torch.nn.utils.clip_grad_norm_,
    torch.einsum,
    torch.save,
):
    print(kind.__module__)
print(type(layer.weight), repr(torch.nn.Parameter), str(torch.nn.Linear))
print(pickle.loads(pickle.dumps(layer)), b"torch.nn.modules.linear" in pickle.dumps(layer))
file = io.BytesIO()
torch.save(layer, file)
print(torch.load(io.BytesIO(file.getvalue()), weights_only=False))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("error", UserWarning)
    try:
        torch.range(0, 3)
    except UserWarning as warning:
        print(str(warning)[:30])
with torch.autograd.detect_anomaly(check_nan=False):
    print(torch.ones(1, requires_grad=True).exp().grad_fn.metadata["traceback_"][-1:])
print(__file__.startswith("/"))
