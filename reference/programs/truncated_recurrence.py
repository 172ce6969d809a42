"""Recurrent networks trained on a long sequence in pieces: the state goes on, the graph does not."""

import torch
from torch import nn

torch.manual_seed(4)
steps = torch.arange(24, dtype=torch.float64)
wave = torch.stack([torch.sin(0.4 * steps), torch.cos(0.7 * steps)], 1).unsqueeze(1)

# A cell by hand, unrolled over one piece.
cell = nn.LSTMCell(2, 3).double()
head = nn.Linear(3, 2).double()
h = torch.zeros(1, 3, dtype=torch.float64)
c = torch.zeros(1, 3, dtype=torch.float64)
h, c = cell(wave[0], (h, c))
outputs = [head(h)]
for x in wave[1:4]:
    h, c = cell(x, (h, c))
    outputs.append(head(h))

loss = ((torch.stack(outputs) - wave[1:5]) ** 2).mean()
loss.backward()
cell.weight_hh.grad

# The state still knows its past: a second piece would go back through memory that is freed.
h2, c2 = cell(wave[4], (h, c))
h2.sum().backward()  # raises RuntimeError
h, c = h.detach(), c.detach()
h2, c2 = cell(wave[4], (h, c))
h2.sum().backward()

# Truncated backpropagation through time, with a layer of two levels.
torch.manual_seed(9)
lstm = nn.LSTM(2, 4, num_layers=2).double()
head = nn.Linear(4, 2).double()
parameters = [*lstm.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.02)
state = None
history = []
for start in range(0, 20, 5):
    piece, following = wave[start : start + 5], wave[start + 1 : start + 6]
    if state is not None:
        state = tuple(s.detach() for s in state)
    output, state = lstm(piece, state)
    loss = nn.functional.mse_loss(head(output), following)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(parameters, 0.1)
    optimizer.step()
    history.append(loss.item())

state
output
lstm.weight_ih_l0.grad
[name for name, _ in lstm.named_parameters()]

# detach_ cuts the graph in place; what was computed before is untouched. A view is not cut.
hidden = head(output[0].detach())
tail = hidden * 2
hidden.detach_()
tail.sum().backward()
head.weight.grad
head(output.detach()).mT.detach_()  # raises RuntimeError

# A gated unit and a plain one; the gradient of the first input through all the steps.
gru = nn.GRU(2, 3, batch_first=True).double()
x = wave[:6].transpose(0, 1).clone().requires_grad_()
output, last = gru(x)
last.sum().backward()
x.grad.norm(dim=2)
plain = nn.RNN(2, 3, nonlinearity="relu", bidirectional=True).double()
output, last = plain(wave[:4])
output.square().sum().backward()
plain.weight_hh_l0_reverse.grad

# What a window forgets: the gradient with and without the cut.
x = wave[:4].clone().requires_grad_()
h = torch.zeros(1, 3, dtype=torch.float64)
unit = nn.GRUCell(2, 3).double()
for t in range(4):
    h = unit(x[t], h if t != 2 else h.detach())

h.sum().backward()
x.grad.abs().sum(dim=(1, 2)) == 0
