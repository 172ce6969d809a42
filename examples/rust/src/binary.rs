//! Elementwise operators of several tensors.

use crate::dtype::DType;
use crate::fault::{Outcome, lacks, raised, runtime_error};
use crate::gathering::masked_fill_operation;
use crate::in_place::apply_in_place;
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{
    divide, floating, number, pointwise, pointwise_as, promoted, scale, unary, whole,
};
use crate::tensor::Tensor;

const BOTH: &[Keep] = &[Keep::Input(0), Keep::Input(1)];

pub fn add_operation() -> Operation {
    Operation::new("Add0", |x| pointwise(x, promoted(x), |v| v[0] + v[1]))
        .to(|g, _| Ok(g.clone()))
        .to(|g, _| Ok(g.clone()))
}

pub fn add(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(add_operation(), &[x, y])
}

/// `x + alpha * y`, or its difference.
pub fn scaled_operation(name: &str, sign: f64, alpha: f64) -> Operation {
    let factor = sign * alpha;
    let compute = move |x: &[Tensor]| {
        if sign < 0.0 {
            without_bools(&x[0], &x[1])?;
        }
        promoted(x).check(factor)?;
        pointwise(x, promoted(x), |v| v[0] + factor * v[1])
    };
    Operation::new(name, compute).to(|g, _| Ok(g.clone())).to(move |g, _| match factor {
        1.0 => Ok(g.clone()),
        -1.0 => neg(g),
        _ => scale(g, factor),
    })
}

pub fn without_bools(x: &Tensor, y: &Tensor) -> Outcome<()> {
    let message = match (x.dtype(), y.dtype()) {
        (DType::Bool, DType::Bool) => {
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or \
             `logical_xor()` operator instead."
        }
        (DType::Bool, _) | (_, DType::Bool) => {
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying \
             to invert a mask, use the `~` or `logical_not()` operator instead."
        }
        _ => return Ok(()),
    };
    Err(raised("NotImplementedError", message))
}

pub fn sub(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(scaled_operation("Sub0", -1.0, 1.0), &[x, y])
}

/// `number - x`, which torch records as one operation of one tensor.
pub fn rsub(x: &Tensor, from: &Tensor) -> Outcome<Tensor> {
    let from = from.clone();
    let operation = Operation::new("Rsub1", move |x| {
        let inputs = [from.clone(), x[0].clone()];
        pointwise(&inputs, promoted(&inputs), |v| v[0] - v[1])
    });
    apply(operation.to(|g, _| neg(g)), &[x])
}

pub fn neg_operation() -> Operation {
    Operation::new("Neg0", |x| pointwise(x, x[0].dtype(), |v| -v[0])).to(|g, _| neg(g))
}

pub fn neg(x: &Tensor) -> Outcome<Tensor> {
    apply(neg_operation(), &[x])
}

pub fn mul_operation() -> Operation {
    Operation::new("Mul0", |x| pointwise(x, promoted(x), |v| v[0] * v[1]))
        .saving_crosswise()
        .to(|g, c| mul(g, &c.input(1)?))
        .to(|g, c| mul(g, &c.input(0)?))
}

pub fn mul(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(mul_operation(), &[x, y])
}

pub fn div_operation() -> Operation {
    Operation::new("Div0", |x| pointwise(x, floating(promoted(x)), |v| v[0] / v[1]))
        .saving_by(|needs| if needs[1] { BOTH.to_vec() } else { vec![Keep::Input(1)] })
        .to(|g, c| div(g, &c.input(1)?))
        .to(|g, c| {
            let (x, y) = (c.input(0)?, c.input(1)?);
            mul(&neg(g)?, &div(&div(&x, &y)?, &y)?)
        })
}

pub fn div(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(div_operation(), &[x, y])
}

/// Power with a tensor as the exponent.
pub fn pow_operation() -> Operation {
    Operation::new("Pow1", |x| pointwise(x, promoted(x), |v| v[0].powf(v[1])))
        .saving_by(|needs| {
            let mut kept = BOTH.to_vec();
            kept.extend(needs[1].then_some(Keep::Output(0)));
            kept
        })
        .to(|g, c| {
            let (x, y) = (c.input(0)?, c.input(1)?);
            let slope = mul(&y, &pow(&x, &sub(&y, &whole(1))?)?)?;
            select(&compare("eq", &y, &number(0.0))?, &number(0.0), &mul(g, &slope)?)
        })
        .to(|g, c| {
            let (x, y, result) = (c.input(0)?, c.input(1)?, c.output(0)?);
            let flat = pointwise_as(&[x.clone(), y], x.dtype(), DType::Bool, |v| {
                f64::from(u8::from(v[0] == 0.0 && v[1] >= 0.0))
            })?;
            let slope = mul(g, &mul(&result, &unary("log", &x)?)?)?;
            select(&flat, &number(0.0), &slope)
        })
}

