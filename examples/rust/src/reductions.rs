//! Reductions of some or all dimensions.

use crate::binary::{add_operation, compare, div, mul, select, sub};
use crate::copies::{cast, zeros_like};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, raised, runtime_error};
use crate::gathering::masked_fill_with;
use crate::geometry::places;
use crate::in_place::apply_in_place;
use crate::operation::{Context, Keep, Operation, apply, apply_many};
use crate::pointwise::{divide, number, pointwise_as, scale, whole};
use crate::state::{grad_mode, warn};
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
        Over { dims: all_dims(x), keep: false, named: false }
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
        let kept = values.iter().enumerate().filter(|(i, _)| over.dims.contains(i) == inside);
        kept.map(|(_, &value)| value).collect::<Vec<_>>()
    };
    let inner = places(&pick(&layout.shape, true), &pick(&layout.strides, true), 0);
    let outer = places(&pick(&layout.shape, false), &pick(&layout.strides, false), layout.offset);
    let data = layout.storage.data.borrow();
    outer.iter().map(|start| inner.iter().map(|step| data[start + step]).collect()).collect()
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
    // A tensor without dimensions can be expanded as it is.
    let wide = if over.dims.len() < shape.len() {
        reinserted(g, &Over { named: true, ..over.clone() })?
    } else {
        g.clone()
    };
    expand(&wide, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
}

/// A reduced tensor with dimensions of one element in place of those that were named.
pub fn reinserted(g: &Tensor, over: &Over) -> Outcome<Tensor> {
    if over.keep || !over.named {
        return Ok(g.clone());
    }
    let mut dims = over.dims.clone();
    dims.sort_unstable();
    dims.into_iter().try_fold(g.clone(), |wide, dim| unsqueeze(&wide, dim))
}

pub fn total(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() + 0.0
}

pub fn sum(x: &Tensor, dims: &[usize], keep: bool) -> Outcome<Tensor> {
    sum_over(x, &Over { dims: dims.to_vec(), keep, named: true })
}

/// The sum of some dimensions, in its own dtype.
pub fn sum_over(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    sum_as(x, over, counted(x.dtype()))
}

fn counted(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Int64 }
}

/// As `sum_over`, with elements that are cast first.
pub fn sum_as(x: &Tensor, over: &Over, dtype: DType) -> Outcome<Tensor> {
    check_differentiable(x, dtype)?;
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(&over.node("Sum"), move |x| {
        reduced(&cast(&x[0].detached(), dtype)?, &own, dtype, total)
    });
    apply(operation.to(move |g, c| restored(g, &again, c.shape(0))), &[x])
}

fn check_differentiable(x: &Tensor, dtype: DType) -> Outcome<()> {
    if !dtype.is_float() && x.requires_grad() && grad_mode() {
        let name = dtype.scalar_type();
        return Err(runtime_error(format!("Autograd not support dtype: {name}")));
    }
    Ok(())
}

pub fn mean(x: &Tensor, over: &Over, dtype: Option<DType>) -> Outcome<Tensor> {
    let dtype = dtype.unwrap_or(x.dtype());
    if !dtype.is_float() {
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
        let x = cast(&x[0].detached(), dtype)?;
        reduced(&x, &own, dtype, |values| total(values) / values.len() as f64)
    });
    let formula = move |g: &Tensor, c: &Context| {
        let count = again.count(c.shape(0));
        divide(&restored(g, &again, c.shape(0))?, count as f64)
    };
    apply(operation.to(formula), &[x])
}

