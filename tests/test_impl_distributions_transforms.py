"""Transforms, and the registries of constraints, against those of torch."""

from __future__ import annotations

import pytest
from made_distributions import assert_agree, programs

TRANSFORMS = r"""
x = leaf(-1.5, 0.3, 30.); k = t.ExpTransform(); y = k(x); [y, k.inv(y), k.log_abs_det_jacobian(x,
    y), grads(y, x), k.sign, k.bijective, k.domain, k.codomain, k.event_dim]
x = leaf(-1.5, 0.3, 30.); k = t.SigmoidTransform(); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), grads(k.inv(k(x)), x), k.sign, k.domain, k.codomain]
x = leaf(-1.5, 0.3, 30.); k = t.SigmoidTransform(); grads(k.log_abs_det_jacobian(x, k(x)), x)
k = t.SigmoidTransform(); [k(leaf(-200., 200., dtype="float32")), k.inv(leaf(0., 1.,
    dtype="float32"))]
x = leaf(-1.5, 0.3, 30.); k = t.SoftplusTransform(); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), grads(k.inv(k(x)), x)]
x = leaf(-1.5, 0.3, 30.); k = t.TanhTransform(); y = k(x); [y, k.inv(y), k.log_abs_det_jacobian(x,
    y), grads(k.log_abs_det_jacobian(x, y), x), k.codomain]
x = leaf(-1.5, 0.3); k = t.AbsTransform(); y = k(x); [y, k.inv(y), k.bijective, k.codomain]
t.AbsTransform().sign
t.AbsTransform().log_abs_det_jacobian(1, 2)
x = leaf(1.5, 0.3); e = leaf(2., -1.5); k = t.PowerTransform(e); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), grads(k.log_abs_det_jacobian(x, k(x)), x, e), k.sign,
    k.forward_shape((3, 1)), k.inverse_shape(torch.Size([3, 1]))]
k = t.PowerTransform(2); [k.exponent, k.sign, k == t.PowerTransform(torch.tensor(2.)), k ==
    t.PowerTransform(3.), k == 1, k.with_cache().exponent]
t.PowerTransform("a")
x = leaf(1.5, 0.3); l = leaf(1.); s = leaf(-2., 3.); k = t.AffineTransform(l, s); y = k(x); [y,
    k.inv(y), k.log_abs_det_jacobian(x, y), k.sign, k.forward_shape((3, 1)), grads(k.inv(k(x)) +
    k.log_abs_det_jacobian(x, y), x, l, s)]
x = leaf([[1.5, 0.3]]); k = t.AffineTransform(1., 2., event_dim=1); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), k.sign, k.domain, k.codomain, k.event_dim]
x = leaf([[1.5, 0.3]]); k = t.AffineTransform(1., leaf([[2., 3.]]), event_dim=2);
    [k.log_abs_det_jacobian(x, k(x)), k.domain]
[t.AffineTransform(0, s).sign for s in (2, -1., 0)]
t.AffineTransform(0, 0).log_abs_det_jacobian(torch.ones(2), torch.ones(2))
t.AffineTransform(0, torch.ones(2), event_dim=1).log_abs_det_jacobian(torch.ones(3, 2), 0)
[t.AffineTransform(0, 1) == t.AffineTransform(0, 1.), t.AffineTransform(0, 1) ==
    t.AffineTransform(0, 2), t.AffineTransform(torch.zeros(2), 1) == t.AffineTransform(0, 1),
    t.AffineTransform(0, 1) == 3, t.AffineTransform(0, 1) != t.AffineTransform(0, 1)]
[getattr(t.AffineTransform, "domain"), t.AffineTransform.domain.is_discrete]
t.AffineTransform.domain.event_dim
x = leaf(0.3, -0.2, 0.7, 1., 0.5, -1.); k = t.CorrCholeskyTransform(); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), grads(y ** 3, x), c.corr_cholesky.check(y), k.forward_shape((2,
    6)), k.inverse_shape(torch.Size((2, 4, 4)))]
x = leaf([[0.3, -0.2, 0.7], [30., 0., 0.]], dtype="float32"); k = t.CorrCholeskyTransform(); y =
    k(x); [y, k.inv(y), k.log_abs_det_jacobian(x, y), grads(k.log_abs_det_jacobian(x, y), x)]
t.CorrCholeskyTransform().forward_shape((4,))
t.CorrCholeskyTransform().forward_shape(())
t.CorrCholeskyTransform().inverse_shape((4, 3))
t.CorrCholeskyTransform().inverse_shape((4,))
t.CorrCholeskyTransform().event_dim
t.CorrCholeskyTransform()(torch.ones(4))
x = leaf([[0.3, -0.2], [1., 2.]]); k = t.SoftmaxTransform(); y = k(x); [y, k.inv(y), grads(y ** 2,
    x), k.bijective, k.forward_shape((3,)), k.inverse_shape([4])]
t.SoftmaxTransform().forward_shape(())
x = leaf([[0.3, -0.2], [1., 2.]]); k = t.StickBreakingTransform(); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), grads(y ** 2, x), grads(k.log_abs_det_jacobian(x, k(x)), x),
    k.forward_shape(torch.Size((3,))), k.inverse_shape((4,))]
k = t.StickBreakingTransform(); k.inv(leaf(1., 0., 0., dtype="float32"))
t.StickBreakingTransform().inverse_shape(())
t.StickBreakingTransform().domain.event_dim
x = leaf([[0.3, -0.2], [1., 2.]]); k = t.LowerCholeskyTransform(); y = k(x); [y, k.inv(y), grads(y
    ** 2, x), k.event_dim, k.bijective]
x = leaf([[0.3, -0.2], [1., 2.]]); k = t.PositiveDefiniteTransform(); y = k(x); [y, k.inv(y),
    grads(y ** 2, x), grads(k.inv(k(x)), x)]
x = torch.arange(12.).reshape(2, 6); k = t.ReshapeTransform((6,), (2, 3)); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), k.domain, k.codomain, k.forward_shape((2, 6)),
    k.inverse_shape((2, 3)), k.forward_shape(torch.Size((1, 6)))]
t.ReshapeTransform((6,), (2, 2))
t.ReshapeTransform((6,), (2, 3)).forward_shape((2, 5))
t.ReshapeTransform((6,), (2, 3)).forward_shape(())
t.ReshapeTransform((6,), (2, 3)).inverse_shape((4,))
t.ReshapeTransform((6,), (2, 3)).event_dim
k = t.ReshapeTransform((6,), (2, 3)).with_cache(); [k._cache_size, k.in_shape, k.out_shape, k ==
    k, k == t.ReshapeTransform((6,), (2, 3))]
x = leaf(0.5, 1.); k = t.ComposeTransform([t.AffineTransform(1., 2.), t.ExpTransform(),
    t.PowerTransform(torch.tensor(-2.))]); y = k(x); [y, k.inv(y), k.log_abs_det_jacobian(x, y),
    k.sign, k.bijective, k.domain, k.codomain, grads(k.log_abs_det_jacobian(x, y), x)]
k = t.ComposeTransform([t.AffineTransform(1., 2.), t.ExpTransform()]); [k, k.inv, k.inv.inv is k,
    k.with_cache(), k == t.ComposeTransform([t.AffineTransform(1, 2), t.ExpTransform()]), k == 3,
    k.with_cache(0) is k]
k = t.identity_transform; x = leaf(1., 2.); [k, k(x), k.inv(x), k.log_abs_det_jacobian(x, x),
    k.sign, k.bijective, k.domain, k.codomain, k.event_dim]
k = t.ComposeTransform([t.ExpTransform(), t.StickBreakingTransform(), t.AffineTransform(0., 2.)]);
    x = leaf([[0.5, 1.]]); y = k(x); [y, k.log_abs_det_jacobian(x, y), k.domain, k.codomain,
    k.forward_shape((3, 2)), k.inverse_shape((3, 3)), k.event_dim]
k = t.ComposeTransform([t.ReshapeTransform((6,), (2, 3)), t.ExpTransform()]); x = leaf([[0.5, 1.,
    2., 3., 4., 5.]]); y = k(x); [y, k.log_abs_det_jacobian(x, y), k.domain, k.codomain]
t.ComposeTransform([t.ReshapeTransform((6,), (2, 3)), t.ExpTransform()]).event_dim
t.ComposeTransform([t.AbsTransform()]).sign
k = t.ComposeTransform([t.ExpTransform()], cache_size=1); [k.parts[0]._cache_size, k._cache_size]
x = leaf([[0.5, 1.]]); k = t.IndependentTransform(t.ExpTransform(), 1); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), k, k.domain, k.codomain, k.sign, k.bijective,
    k.forward_shape((2,)), k.inverse_shape((2,)), k.with_cache().base_transform._cache_size]
t.IndependentTransform(t.ExpTransform(), 1)(torch.tensor(1.))
t.IndependentTransform(t.ExpTransform(), 1).inv(torch.tensor(1.))
k = t.CatTransform([t.ExpTransform(), t.AffineTransform(0., 3.)], 0, [1, 2]); x = leaf(1., 2.,
    3.); y = k(x); [y, k.inv(y), k.log_abs_det_jacobian(x, y), k.length, k.event_dim, k.bijective,
    k.domain, k.codomain, grads(y, x), k.with_cache().transforms[0]._cache_size, k]
k = t.CatTransform([t.StickBreakingTransform(), t.StickBreakingTransform()], -2, [1, 2]); x =
    leaf([[1., 2.], [3., 4.], [0., 1.]]); k.event_dim
k = t.CatTransform([t.ExpTransform(), t.AffineTransform(0., 3., event_dim=1)], -2, [1, 2]); x =
    leaf([[1., 2.], [3., 4.], [0., 1.]]); y = k(x); [y, k.log_abs_det_jacobian(x, y), k.event_dim]
k = t.CatTransform([t.ExpTransform(), t.AffineTransform(0., 3., event_dim=1)], 1, [1, 1]); x =
    leaf([[1., 2.], [3., 4.], [0., 1.]]); y = k(x); [y, k.log_abs_det_jacobian(x, y), k.event_dim]
t.CatTransform([t.ExpTransform()], 0, [1])(torch.ones(2))
t.CatTransform([t.ExpTransform()], 1, [1])(torch.ones(2))
t.CatTransform([t.ExpTransform()], 0, [1]).inv(torch.ones(2))
t.CatTransform([t.ExpTransform()], 0, [1]).log_abs_det_jacobian(torch.ones(1), torch.ones(2))
t.CatTransform([t.ExpTransform()], 1, [1]).log_abs_det_jacobian(torch.ones(1), torch.ones(2))
t.CatTransform([t.ExpTransform()], 0, [1, 2])
t.CatTransform([3])
t.CatTransform([t.ExpTransform()]).lengths
k = t.StackTransform([t.ExpTransform(), t.AffineTransform(0., 3.)], 1); x = leaf([[1., 2.], [3.,
    4.], [0., 1.]]); y = k(x); [y, k.inv(y), k.log_abs_det_jacobian(x, y), k.bijective, k.domain,
    k.codomain, grads(y, x), k, k.with_cache().transforms]
t.StackTransform([t.ExpTransform()], 0)(torch.ones(2))
t.StackTransform([t.ExpTransform()], 2)(torch.ones(2))
t.StackTransform([t.ExpTransform()], 0).inv(torch.ones(2))
t.StackTransform([t.ExpTransform()], 0).log_abs_det_jacobian(torch.ones(1), torch.ones(2))
t.StackTransform([3])
k = t.ExpTransform(); [k.inv, k.inv.inv is k, k.inv is k.inv, k.inv.domain, k.inv.codomain,
    k.inv.bijective, k.inv.sign, k.inv == t.ExpTransform().inv, k.inv == k,
    k.inv.with_cache()._cache_size, k.inv.forward_shape((2,)), k.inv.event_dim]
k = t.ExpTransform(); x = leaf(1., 2.); [k.inv(x), k.inv.log_abs_det_jacobian(x, k.inv(x))]
k = t.ExpTransform(cache_size=1); x = leaf(1., 2.); y = k(x); [k(x) is y, k.inv(y) is x, k(y) is
    y, k._cached_x_y[0] is y, k.inv(leaf(1., 2.))]
k = t.ExpTransform(cache_size=0); x = leaf(1., 2.); y = k(x); [k(x) is y, k.inv(y) is x]
k = t.ExpTransform(cache_size=1); y = leaf(1., 2.); x = k.inv(y); [k.inv(y) is x, k(x) is y]
t.ExpTransform(cache_size=2)
t.ExpTransform().with_cache(2)
[t.ExpTransform() == t.ExpTransform(), t.ExpTransform() == t.SigmoidTransform(),
    t.SoftmaxTransform() == t.SoftmaxTransform(), t.CorrCholeskyTransform() ==
    t.CorrCholeskyTransform(), t.PositiveDefiniteTransform() != t.PositiveDefiniteTransform()]
hash(t.ExpTransform())
hash(t.Transform())
hash(t.CorrCholeskyTransform())
class M(t.Transform): __init__ = lambda self: t.Transform.__init__(self); M().with_cache()
[t.Transform().sign for _ in "a"]
t.Transform()(1)
t.Transform().inv(1)
t.Transform().domain
t.Transform().inv.domain
k = pickled(t.ExpTransform().inv); [k._inv is None, k.bijective]
k = pickled(t.AffineTransform(1, torch.ones(2))); [k.loc, k.scale, k._inv, k.inv]
k = copied(t.ComposeTransform([t.ExpTransform().with_cache()])); [k, k.parts[0]._cache_size]
[saved(t.StackTransform([t.ExpTransform()])), t.ExpTransform.__module__,
    t._InverseTransform.__module__]
k = t.CumulativeDistributionTransform(Normal(0., 2.)); x = leaf(1., -3.); y = k(x); [y, k.inv(y),
    k.log_abs_det_jacobian(x, y), k.domain, k.codomain, k.sign, k.with_cache()._cache_size]
"""

