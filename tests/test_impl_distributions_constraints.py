"""Constraints of distributions and the functions beside them against those of torch."""

from __future__ import annotations

import pytest
from made_distributions import assert_agree, programs

CONSTRAINTS = r"""
c.boolean.check(torch.tensor([0., 1., 0.5, float('nan')]))
c.boolean.check(torch.tensor([True, False]))
c.one_hot.check(torch.tensor([[0., 1.], [1., 1.], [0., 0.5]]))
c.nonnegative_integer.check(torch.tensor([0., 1.5, -1., 3.]))
c.positive_integer.check(torch.tensor([0, 1, 2]))
c.integer_interval(1, torch.tensor([2, 5])).check(torch.tensor([[1, 6], [0, 5]]))
c._IntegerLessThan(3).check(torch.tensor([1., 3., 3.5, 4.]))
c.real.check(torch.tensor([1., float('nan'), float('inf')]))
c.real_vector.check(torch.tensor([[1., float('nan')], [0., 1.]]))
c.positive.check(torch.tensor([0., 1., -0.0]))
c.nonnegative.check(torch.tensor([0., 1., -1.]))
c.greater_than(torch.tensor([0., 2.])).check(torch.tensor([1., 1.]))
c.greater_than_eq(1).check(torch.tensor([1, 0]))
c.less_than(1).check(torch.tensor([1., 0.5]))
c.unit_interval.check(torch.tensor([0., 1., 1.1]))
c.half_open_interval(0, 1).check(torch.tensor([0., 1., 1.1]))
c.interval(leaf(0.), leaf(1., 2.)).check(leaf(1.5, 1.5))
c.simplex.check(torch.tensor([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]]))
c.multinomial(3).check(torch.tensor([[1., 2.], [2., 2.], [-1., 1.]]))
c.lower_triangular.check(torch.tensor([[1., 0.], [1., 1.]]))
c.lower_triangular.check(torch.ones(2, 3, 3))
c.lower_triangular.check(torch.ones(3, 3).mT)
c.lower_triangular.check(torch.ones(0, 0))
c.lower_triangular.check(torch.ones(2, 3, 3).transpose(0, 2))
c.lower_cholesky.check(torch.tensor([[[1., 0.], [1., 1.]], [[1., 0.], [1., -1.]]]))
c.corr_cholesky.check(torch.tensor([[[1., 0.], [0.6, 0.8]], [[1., 0.], [0.5, 0.8]]]))
c.square.check(torch.ones(4, 2, 3))
c.square.check(torch.ones(4, 3, 3))
c.symmetric.check(torch.tensor([[[1., 0.], [0.6, 0.8]], [[1., 2.], [2., 0.8]]]))
c.symmetric.check(torch.ones(2, 3))
c.positive_semidefinite.check(torch.tensor([[[1., 0.5], [0.5, 1.]], [[1., 2.], [2., 0.8]], [[1.,
    0.], [1., 1.]]]))
c.positive_semidefinite.check(torch.tensor([[[1., 0.5], [0.5, 1.]], [[1., 2.], [2., 0.8]]]))
c.positive_definite.check(torch.tensor([[[1., 0.5], [0.5, 1.]], [[1., 2.], [2., 0.8]]]))
c.positive_definite.check(torch.ones(2, 3))
c.cat([c.positive, c.simplex], 0, [1, 2]).check(torch.ones(3))
c.cat([c.positive, c.real], -1, [1, 2]).check(torch.ones(2, 3))
c.cat([c.positive, c.real], 3, [1, 2]).check(torch.ones(2, 3))
c.cat([c.positive, c.real], 0, [1]).check(torch.ones(2, 3))
c.cat([c.positive, 3])
c.stack([c.positive, c.unit_interval], -1).check(torch.tensor([[1., 2.], [1., 1.]]))
c.stack([c.positive, c.unit_interval], 2).check(torch.tensor([[1., 2.], [1., 1.]]))
[c.stack([c.real_vector, c.positive], d).event_dim for d in (0, -1, -2)]
[c.stack([c.boolean, c.positive]).is_discrete, c.cat([c.boolean, c.positive]).event_dim,
    c.cat([c.positive]).lengths]
c.stack(["a"])
[c.dependent, c.dependent(is_discrete=True, event_dim=1), c.is_dependent(c.dependent),
    c.is_dependent(c.positive)]
c.dependent.is_discrete
c.dependent(is_discrete=False).event_dim
[c.dependent(event_dim=2).event_dim, c.dependent(event_dim=2)(is_discrete=False).event_dim,
    c.dependent(event_dim=2)(event_dim=1).event_dim]
c.dependent.check(torch.ones(1))
c.independent(c.positive, 2).check(torch.ones(2, 3, 4))
c.independent(c.positive, 2).check(torch.ones(3))
c.independent(c.positive, -1)
c.independent(c.positive, 1.0)
c.independent(3, 1)
c.independent(c.simplex, 1).event_dim
c.independent(c.boolean, 1).is_discrete
c.MixtureSameFamilyConstraint(c.simplex).check(torch.full((2, 2), 0.5))
c.MixtureSameFamilyConstraint(c.simplex).check(torch.tensor(0.5))
c.MixtureSameFamilyConstraint(c.positive).check(torch.tensor([1., -1.]))
c.MixtureSameFamilyConstraint(c.boolean).is_discrete
c.MixtureSameFamilyConstraint(c.simplex)
c.MixtureSameFamilyConstraint(1)
c.Constraint().check(torch.ones(1))
c.Constraint()
[c.positive, c.nonnegative_integer, c.integer_interval(0, 3), c.interval(0, torch.ones(2)),
    c.half_open_interval(0, 1), c.less_than(2), c.greater_than_eq(1.5), c._IntegerLessThan(3)]
[c.boolean, c.one_hot, c.real, c.simplex, c.multinomial(3), c.lower_triangular, c.corr_cholesky,
    c.square, c.symmetric, c.positive_definite, c.cat([c.real]), c.stack([c.real]),
    c.independent(c.real, 2)]
[pickled(c.interval(0, 2)), copied(c.real_vector), saved(c.positive)]
sorted(c.__all__)
[sorted(getattr(D, n).__all__) for n in ("utils", "distribution", "exp_family", "transforms",
    "constraint_registry", "independent", "transformed_distribution", "kl")]
[x.is_discrete for x in (c.boolean, c.one_hot, c.positive_integer, c.multinomial(2), c.simplex)]
[x.event_dim for x in (c.boolean, c.one_hot, c.simplex, c.multinomial(2), c.corr_cholesky,
    c.real_vector)]
[isinstance(c.interval, type), c.interval.__name__, c.half_open_interval.__name__,
    c.greater_than.__name__]
"""

