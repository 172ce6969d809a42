"""Workloads of modules: a recurrent network, a transformer layer, a convolutional network."""

from __future__ import annotations

import numpy as np

from workloads.registry import workload


def _parameters(t, module):
    """Give the module parameters that are the same in every library; returns them in a list."""
    rng = np.random.default_rng(0)
    parameters = list(module.parameters())
    with t.no_grad():
        for p in parameters:
            p.copy_(t.tensor(rng.uniform(-0.1, 0.1, tuple(p.shape)).astype(np.float32)))
    return parameters


def _training(t, module, *shape):
    """A step that runs the module forward and backward on an input of this shape."""
    parameters = _parameters(t, module)
    x = t.tensor(np.random.default_rng(1).standard_normal(shape).astype(np.float32))

    def step():
        result = module(x)
        result = result[0] if isinstance(result, tuple) else result
        result.sum().backward()
        for p in parameters:
            p.grad = None

    return step


@workload("LSTM of 50 steps", "torch")
def _(t):
    return _training(t, t.nn.LSTM(32, 64), 50, 8, 32)


@workload("transformer layer", "torch")
def _(t):
    layer = t.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    return _training(t, layer, 8, 32, 64)


@workload("convolution, batch norm and pooling", "torch")
def _(t):
    layers = (t.nn.Conv2d(8, 16, 3, padding=1), t.nn.BatchNorm2d(16), t.nn.ReLU())
    return _training(t, t.nn.Sequential(*layers, t.nn.MaxPool2d(2)), 8, 8, 28, 28)
