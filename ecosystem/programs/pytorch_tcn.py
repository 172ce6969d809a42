"""pytorch-tcn: temporal convolutions, with streams of input."""

import torch
from pytorch_tcn import TCN, TemporalConv1d, TemporalConvTranspose1d


def graded(net, x):
    y = net(x)
    y.square().sum().backward()
    text = torch.tensor([*repr(net).encode()])
    return y, x.grad, *(p.grad for p in net.parameters()), *net.state_dict().values(), text


def network(norm, activation, causal, gate):
    options = dict(causal=causal, use_norm=norm, activation=activation, use_gate=gate)
    net = TCN(3, [4, 5], 3, dilations=[1, 2], use_skip_connections=True, **options)
    return graded(net, torch.randn(2, 3, 11, requires_grad=True))


def case_weight_norm():
    return network("weight_norm", "relu", True, False)


def case_batch_norm():
    return network("batch_norm", "gelu", False, False)


def case_layer_norm():
    return network("layer_norm", "leaky_relu", True, True)


def case_stream():
    net = TCN(3, [4, 5], 3, dropout=0.0, causal=True).eval()
    net.reset_buffers()
    x = torch.randn(1, 3, 8)
    return [net(x[..., i : i + 2], inference=True) for i in range(0, 8, 2)]


def case_layers():
    net = torch.nn.Sequential(
        TemporalConv1d(2, 3, 3, causal=True, padding_mode="replicate"),
        TemporalConvTranspose1d(3, 2, 4, stride=2, causal=True),
    )
    return graded(net, torch.randn(2, 2, 9, requires_grad=True))
