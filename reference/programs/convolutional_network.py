"""A small convolutional network: convolutions, batch normalisation, pooling and residuals."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
images = torch.randn(4, 1, 8, 8)
labels = torch.tensor([0, 2, 1, 2])


class Block(nn.Module):
    """Two convolutions around which the input passes unchanged."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, groups=2)

    def forward(self, x):
        inner = F.relu(self.norm(self.first(x)), inplace=True)
        return x + self.second(inner)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, stride=1, padding=1)
        self.block = Block(4)
        self.pool = nn.MaxPool2d(2)
        self.widen = nn.Conv2d(4, 6, (3, 2), stride=2, dilation=(1, 2), padding=(1, 0))
        self.head = nn.Linear(6 * 2 * 1, 3)

    def forward(self, x):
        x = self.pool(self.block(torch.tanh(self.stem(x))))
        return self.head(torch.flatten(F.gelu(self.widen(x)), 1))


model = Network()
shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
buffers = dict(model.named_buffers())

# Forward and backward by hand.
features = torch.tanh(model.stem(images))
mixed = model.block(features)
pooled = model.pool(mixed)
widened = model.widen(pooled)
logits = model(images)
loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
loss.backward()
gradients = {name: p.grad for name, p in model.named_parameters()}
running = model.block.norm.running_mean
tracked = model.block.norm.num_batches_tracked

optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
history = []
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(images), labels)
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# In evaluation the running statistics are used, and are constants.
model.eval()
picture = images.clone().requires_grad_()
scores = model(picture)
scores[:, 0].sum().backward()
saliency = picture.grad.abs().amax(dim=(1, 2, 3))
same = model(picture)[:1].allclose(model(picture[:1]), atol=1e-5)

# The gradient of a gradient through convolution and batch statistics (double backward).
torch.manual_seed(2)
model = Network().double()
picture = images.double().requires_grad_()
(slope,) = torch.autograd.grad(F.cross_entropy(model(picture), labels), picture, create_graph=True)
slope.square().sum().backward()
picture.grad
model.stem.weight.grad
model.block.second.weight.grad

# One-dimensional, transposed, average-pooled.
signal = torch.randn(2, 3, 10, requires_grad=True)
encode = nn.Conv1d(3, 4, 3, stride=2, padding=1)
decode = nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1)
code = encode(signal)
back = decode(code)
((back - signal) ** 2).mean().backward()
signal.grad
smooth = F.avg_pool1d(signal, 2)
F.adaptive_avg_pool1d(signal, 1).sum().backward()

encode(torch.randn(2, 4, 10))  # raises RuntimeError
nn.Conv2d(3, 4, 3, groups=2)  # raises ValueError
