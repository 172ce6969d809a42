"""Sequences of several lengths: padded, packed, and through recurrent layers in both forms."""

import torch
from torch import nn
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

torch.manual_seed(41)
sequences = [torch.randn(length, 2, dtype=torch.float64).requires_grad_() for length in (2, 4, 1)]

# Padding on either side; the padding has no gradient to give.
padded = pad_sequence(sequences)
padded
pad_sequence(sequences, batch_first=True, padding_value=-1.0, padding_side="left")
(padded * torch.arange(24.0, dtype=torch.float64).reshape(4, 3, 2)).sum().backward()
[s.grad for s in sequences]
pad_sequence([])  # raises RuntimeError
pad_sequence(sequences, padding_side="middle")  # raises RuntimeError
pad_sequence(3)  # raises RuntimeError

# Packing: the longest first.
lengths = torch.tensor([2, 4, 1])
packed = pack_padded_sequence(padded, lengths, enforce_sorted=False)
packed.data
packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
pack_padded_sequence(padded, lengths)  # raises RuntimeError
pack_padded_sequence(padded, lengths[:2])  # raises RuntimeError
pack_padded_sequence(padded, [2, 1, 0], enforce_sorted=False)  # raises RuntimeError
pack_padded_sequence(padded[:0], lengths)  # raises RuntimeError
direct = pack_sequence(sequences, enforce_sorted=False)
torch.equal(direct.data, packed.data)  # True
again, found = pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=5)
again
found
pad_packed_sequence(packed, total_length=3)  # raises ValueError
[torch.equal(a, b) for a, b in zip(unpack_sequence(packed), sequences)]
unpad_sequence(padded.detach().clone(), lengths)[2]

# Through packing and back, once and twice.
x = torch.arange(12.0, dtype=torch.float64).reshape(2, 3, 2).requires_grad_()
flat = pack_padded_sequence(x, [3, 1], batch_first=True)
flat.data
(g,) = torch.autograd.grad((flat.data**3).sum(), x, create_graph=True)
g
g.square().sum().backward()
x.grad
rest, _ = pad_packed_sequence(flat, batch_first=True)
rest.sum().backward()
x.grad

# A packed sequence is a tuple that converts.
narrow = packed.float()
narrow.data.dtype, narrow.batch_sizes.dtype
packed.double() is packed, packed.to(torch.float32) is packed
isinstance(packed, tuple), len(packed), packed.is_cuda
made = PackedSequence(torch.ones(3), torch.tensor([2, 1]))
made.sorted_indices is None
PackedSequence(torch.ones(3))  # raises AssertionError

# Layers take either; what has ended keeps its last state.
for s in sequences:
    s.grad = None

lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True).double()
out, (h, c) = lstm(packed)
type(out).__name__
out.data
h
c
(out.data.square().sum() + h.sum()).backward()
[s.grad for s in sequences]
lstm.weight_hh_l1_reverse.grad
whole, (h0, c0) = lstm(sequences[1])
first = out.unsorted_indices[1]
torch.allclose(pad_packed_sequence(out)[0][:, 1], whole)
torch.allclose(h[:, 1], h0)
state = (torch.ones(4, 3, 3, dtype=torch.float64), torch.zeros(4, 3, 3, dtype=torch.float64))
lstm(direct, state)[1][0]
lstm(direct, tuple(s[:, :2] for s in state))  # raises RuntimeError
lstm(
    PackedSequence(torch.ones(5, 4, dtype=torch.float64), torch.tensor([3, 2]))
)  # raises RuntimeError

gru = nn.GRU(2, 3, bidirectional=True, dropout=0.0, bias=False).double()
out, h = gru(direct)
out.data
h
gru(direct, h)[1]
gru(direct.float())  # raises ValueError
gru(direct, h[..., :2])  # raises RuntimeError
plain = nn.RNN(2, 3, nonlinearity="relu").double()
out, h = plain(direct)
h
(out.data.sum() - h.sum()).backward()
plain.weight_hh_l0.grad
short = nn.LSTM(2, 3)
out, (h, c) = short(direct.float())
out.data
c

# A projected state.
small = nn.LSTM(2, 4, num_layers=2, proj_size=3, bidirectional=True).double()
repr(small), list(small.state_dict())[:5]
out, (h, c) = small(direct)
out.data.shape, h.shape, c.shape
h
h.sum().backward()
small.weight_hr_l0.grad
other, (h0, c0) = small(padded.detach())
other
nn.LSTM(2, 3, proj_size=3)  # raises ValueError
nn.GRU(2, 3, proj_size=1)  # raises ValueError
nn.LSTM(2, 3, proj_size=2, bias=False)(torch.ones(2, 1, 2))  # warns UserWarning
nn.LSTM(2, 0)  # raises ValueError
nn.GRU(2.0, 3)  # raises TypeError