FUNCTIONS = r"""
u.broadcast_all(1, 2.5, True)
u.broadcast_all(1, torch.ones(2, 1), leaf([[1., 2.]]))
u.broadcast_all(torch.ones(2, dtype=torch.int64), 2.5)
u.broadcast_all(torch.ones(2), "a")
u.broadcast_all(torch.ones(2), 1j)
u.broadcast_all(torch.ones(2), torch.ones(3))
u.broadcast_all()
u.broadcast_all(torch.ones(2), None)
u._standard_normal((2, 3), torch.float64, None)
u._standard_normal(torch.Size([20]), torch.float32, torch.device("cpu"))
[u._sum_rightmost(leaf([[1., 2.], [3., 4.]]), i) for i in range(3)]
u._sum_rightmost(torch.ones(2, 3, 4, 5), 2)
u.logits_to_probs(leaf(1., -2.), is_binary=True)
u.logits_to_probs(leaf(1., -2.))
u.clamp_probs(torch.tensor([0., 0.5, 1.]))
u.clamp_probs(torch.tensor([0., 0.5, 1.], dtype=torch.float16))
u.probs_to_logits(leaf(0., 0.3, 1.), is_binary=True)
u.probs_to_logits(leaf(0., 0.3, 0.7))
x = leaf(0.2, 0.8); grads(u.probs_to_logits(x, True), x)
[u.tril_matrix_to_vec(torch.arange(18.).reshape(2, 3, 3), d) for d in (-3, -1, 0, 1, 2)]
u.tril_matrix_to_vec(torch.ones(3, 3), 3)
u.tril_matrix_to_vec(torch.ones(3, 3), -4)
[u.vec_to_tril_matrix(torch.arange(6.) + 1), u.vec_to_tril_matrix(torch.arange(12.).reshape(2, 6),
    -1), u.vec_to_tril_matrix(torch.arange(8.), 1)]
u.vec_to_tril_matrix(torch.ones(4))
x = leaf(1., 2., 3.); y = u.vec_to_tril_matrix(x); [y, grads(y * 2, x)]
u.euler_constant
[isinstance(u.lazy_property(lambda s: 1).__get__(None), property),
    isinstance(u.lazy_property(lambda s: 1).__get__(None), u.lazy_property)]
"""


@pytest.mark.parametrize("program", programs(CONSTRAINTS))
def test_constraints_are_those_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(FUNCTIONS))
def test_shared_functions_are_those_of_torch(program):
    assert_agree(program)
