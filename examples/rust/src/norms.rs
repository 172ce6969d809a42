//! Norms of vectors.

use crate::binary::{compare, div, mul, select};
use crate::fault::{Outcome, lacks};
use crate::gathering::masked_fill_operation;
use crate::in_place::apply_in_place;
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{number, power, sgn, unary, whole};
use crate::reductions::{Over, mask_of, reduced, reinserted, sum};
use crate::tensor::Tensor;

const BOTH: &[Keep] = &[Keep::Input(0), Keep::Output(0)];

/// `torch.linalg.vector_norm`.
pub fn norm(x: &Tensor, order: f64, over: &Over) -> Outcome<Tensor> {
    if order.is_nan() || (order.is_infinite() && over.count(&x.shape()) == 0) {
        return Err(lacks("this norm of these elements"));
    }
    let (own, again) = (over.clone(), over.clone());
    let compute = move |x: &[Tensor]| {
        reduced(&x[0], &own, x[0].dtype(), |values| {
            let sizes = values.iter().map(|value| value.abs());
            match order {
                f64::INFINITY => sizes.fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b }),
                f64::NEG_INFINITY => {
                    sizes.fold(f64::INFINITY, |a, b| if a.is_nan() || a < b { a } else { b })
                }
                0.0 => values.iter().filter(|&&value| value != 0.0).count() as f64,
                2.0 => values.iter().map(|value| value * value).sum::<f64>().sqrt(),
                _ => sizes.map(|size| size.powf(order)).sum::<f64>().powf(1.0 / order),
            }
        })
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let g = reinserted(g, &again)?;
        let result = reinserted(&c.output(0)?, &again)?;
        gradient(&g, &x, &result, order, &again)
    };
    apply(Operation::new("LinalgVectorNorm0", compute).saving(BOTH).maybe_to(formula), &[x])
}

/// The gradient of a norm; none where it counts elements.
fn gradient(
    g: &Tensor,
    x: &Tensor,
    result: &Tensor,
    order: f64,
    over: &Over,
) -> Outcome<Option<Tensor>> {
    let unless_zero = |value: &Tensor| {
        let flat = compare("eq", result, &whole(0))?;
        apply_in_place(masked_fill_operation(0.0), &[value, &flat])
    };
    if order == 0.0 {
        return Ok(None);
    }
    let found = if order == 1.0 {
        mul(&sgn(x)?, g)?
    } else if order == 2.0 {
        mul(g, &unless_zero(&div(x, result)?)?)?
    } else if order.is_infinite() {
        let mask = mask_of(&unary("abs", x)?, result)?;
        let share = div(g, &sum(&mask, &over.dims, true)?)?;
        mul(&mul(&sgn(x)?, &share)?, &mask)?
    } else {
        let size = unary("abs", x)?;
        let scaled = if order < 2.0 {
            let slope = mul(&sgn(x)?, &power(&size, order - 1.0)?)?;
            select(&compare("eq", x, &whole(0))?, &number(0.0), &slope)?
        } else {
            mul(x, &power(&size, order - 2.0)?)?
        };
        mul(&scaled, &unless_zero(&div(g, &power(result, order - 1.0)?)?)?)?
    };
    Ok(Some(found))
}
