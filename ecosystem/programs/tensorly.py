"""tensorly: decompositions of tensors, and products with them."""

import tensorly as tl
import torch
from tensorly.decomposition import (
    constrained_parafac,
    non_negative_parafac,
    non_negative_tucker,
    parafac,
    robust_pca,
    tensor_ring,
    tensor_train,
    tucker,
)
from tensorly.metrics import RMSE
from tensorly.regression import CPRegressor, TuckerRegressor
from tensorly.tenalg import khatri_rao, mode_dot, multi_mode_dot, svd_interface

tl.set_backend("pytorch")


def given(*shape, seed=0):
    x = tl.tensor(tl.check_random_state(seed).random_sample(shape))
    return x.requires_grad_()


def with_gradient(value, x):
    return value, *torch.autograd.grad(value.square().sum(), x)


def case_products():
    x = given(3, 4, 2)
    a, b = given(5, 4), given(6, 2)
    values = [
        mode_dot(x, a, 1),
        multi_mode_dot(x, [a, b], [1, 2]),
        khatri_rao([a.T, b.T[:, :5].repeat(1, 1)]),
        tl.unfold(x, 1),
        tl.fold(tl.unfold(x, 2), 2, (3, 4, 2)),
        tl.partial_unfold(x, 1, 1),
        tl.tenalg.inner(x, x),
        tl.tenalg.outer([x[:, 0, 0], a[:, 0]]),
    ]
    return *values, *torch.autograd.grad(sum(v.square().sum() for v in values), (x, a, b))


def case_parafac():
    x = given(4, 3, 3)
    found = parafac(x, rank=2, n_iter_max=5, init="random", random_state=1, normalize_factors=True)
    loss = RMSE(x, found.to_tensor())
    return *with_gradient(loss, x), found.weights, *found.factors


def case_parafac_of_svd():
    x = given(4, 3, 3)
    found = parafac(x, rank=2, n_iter_max=5, init="svd", linesearch=False)
    return found.to_tensor(), tl.cp_norm(found), *tl.cp_tensor.cp_flip_sign(found).factors


def case_non_negative():
    x = given(4, 3, 3).detach()
    first = non_negative_parafac(x, rank=2, n_iter_max=5, init="random", random_state=1)
    second = non_negative_tucker(x, rank=[2, 2, 2], n_iter_max=5, init="random", random_state=1)
    third = constrained_parafac(
        x, 2, n_iter_max=3, non_negative=True, init="random", random_state=1
    )
    return first.to_tensor(), second.to_tensor(), third.to_tensor()


def case_tucker():
    x = given(4, 3, 3)
    core, factors = tucker(x, rank=[2, 2, 2], n_iter_max=5, init="random", random_state=1)
    return with_gradient(tl.tucker_to_tensor((core, factors)), x)


def case_trains():
    x = given(4, 3, 3)
    train, ring = tensor_train(x, [1, 2, 2, 1]), tensor_ring(x.detach(), [2, 2, 2, 2])
    return *with_gradient(train.to_tensor(), x), ring.to_tensor()


def case_robust():
    return robust_pca(given(4, 3, 2).detach(), n_iter_max=5)


def case_regression():
    x, y = given(8, 3, 3).detach(), given(8, seed=2).detach()
    first = CPRegressor(2, n_iter_max=5, random_state=1, verbose=0).fit(x, y)
    second = TuckerRegressor([2, 2], n_iter_max=5, random_state=1, verbose=0).fit(x, y)
    return first.predict(x), second.predict(x), first.weight_tensor_


def case_svd():
    x = given(4, 3)
    values = []
    for method in ("truncated_svd", "symeig_svd", "randomized_svd"):
        options = {"random_state": 1} if method == "randomized_svd" else {}
        U, S, V = svd_interface(x, method, n_eigenvecs=2, **options)
        values.append(U @ torch.diag(S) @ V)
    return *values, *torch.autograd.grad(sum(v.square().sum() for v in values[:2]), x)


def case_backend():
    x = given(3, 4)
    return (
        tl.norm(x, 1),
        tl.norm(x, "inf"),
        tl.qr(x.T)[1].abs(),
        tl.solve(x @ x.T, x),
        tl.clip(x, 0.2, 0.6),
        tl.index_update(x.detach().clone(), tl.index[0, :], 1.0),
        tl.sort(x, 0),
        tl.argsort(x, 1),
        tl.kron(x, x),
        tl.lstsq(x.T, x.T)[0],
        tl.logsumexp(x, 1),
        tl.all(x > 0),
        tl.concatenate([x, x], 1),
        tl.moveaxis(x[None], 0, 2),
        tl.where(x > 0.5, x, -x),
        tl.prod(x, 0),
        tl.diag(x[0]),
        tl.eye(3),
        tl.arange(4),
        tl.tensordot(x, x, ([0], [0])),
        tl.cumsum(x, 0),
        tl.flip(x, 1),
    )
