//! Reductions of some or all dimensions.

use crate::binary::{compare, div, mul, select, sub, written};
use crate::copies::{cast, zeros_like};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, raised, runtime_error};
use crate::geometry::places;
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{number, pointwise, pointwise_as, power, unary, whole};
use crate::state::grad_mode;
use crate::tensor::Tensor;
use crate::views::{expand, unsqueeze};

const INPUT: &[Keep] = &[Keep::Input(0)];
const BOTH: &[Keep] = &[Keep::Input(0), Keep::Output(0)];

pub fn all_dims(x: &Tensor) -> Vec<usize> {
    (0..x.dim()).collect()
}

/// Which dimensions a reduction takes away.
#[derive(Clone)]
pub struct Over {
    pub dims: Vec<usize>,
    pub keep: bool,
    /// Whether the program named dimensions: torch's operator is another one then.
    pub named: bool,
}

impl Over {
    pub fn all(x: &Tensor) -> Over {
        Over {
            dims: all_dims(x),
            keep: false,
            named: false,
        }
    }

    /// The name of the node: those of reductions with dimensions have another number.
    fn node(&self, stem: &str) -> String {
        format!("{stem}{}", u8::from(self.named))
    }

    fn shape(&self, shape: &[usize]) -> Vec<usize> {
        let sizes = shape.iter().enumerate();
        sizes
            .filter(|(i, _)| self.keep || !self.dims.contains(i))
            .map(|(i, &size)| if self.dims.contains(&i) { 1 } else { size })
            .collect()
    }

    /// The number of elements of which one is made.
    pub fn count(&self, shape: &[usize]) -> usize {
        self.dims.iter().map(|&dim| shape[dim]).product()
    }
}

/// The elements of each result, in the order of the results.
pub fn groups(x: &Tensor, over: &Over) -> Vec<Vec<f64>> {
    let layout = x.layout();
    let pick = |values: &[usize], inside: bool| {
        let kept = values
            .iter()
            .enumerate()
            .filter(|(i, _)| over.dims.contains(i) == inside);
        kept.map(|(_, &value)| value).collect::<Vec<_>>()
    };
    let inner = places(&pick(&layout.shape, true), &pick(&layout.strides, true), 0);
    let outer = places(
        &pick(&layout.shape, false),
        &pick(&layout.strides, false),
        layout.offset,
    );
    let data = layout.storage.data.borrow();
    outer
        .iter()
        .map(|start| inner.iter().map(|step| data[start + step]).collect())
        .collect()
}

pub fn reduced(
    x: &Tensor,
    over: &Over,
    dtype: DType,
    f: impl Fn(&[f64]) -> f64,
) -> Outcome<Tensor> {
    let values: Vec<f64> = groups(x, over).iter().map(|group| f(group)).collect();
    Tensor::new(&over.shape(&x.shape()), dtype, &values)
}

/// A reduced tensor, such as a gradient, in the shape before the reduction.
pub fn restored(g: &Tensor, over: &Over, shape: &[usize]) -> Outcome<Tensor> {
    let mut wide = g.clone();
    if !over.keep && over.dims.len() < shape.len() {
        let mut dims = over.dims.clone();
        dims.sort_unstable();
        for dim in dims {
            wide = unsqueeze(&wide, dim)?;
        }
    } else if !over.keep && g.dim() > 0 {
        wide = g.clone();
    }
    expand(
        &wide,
        &shape.iter().map(|&size| size as i64).collect::<Vec<_>>(),
    )
}

pub fn total(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() + 0.0
}

pub fn sum(x: &Tensor, dims: &[usize], keep: bool) -> Outcome<Tensor> {
    sum_over(
        x,
        &Over {
            dims: dims.to_vec(),
            keep,
            named: true,
        },
    )
}

pub fn sum_over(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(&over.node("Sum"), move |x| {
        let dtype = x[0].dtype();
        reduced(
            &x[0],
            &own,
            if dtype.is_float() {
                dtype
            } else {
                DType::Int64
            },
            total,
        )
    });
    apply(
        operation.to(move |g, c| restored(g, &again, c.shape(0))),
        &[x],
    )
}

pub fn mean(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    if !x.dtype().is_float() {
        return Err(raised(
            "NotImplementedError",
            format!(
                "mean(): could not infer output dtype. Input dtype must be either a floating point \
                 or complex dtype. Got: {}",
                x.dtype().scalar_type()
            ),
        ));
    }
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(&over.node("Mean"), move |x| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            total(values) / values.len() as f64
        })
    });
    let formula = move |g: &Tensor, c: &Context| {
        let count = again.count(c.shape(0));
        div(&restored(g, &again, c.shape(0))?, &whole(count as i64))
    };
    apply(operation.to(formula), &[x])
}

