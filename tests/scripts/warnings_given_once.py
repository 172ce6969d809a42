"""How often a warning is given that a statement asks for three times, as TORCH_WARN_ONCE and
TORCH_WARN do in C++, printed: once, or each time."""

import warnings

import numpy as np
import torch

x, z, r = torch.tensor([1.0, 2.0]), torch.tensor(1.0), torch.ones(2, requires_grad=True)
A, c, lu = torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([1 + 1j]), torch.linalg.lu_factor
unwritable = np.frombuffer(b"12345678", dtype=np.float64)
bytes_ = torch.tensor([1, 0], dtype=torch.uint8)
sparse = torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 2))


def new():
    return torch.empty(0)


STATEMENTS = [
    lambda: c.to(torch.float32),
    lambda: torch.zeros(1).copy_(c),
    lambda: c.sum(dtype=torch.float32),
    lambda: c.cumsum(0, dtype=torch.float64),
    lambda: torch.add(x, 2, x),
    lambda: torch.addmm(2, A, A, A),
    lambda: float(torch.ones(1, requires_grad=True)),
    lambda: (r * r).sum().backward(create_graph=True),
    lambda: torch.meshgrid(x, x),
    lambda: torch.cross(torch.ones(3), torch.ones(3)),
    lambda: torch.chain_matmul(A, A),
    lambda: torch.lu(A),
    lambda: torch.lu_solve(A, *lu(A)),
    lambda: torch.lu_solve(A, *lu(A), out=new()),
    lambda: torch.triangular_solve(A, A),
    lambda: torch.triangular_solve(A, A, out=(new(), new())),
    lambda: torch.searchsorted(torch.arange(6.0)[::2], x),
    lambda: torch.searchsorted(torch.arange(3.0), torch.arange(6.0)[::2]),
    lambda: torch.zeros(3).index_reduce(0, torch.tensor([0]), torch.ones(1), "prod"),
    lambda: torch.zeros(3).scatter(0, torch.tensor([0]), torch.ones(1), reduce="add"),
    lambda: torch.asarray(r),
    lambda: torch.stft(torch.ones(8), 4, return_complex=True),
    lambda: torch.istft(torch.ones(3, 3, dtype=torch.complex64), 4),
    lambda: torch.stft(torch.ones(8), 4, return_complex=False, window=torch.ones(4)),
    lambda: torch.nuclear_norm(A),
    lambda: torch.nuclear_norm(A, (0, 1)),
    lambda: torch.nuclear_norm(A, out=new()),
    lambda: torch.nuclear_norm(A, (0, 1), out=new()),
    lambda: torch.frobenius_norm(A, (0, 1)),
    lambda: torch.frobenius_norm(A, (0, 1), out=new()),
    lambda: torch.ones(2, 2, 2).T,
    *(lambda name=name: getattr(z, name) for name in ("T", "mT", "H", "mH")),
    lambda: z.adjoint(),
    lambda: torch.where(bytes_, x, x),
    lambda: x.where(bytes_, x),
    lambda: x[bytes_],
    lambda: torch.frombuffer(b"12345678", dtype=torch.float32),
    lambda: torch.as_tensor(unwritable),
    lambda: torch.from_numpy(unwritable),
    lambda: torch.tensor([np.ones(2)]),
    lambda: sparse.coalesce(),
    lambda: sparse.mm(sparse),
    lambda: torch.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), padding="same"),
    lambda: torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), padding="same"),
    lambda: torch.nn.LSTM(2, 3, proj_size=2)(torch.ones(1, 1, 2)),
    lambda: torch.rms_norm(torch.ones(2), (2,), torch.ones(2, dtype=torch.float64)),
    lambda: torch.add(x, x, out=torch.ones(3)),
    lambda: torch.var(torch.ones(1)),
    lambda: torch.cov(torch.ones(1)),
    lambda: torch.range(0, 2),
    lambda: x.resize(2),
    lambda: (r * 2).grad,
    lambda: torch.tensor(x),
    lambda: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2, 1)),
    lambda: torch.set_default_tensor_type(torch.FloatTensor),
]

for always in (False, True, False):
    torch.set_warn_always(always)
    for number, statement in enumerate(STATEMENTS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                statement()
        print(always, number, len(caught))