pub fn pow(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(pow_operation(), &[x, y])
}

/// A number to the power of a tensor.
pub fn exponential(base: &Tensor, x: &Tensor) -> Outcome<Tensor> {
    let (base, again) = (base.clone(), base.clone());
    let operation = Operation::new("Pow2", move |x| {
        let inputs = [base.clone(), x[0].clone()];
        pointwise(&inputs, promoted(&inputs), |v| v[0].powf(v[1]))
    })
    .saving(&[Keep::Input(0), Keep::Output(0)])
    .to(move |g, c| {
        let result = c.output(0)?;
        let b = again.item()?;
        if b == 0.0 {
            let flat = compare("ge", &c.input(0)?, &whole(0))?;
            return select(&flat, &number(0.0), &mul(g, &mul(&result, &number(b.ln()))?)?);
        }
        mul(g, &mul(&result, &number(b.ln()))?)
    });
    apply(operation, &[x])
}

fn comparison(name: &str) -> fn(f64, f64) -> bool {
    match name {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b,
        "lt" => |a, b| a < b,
        "le" => |a, b| a <= b,
        "gt" => |a, b| a > b,
        _ => |a, b| a >= b,
    }
}

/// A bool tensor, element by element; it has no gradient.
pub fn compare(name: &str, x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    let f = comparison(name);
    let inputs = [x.clone(), y.clone()];
    pointwise_as(&inputs, promoted(&inputs), DType::Bool, |v| f64::from(u8::from(f(v[0], v[1]))))
}

/// Bools of each element.
pub fn test(x: &Tensor, f: fn(f64) -> bool) -> Outcome<Tensor> {
    pointwise_as(std::slice::from_ref(x), x.dtype(), DType::Bool, |v| f64::from(u8::from(f(v[0]))))
}

/// Elementwise maximum or minimum; at ties each operand gets half of the gradient.
fn extremum(name: &str, is_better: fn(f64, f64) -> bool) -> Operation {
    Operation::new(name, move |x| {
        pointwise(x, promoted(x), |v| match (v[0], v[1]) {
            (a, b) if a.is_nan() || b.is_nan() => a + b,
            (a, b) => {
                if is_better(a, b) {
                    a
                } else {
                    b
                }
            }
        })
    })
    .saving(BOTH)
    .to(move |g, c| share(g, &c.input(0)?, &c.input(1)?, is_better))
    .to(move |g, c| share(g, &c.input(1)?, &c.input(0)?, is_better))
}

fn share(
    g: &Tensor,
    own: &Tensor,
    other: &Tensor,
    is_better: fn(f64, f64) -> bool,
) -> Outcome<Tensor> {
    let dtype = promoted(&[own.clone(), other.clone()]);
    let lost = pointwise_as(&[other.clone(), own.clone()], dtype, DType::Bool, |v| {
        f64::from(u8::from(is_better(v[0], v[1])))
    })?;
    let half = select(&compare("eq", own, other)?, &divide(g, 2.0)?, g)?;
    apply_in_place(masked_fill_operation(0.0), &[&half, &lost])
}

/// A gradient that torch makes by writing so many times, which its version shows.
pub fn written(grad: Tensor, times: usize) -> Outcome<Tensor> {
    (0..times).for_each(|_| grad.bump());
    Ok(grad)
}

pub fn maximum(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(extremum("Maximum0", |a, b| a > b), &[x, y])
}

pub fn minimum(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    apply(extremum("Minimum0", |a, b| a < b), &[x, y])
}

/// `fmax` and `fmin`: the one that is a number; at ties both get half of the gradient.
pub fn number_extremum(name: &str, is_better: fn(f64, f64) -> bool) -> Operation {
    let first = move |v: &[f64]| v[1].is_nan() || is_better(v[0], v[1]) || v[0] == v[1];
    let share = move |g: &Tensor, c: &Context, own: usize| {
        let (x, y) = (c.input(own)?, c.input(1 - own)?);
        let dtype = promoted(&[x.clone(), y.clone()]);
        let test = move |v: &[f64]| match own {
            0 => v[1].is_nan() || is_better(v[0], v[1]),
            _ => !v[0].is_nan() && (v[1].is_nan() || is_better(v[0], v[1])),
        };
        let won = pointwise_as(&[x.clone(), y.clone()], dtype, DType::Bool, move |v| {
            f64::from(u8::from(test(v)))
        })?;
        let half = select(&compare("eq", &x, &y)?, &divide(g, 2.0)?, &number(0.0))?;
        written(select(&won, g, &half)?, 1)
    };
    Operation::new(name, move |x| pointwise(x, promoted(x), |v| if first(v) { v[0] } else { v[1] }))
        .saving(BOTH)
        .to(move |g, c| share(g, c, 0))
        .to(move |g, c| share(g, c, 1))
}

