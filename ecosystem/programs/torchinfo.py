"""torchinfo: tables of a model's layers, by hooks that see each of them run."""

import torch
import torchinfo
from torch import nn


def told(text):
    return torch.tensor(list(str(text).encode()))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.rnn = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)
        self.blocks = nn.ModuleList(nn.Linear(10, 10) for _ in range(2))
        self.rest = nn.ModuleDict({"norm": nn.LayerNorm(10), "act": nn.PReLU()})
        self.scale = nn.Parameter(torch.ones(3))
        self.scales = nn.ParameterList([torch.ones(2), torch.ones(3)])
        self.attention = nn.MultiheadAttention(10, 2, batch_first=True)

    def forward(self, index):
        x, _ = self.rnn(self.table(index))
        for block in self.blocks:
            x = self.rest["act"](self.rest["norm"](block(x)))
        return self.attention(x, x, x)[0] * self.scale.sum() * self.scales[0].sum()


def convolutions():
    body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU6())
    body.extend([nn.MaxPool2d(2), nn.ConvTranspose2d(4, 4, 2, 2), nn.AdaptiveAvgPool2d(2)])
    return nn.Sequential(body, nn.Flatten(), nn.LazyLinear(5), nn.Softmax(1))


COLUMNS = ("input_size", "output_size", "num_params", "params_percent", "kernel_size", "mult_adds")


def summary(model, *args, **options):
    return told(torchinfo.summary(model, *args, verbose=0, dtypes=[torch.float64], **options))


def case_convolutions():
    return summary(convolutions(), (2, 3, 8, 8), col_names=COLUMNS, depth=1)


def case_depth_and_rows():
    rows = ("depth", "var_names", "ascii_only")
    return summary(convolutions(), (2, 3, 8, 8), depth=3, row_settings=rows)


def case_recurrent():
    index = torch.randint(0, 7, (2, 6))
    return summary(Recurrent(), input_data=index, col_names=COLUMNS, depth=4)


def case_without_a_run():
    return summary(Recurrent())


def case_frozen_shared_and_parametrized():
    shared = nn.Linear(4, 4).requires_grad_(False)
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    columns = ("output_size", "num_params", "trainable", "mult_adds")
    return summary(nn.Sequential(shared, shared, normed), (5, 4), col_names=columns)
