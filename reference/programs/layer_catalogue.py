"""Every common layer: how its weights begin under one seed, what it prints, computes and learns."""

import torch
from torch import nn

torch.manual_seed(59)


def look(layer, *inputs):
    """Weights, text, output, and the gradients that the sum of its squares leaves."""
    output = layer(*inputs)
    first = output[0] if isinstance(output, tuple) else output
    if first.requires_grad:
        first.square().sum().backward()
    return (
        [p.detach() for p in layer.parameters()],
        repr(layer),
        output,
        [p.grad for p in layer.parameters()],
    )


# Linear maps and convolutions.
look(nn.Linear(3, 2), torch.randn(2, 3))
look(nn.Linear(3, 2, bias=False), torch.randn(2, 1, 3))
look(nn.Conv1d(2, 4, 3, padding=1), torch.randn(2, 2, 5))
look(nn.Conv2d(2, 4, (3, 2), stride=2, padding=1, groups=2, bias=False), torch.randn(2, 2, 5, 5))
look(nn.Conv2d(1, 2, 3, padding="same", padding_mode="reflect"), torch.randn(1, 1, 4, 4))
look(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), torch.randn(1, 1, 4, 4))
look(nn.Conv2d(1, 2, 3, padding=(0, 1), padding_mode="replicate"), torch.randn(1, 1, 4, 4))
look(nn.Conv3d(1, 2, 2), torch.randn(1, 1, 3, 3, 3))
look(nn.ConvTranspose1d(2, 3, 3, stride=2), torch.randn(1, 2, 3))
look(nn.ConvTranspose2d(2, 2, 3, stride=2, output_padding=1), torch.randn(1, 2, 3, 3))

# Normalisation.
look(nn.BatchNorm1d(3), torch.randn(4, 3))
look(nn.BatchNorm2d(2, momentum=None), torch.randn(3, 2, 2, 2))
look(nn.BatchNorm1d(3, track_running_stats=False).eval(), torch.randn(4, 3))
look(nn.LayerNorm((2, 3)), torch.randn(4, 2, 3))
look(nn.LayerNorm(3, bias=False), torch.randn(4, 3))
look(nn.GroupNorm(2, 4), torch.randn(2, 4, 3))
look(nn.RMSNorm(3), torch.randn(4, 3))

# Lookups, attention and recurrence.
look(nn.Embedding(4, 3, padding_idx=1), torch.tensor([1, 2, 2]))
look(nn.Embedding(4, 3, max_norm=1.0), torch.tensor([[1, 2]]))
look(nn.Embedding.from_pretrained(torch.eye(3)), torch.tensor([1, 2]))
query = torch.randn(3, 2, 4)
look(nn.MultiheadAttention(4, 2), query, torch.randn(2, 2, 4), torch.randn(2, 2, 4))
look(nn.MultiheadAttention(4, 2, bias=False), query, query, query)
look(nn.RNN(2, 3, 2, nonlinearity="relu"), torch.randn(3, 2, 2))
look(nn.GRU(2, 3, bidirectional=True), torch.randn(3, 2, 2))
look(nn.LSTM(2, 3), torch.randn(3, 2, 2))
look(nn.LSTM(2, 3, 2, bias=False, bidirectional=True, batch_first=True), torch.randn(2, 3, 2))
look(nn.GRUCell(2, 3), torch.randn(4, 2))
look(nn.LSTMCell(2, 3, bias=False), torch.randn(4, 2))
look(nn.RNNCell(2, 3, nonlinearity="relu"), torch.randn(2))

# Layers without weights, but for one.
x = torch.tensor([[-2.0, -0.25, 0.75], [3.0, 0.125, -1.0]], requires_grad=True)
activations = [
    nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.ELU(), nn.SELU(), nn.CELU(), nn.GELU(),
    nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Sigmoid(), nn.Tanh(), nn.LogSigmoid(), nn.Hardtanh(),
    nn.Hardsigmoid(), nn.Hardswish(), nn.Softplus(), nn.Softsign(), nn.Tanhshrink(),
    nn.Softshrink(), nn.Hardshrink(), nn.Threshold(0.1, 2.0), nn.Softmax(dim=1),
    nn.LogSoftmax(dim=1), nn.Softmin(dim=1), nn.Identity(), nn.PReLU(3),
]  # fmt: skip
values = [activation(x) for activation in activations]
sum(value.sum() for value in values).backward()
x.grad
nn.GLU()(torch.randn(2, 4))
image = torch.randn(1, 2, 4, 4, requires_grad=True)
pooled = [
    nn.MaxPool2d(2)(image), nn.AvgPool2d(3, 1, 1)(image), nn.AdaptiveAvgPool2d(1)(image),
    nn.MaxPool2d(3, 1, padding=1)(image),
]  # fmt: skip
sum(p.sum() for p in pooled).backward()
image.grad
nn.Flatten()(image).shape
nn.Unflatten(1, (1, 3))(x).shape
layers = nn.Dropout(0.5), nn.Dropout2d(0.5), nn.AlphaDropout(0.5)
dropped = [layer(image) for layer in layers]

# Losses.
target = torch.rand(2, 3)
losses = [
    nn.MSELoss(), nn.L1Loss(reduction="sum"), nn.SmoothL1Loss(), nn.HuberLoss(delta=0.5),
    nn.BCEWithLogitsLoss(pos_weight=torch.full((3,), 2.0)), nn.KLDivLoss(reduction="batchmean"),
]  # fmt: skip
[loss(x, target) for loss in losses]
nn.BCELoss()(torch.rand(2, 3), target)
nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)(
    x, torch.tensor([0, 2])
)
nn.NLLLoss()(x.log_softmax(1), torch.tensor([0, 2]))
nn.CosineSimilarity()(x, target)

# How weights may begin.
w = torch.zeros(3, 4)
nn.init.uniform_(w, -1, 1)
nn.init.normal_(w, 1.0, 0.5)
nn.init.trunc_normal_(w, std=0.5, a=-0.5, b=0.5)
nn.init.xavier_uniform_(w, gain=nn.init.calculate_gain("tanh"))
nn.init.xavier_normal_(w)
nn.init.kaiming_uniform_(w, a=0.1)
nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")
nn.init.constant_(w, 0.5)
nn.init.eye_(w)
w._version
nn.init.xavier_uniform_(torch.zeros(3))  # raises ValueError
nn.init.kaiming_uniform_(w, mode="in")  # raises ValueError
nn.init.calculate_gain("swish")  # raises ValueError: Unsupported nonlinearity swish