pub fn prod(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(&over.node("Prod"), move |x| {
        let dtype = x[0].dtype();
        let dtype = if dtype.is_float() {
            dtype
        } else {
            DType::Int64
        };
        reduced(&x[0], &own, dtype, |values| values.iter().product())
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, c.output(0)?);
        let (g, result) = (
            restored(g, &again, c.shape(0))?,
            restored(&result, &again, c.shape(0))?,
        );
        if !x.values().contains(&0.0) {
            return mul(&g, &div(&result, &x)?);
        }
        if grad_mode() {
            return Err(lacks("the second derivative of a product with a zero"));
        }
        mul(&g, &products_of_others(&x, &again)?)
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// For each element the product of the others.
fn products_of_others(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    let layout = Tensor::new(
        &x.shape(),
        DType::Int64,
        &(0..x.count()).map(|i| i as f64).collect::<Vec<_>>(),
    )?;
    let mut values = vec![0.0; x.count()];
    for (group, places) in groups(x, over).iter().zip(groups(&layout, over)) {
        for (i, place) in places.into_iter().enumerate() {
            let others = group.iter().enumerate().filter(|(j, _)| *j != i);
            values[place as usize] = others.map(|(_, value)| value).product();
        }
    }
    Tensor::new(&x.shape(), x.dtype(), &values)
}

/// The best of some elements; NaN is best of all.
pub fn best(values: &[f64], is_better: fn(f64, f64) -> bool) -> usize {
    let mut found = 0;
    for (i, &value) in values.iter().enumerate() {
        let champion = values[found];
        if !champion.is_nan() && (value.is_nan() || is_better(value, champion)) {
            found = i;
        }
    }
    found
}

fn mask_of(x: &Tensor, value: &Tensor) -> Outcome<Tensor> {
    pointwise_as(&[x.clone(), value.clone()], x.dtype(), DType::Bool, |v| {
        f64::from(u8::from(v[0] == v[1] || (v[0].is_nan() && v[1].is_nan())))
    })
}

/// `amax` and `amin`: all elements that equal the extreme value share the gradient evenly.
pub fn shared_extreme(
    x: &Tensor,
    stem: &str,
    over: &Over,
    is_better: fn(f64, f64) -> bool,
) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(stem, move |x| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            values[best(values, is_better)]
        })
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, c.output(0)?);
        let mask = compare("eq", &x, &restored(&result, &again, c.shape(0))?)?;
        let count = sum(&mask, &again.dims, true)?;
        div(&mul(&restored(g, &again, c.shape(0))?, &mask)?, &count)
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// `max` and `min` over all elements, or `median`: as `amax`, but NaN equals itself.
pub fn whole_extreme(
    x: &Tensor,
    name: &str,
    f: impl Fn(&[f64]) -> f64 + 'static,
) -> Outcome<Tensor> {
    let operation = Operation::new(name, move |x| {
        reduced(&x[0], &Over::all(&x[0]), x[0].dtype(), &f)
    });
    let formula = |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, c.output(0)?);
        let mask = mask_of(&x, &result)?;
        let share = div(g, &cast(&sum(&mask, &all_dims(&x), false)?, g.dtype())?)?;
        written(select(&mask, &share, &number(0.0))?, 1)
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// The variance, or its root.
pub fn variance(x: &Tensor, over: &Over, correction: f64, is_root: bool) -> Outcome<Tensor> {
    if !x.dtype().is_float() {
        let name = if is_root { "std" } else { "var" };
        return Err(runtime_error(format!(
            "{name} and {name}_mean only support floating point and complex dtypes"
        )));
    }
    let (own, again) = (over.clone(), over.clone());
    let compute = move |x: &[Tensor]| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let mean = total(values) / values.len() as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let found = squares / (values.len() as f64 - correction).max(0.0);
            if is_root { found.sqrt() } else { found }
        })
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let mut g = g.clone();
        if is_root {
            let result = c.output(0)?;
            let flat = compare("eq", &result, &whole(0))?;
            g = select(&flat, &number(0.0), &div(&g, &mul(&result, &whole(2))?)?)?;
        }
        let count = again.count(c.shape(0)) as f64;
        let center = mean(
            &x,
            &Over {
                keep: true,
                named: true,
                ..again.clone()
            },
        )?;
        let slope = mul(
            &number(2.0 / (count - correction)),
            &restored(&g, &again, c.shape(0))?,
        )?;
        mul(&slope, &sub(&x, &center)?)
    };
    let name = if is_root { "Std0" } else { "Var0" };
    let operation = Operation::new(name, compute).to(formula);
    apply(operation.saving(if is_root { BOTH } else { INPUT }), &[x])
}