REGISTRIES = r"""
[biject_to(c.real), biject_to(c.positive), biject_to(c.simplex), biject_to(c.unit_interval),
    biject_to(c.interval(1, 3)).parts[1].scale, biject_to(c.real_vector),
    biject_to(c.corr_cholesky)]
[transform_to(c.real), transform_to(c.less_than(2)).parts[1].scale, transform_to(c.simplex),
    transform_to(c.half_open_interval(0, 1)), transform_to(c.lower_cholesky),
    transform_to(c.positive_definite), transform_to(c.positive_semidefinite),
    transform_to(c.greater_than_eq(3)).parts[1].loc]
[biject_to(c.cat([c.positive, c.real], 0, [1, 2])), transform_to(c.stack([c.positive, c.simplex],
    -1)).transforms, biject_to(c.independent(c.stack([c.real]), 1))]
biject_to(c.lower_cholesky)
biject_to(c.boolean)
transform_to(c.dependent)
transform_to(3)
transform_to.register(3, None)(lambda x: 1)
transform_to.register(3, 4)
r = D.constraint_registry.ConstraintRegistry(); r.register(c.positive)(lambda k: 5);
    [r(c.greater_than(3)), r.register(c.boolean, len) is len]
r = D.constraint_registry.ConstraintRegistry(); r(c.real)
[sorted(k.__name__ for k in r._registry) for r in (biject_to, transform_to)]
x = torch.linspace(-2, 2, 5); [transform_to(k)(x) for k in (c.positive, c.unit_interval,
    c.interval(-1., 3.), c.less_than(1.), c.greater_than(leaf(2.)), c.simplex)]
"""


@pytest.mark.parametrize("program", programs(TRANSFORMS))
def test_transforms_are_those_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(REGISTRIES))
def test_registries_are_those_of_torch(program):
    assert_agree(program)