/// `torch.where`.
pub fn select(mask: &Tensor, x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    let operation = Operation::new("Where0", |x| {
        pointwise(x, promoted(&x[1..]), |v| if v[0] != 0.0 { v[1] } else { v[2] })
    })
    .saving(&[Keep::Input(0)])
    .skip()
    .to(|g, c| select(&c.input(0)?, g, &number(0.0)))
    .to(|g, c| select(&c.input(0)?, &number(0.0), g));
    apply(operation, &[mask, x, y])
}

pub fn clamp_operation(min: Option<Tensor>, max: Option<Tensor>) -> Outcome<Operation> {
    let low = min.as_ref().map(Tensor::item).transpose()?.unwrap_or(f64::NEG_INFINITY);
    let high = max.as_ref().map(Tensor::item).transpose()?.unwrap_or(f64::INFINITY);
    if min.is_none() && max.is_none() {
        return Err(runtime_error("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    let ends: Vec<Tensor> = min.into_iter().chain(max).collect();
    let compute = move |x: &[Tensor]| {
        let mut operands = ends.clone();
        operands.push(x[0].clone());
        let dtype = promoted(&operands);
        for end in [low, high].into_iter().filter(|end| end.is_finite()) {
            let wraps = dtype == DType::UInt8 && end < 0.0;
            if dtype.category() == 1 && (wraps || dtype.check(end).is_err()) {
                return Err(lacks(format!("bounds beyond {}", dtype.name())));
            }
            dtype.check(end)?;
        }
        let clamped = |x: f64| match x {
            _ if low.is_nan() || high.is_nan() => f64::NAN,
            _ if x.is_nan() => x,
            _ => x.max(low).min(high),
        };
        pointwise(x, dtype, |v| clamped(v[0]))
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let mask = pointwise_as(std::slice::from_ref(&x), x.dtype(), DType::Bool, |v| {
            f64::from(u8::from(v[0] > low && v[0] < high))
        })?;
        select(&mask, g, &number(0.0))
    };
    Ok(Operation::new("Clamp1", compute).saving(&[Keep::Input(0)]).to(formula))
}

/// The remainder of a division: of `fmod` with the sign of the dividend, else of the divisor.
pub fn remainder(x: &Tensor, y: &Tensor, truncates: bool) -> Outcome<Tensor> {
    let stem = if truncates { "Fmod" } else { "Remainder" };
    let rest = move |x: &[Tensor]| {
        let dtype = promoted(x);
        if !dtype.is_float() && x[1].values().contains(&0.0) {
            return Err(runtime_error("ZeroDivisionError"));
        }
        pointwise(x, dtype, |v| match v[0] % v[1] {
            rest if !truncates && rest != 0.0 && (rest < 0.0) != (v[1] < 0.0) => rest + v[1],
            rest => rest,
        })
    };
    if y.is_number() {
        let y = y.clone();
        let operation =
            Operation::new(&format!("{stem}0"), move |x| rest(&[x[0].clone(), y.clone()]));
        return apply(operation.to(|g, _| Ok(g.clone())), &[x]);
    }
    let rounded = move |v: f64| if truncates { v.trunc() } else { v.floor() };
    let operation = Operation::new(&format!("{stem}1"), rest)
        .saving_by(|needs| if needs[1] { BOTH.to_vec() } else { vec![] })
        .to(|g, _| Ok(g.clone()))
        .to(move |g, c| {
            let inputs = [c.input(0)?, c.input(1)?];
            mul(&neg(g)?, &pointwise(&inputs, g.dtype(), |v| rounded(v[0] / v[1]))?)
        });
    apply(operation, &[x, y])
}

pub fn atan2(y: &Tensor, x: &Tensor) -> Outcome<Tensor> {
    let operation =
        Operation::new("Atan20", |v| pointwise(v, floating(promoted(v)), |v| v[0].atan2(v[1])))
            .saving(BOTH)
            .to(|g, c| {
                let (y, x) = (c.input(0)?, c.input(1)?);
                mul(g, &over_square(&x, &y, &x)?)
            })
            .to(|g, c| {
                let (y, x) = (c.input(0)?, c.input(1)?);
                mul(g, &over_square(&neg(&y)?, &y, &x)?)
            });
    apply(operation, &[y, x])
}

/// A part of a slope of `atan2`, which is zero at the origin.
fn over_square(part: &Tensor, y: &Tensor, x: &Tensor) -> Outcome<Tensor> {
    let square = add(&mul(y, y)?, &mul(x, x)?)?;
    select(&compare("eq", &square, &whole(0))?, &number(0.0), &div(part, &square)?)
}