/// `torch.linalg.vector_norm`.
pub fn norm(x: &Tensor, order: f64, over: &Over) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let compute = move |x: &[Tensor]| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let sizes = values.iter().map(|value| value.abs());
            match order {
                f64::INFINITY => sizes.fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b }),
                f64::NEG_INFINITY => {
                    sizes.fold(
                        f64::INFINITY,
                        |a, b| if a.is_nan() || a < b { a } else { b },
                    )
                }
                0.0 => values.iter().filter(|&&value| value != 0.0).count() as f64,
                2.0 => values.iter().map(|value| value * value).sum::<f64>().sqrt(),
                _ => sizes
                    .map(|size| size.powf(order))
                    .sum::<f64>()
                    .powf(1.0 / order),
            }
        })
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let g = restored(g, &again, c.shape(0))?;
        let result = restored(&c.output(0)?, &again, c.shape(0))?;
        norm_gradient(&g, &x, &result, order, &again)
    };
    apply(
        Operation::new("LinalgVectorNorm0", compute)
            .saving(BOTH)
            .to(formula),
        &[x],
    )
}

fn norm_gradient(
    g: &Tensor,
    x: &Tensor,
    result: &Tensor,
    order: f64,
    over: &Over,
) -> Outcome<Tensor> {
    let unless_zero =
        |value: &Tensor| select(&compare("eq", result, &whole(0))?, &number(0.0), value);
    if order == 0.0 {
        return zeros_like(x);
    }
    if order == 1.0 {
        return mul(&unary("sign", x)?, g);
    }
    if order == 2.0 {
        return mul(x, &unless_zero(&div(g, result)?)?);
    }
    if order.is_infinite() {
        let mask = compare("eq", &unary("abs", x)?, result)?;
        let count = sum(&mask, &over.dims, true)?;
        let share = div(&mask, &count)?;
        return mul(&mul(&unary("sign", x)?, &cast(&share, x.dtype())?)?, g);
    }
    let size = unary("abs", x)?;
    let scaled = if order < 2.0 {
        let slope = mul(&unary("sign", x)?, &power(&size, order - 1.0)?)?;
        select(&compare("eq", x, &whole(0))?, &number(0.0), &slope)?
    } else {
        mul(x, &power(&size, order - 2.0)?)?
    };
    mul(
        &scaled,
        &unless_zero(&div(g, &power(result, order - 1.0)?)?)?,
    )
}

pub fn log_sum_exp(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new("Logsumexp0", move |x| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let top = if top.is_infinite() { 0.0 } else { top };
            values
                .iter()
                .map(|value| (value - top).exp())
                .sum::<f64>()
                .ln()
                + top
        })
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, restored(&c.output(0)?, &again, c.shape(0))?);
        mul(
            &restored(g, &again, c.shape(0))?,
            &unary("exp", &sub(&x, &result)?)?,
        )
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// `softmax`, or its logarithm, along a dimension.
pub fn softmax(x: &Tensor, dim: usize, is_log: bool) -> Outcome<Tensor> {
    let dims = if x.dim() == 0 { vec![] } else { vec![dim] };
    let over = Over {
        dims,
        keep: true,
        named: true,
    };
    let compute = {
        let over = over.clone();
        move |x: &[Tensor]| {
            let top = reduced(&x[0], &over, DType::Float64, |v| v[best(v, |a, b| a > b)])?;
            let (x, top) = (x[0].detached(), top);
            let shifted = pointwise(&[cast(&x, DType::Float64)?, top], DType::Float64, |v| {
                v[0] - v[1]
            })?;
            let sums = reduced(&shifted, &over, DType::Float64, |v| {
                v.iter().map(|v| v.exp()).sum()
            })?;
            let made = pointwise_as(&[shifted, sums], DType::Float64, x.dtype(), |v| {
                if is_log {
                    v[0] - v[1].ln()
                } else {
                    v[0].exp() / v[1]
                }
            })?;
            Tensor::new(&x.shape(), x.dtype(), &made.values())
        }
    };
    let formula = move |g: &Tensor, c: &Context| {
        let y = c.output(0)?;
        if is_log {
            return sub(g, &mul(&unary("exp", &y)?, &sum_over(g, &over)?)?);
        }
        let product = mul(g, &y)?;
        sub(&product, &mul(&y, &sum_over(&product, &over)?)?)
    };
    let name = if is_log { "LogSoftmax0" } else { "Softmax0" };
    apply(
        Operation::new(name, compute)
            .saving(&[Keep::Output(0)])
            .to(formula),
        &[x],
    )
}