pub fn prod(x: &Tensor, over: &Over, dtype: Option<DType>) -> Outcome<Tensor> {
    let dtype = dtype.unwrap_or(counted(x.dtype()));
    if matches!(dtype, DType::Float16 | DType::BFloat16) {
        return Err(lacks("products in half precision"));
    }
    check_differentiable(x, dtype)?;
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new(&over.node("Prod"), move |x| {
        reduced(&cast(&x[0].detached(), dtype)?, &own, dtype, |values| values.iter().product())
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, c.output(0)?);
        let (g, result) =
            (restored(g, &again, c.shape(0))?, restored(&result, &again, c.shape(0))?);
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

/// Where a tensor has a value; NaN equals itself.
pub fn mask_of(x: &Tensor, value: &Tensor) -> Outcome<Tensor> {
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
        reduced(&x[0], &own, x[0].dtype(), |values| values[best(values, is_better)])
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
    let operation =
        Operation::new(name, move |x| reduced(&x[0], &Over::all(&x[0]), x[0].dtype(), &f));
    let formula = |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, c.output(0)?);
        let mask = mask_of(&x, &result)?;
        let share = div(g, &sum_over(&mask, &Over::all(&mask))?)?;
        masked_fill_with(&zeros_like(&x)?, &mask, &share)
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// The variance, or its root.
pub fn variance(x: &Tensor, over: &Over, correction: f64, is_root: bool) -> Outcome<Tensor> {
    if !x.dtype().is_float() {
        return Err(raised(
            "NotImplementedError",
            "std and var only support floating point and complex dtypes",
        ));
    }
    if over.count(&x.shape()) as f64 - correction <= 0.0 {
        let name = if is_root { "std" } else { "var" };
        warn(
            "UserWarning",
            format!(
                "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the \
                 reduction factor (input numel divided by output numel)."
            ),
        );
    }
    let (own, again) = (over.clone(), over.clone());
    let compute = move |x: &[Tensor]| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let mean = total(values) / values.len() as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let freedom = (values.len() as f64 - correction).max(0.0);
            let found = if values.is_empty() { f64::NAN } else { squares / freedom };
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
        let center = mean(&x, &Over { keep: true, named: true, ..again.clone() }, None)?;
        let slope = scale(&restored(&g, &again, c.shape(0))?, 2.0 / (count - correction))?;
        mul(&slope, &sub(&x, &center)?)
    };
    let name = if is_root { "Std0" } else { "Var0" };
    let operation = Operation::new(name, compute).to(formula);
    apply(operation.saving(if is_root { BOTH } else { INPUT }), &[x])
}

/// The smallest and the largest elements, as `amin` and `amax`.
pub fn extremes(x: &Tensor, over: &Over) -> Outcome<(Tensor, Tensor)> {
    let (own, again) = (over.clone(), over.clone());
    let compute = move |x: &[Tensor]| {
        let least = reduced(&x[0], &own, x[0].dtype(), |v| v[best(v, |a, b| a < b)])?;
        let most = reduced(&x[0], &own, x[0].dtype(), |v| v[best(v, |a, b| a > b)])?;
        Ok(vec![least, most])
    };
    let formula = move |c: &Context| {
        let x = c.input(0)?;
        let mut sum: Option<Tensor> = None;
        for (nr, grad) in c.grads.iter().enumerate() {
            let Some(grad) = grad else { continue };
            let mask = compare("eq", &x, &restored(&c.output(nr)?, &again, c.shape(0))?)?;
            let count = crate::reductions::sum(&mask, &again.dims, true)?;
            let one = div(&mul(&restored(grad, &again, c.shape(0))?, &mask)?, &count)?;
            sum = Some(match sum {
                Some(before) => apply_in_place(add_operation(), &[&before, &one])?,
                None => one,
            });
        }
        Ok(vec![sum])
    };
    let operation = Operation::many("Aminmax0", compute)
        .saving(&[Keep::Input(0), Keep::Output(0), Keep::Output(1)])
        .all_to(formula);
    let mut made = apply_many(operation, std::slice::from_ref(x))?.into_iter();
    match (made.next(), made.next()) {
        (Some(least), Some(most)) => Ok((least, most)),
        _ => Err(runtime_error("no extremes")),
    }
}
