//! Softmax, its logarithm, and the logarithm of a sum of exponentials.

use crate::binary::{mul, sub};
use crate::copies::cast;
use crate::dtype::DType;
use crate::fault::{Outcome, lacks};
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{pointwise, pointwise_as, unary};
use crate::reductions::{Over, best, reduced, restored, sum_over};
use crate::tensor::Tensor;

const BOTH: &[Keep] = &[Keep::Input(0), Keep::Output(0)];

pub fn log_sum_exp(x: &Tensor, over: &Over) -> Outcome<Tensor> {
    let (own, again) = (over.clone(), over.clone());
    let operation = Operation::new("Logsumexp0", move |x| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let top = if top.is_infinite() { 0.0 } else { top };
            values.iter().map(|value| (value - top).exp()).sum::<f64>().ln() + top
        })
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, result) = (c.input(0)?, restored(&c.output(0)?, &again, c.shape(0))?);
        mul(&restored(g, &again, c.shape(0))?, &unary("exp", &sub(&x, &result)?)?)
    };
    apply(operation.saving(BOTH).to(formula), &[x])
}

/// `softmax`, or its logarithm, along a dimension.
pub fn softmax(x: &Tensor, dim: usize, is_log: bool) -> Outcome<Tensor> {
    if !x.dtype().is_float() {
        return Err(lacks(format!("softmax of {}", x.dtype().name())));
    }
    let dims = if x.dim() == 0 { vec![] } else { vec![dim] };
    let over = Over { dims, keep: true, named: true };
    let compute = {
        let over = over.clone();
        move |x: &[Tensor]| {
            let top = |v: &[f64]| v.get(best(v, |a, b| a > b)).copied().unwrap_or(0.0);
            let top = reduced(&x[0], &over, DType::Float64, top)?;
            let (x, top) = (x[0].detached(), top);
            let shifted =
                pointwise(&[cast(&x, DType::Float64)?, top], DType::Float64, |v| v[0] - v[1])?;
            let sums =
                reduced(&shifted, &over, DType::Float64, |v| v.iter().map(|v| v.exp()).sum())?;
            let made = pointwise_as(&[shifted, sums], DType::Float64, x.dtype(), |v| {
                if is_log { v[0] - v[1].ln() } else { v[0].exp() / v[1] }
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
    apply(Operation::new(name, compute).saving(&[Keep::Output(0)]).to(formula), &[x])
}
