//! Activations, and other elementwise functions with a kink.

use super::{Arguments, Entry, both, function};
use crate::binary::{compare, div, mul, select, written};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, runtime_error};
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{floating, number, pointwise, pointwise_as, promoted, whole};
use crate::state::grad_mode;
use crate::tensor::Tensor;
use crate::value::Value;

const BOTH: &[Keep] = &[Keep::Input(0), Keep::Input(1)];

/// An elementwise function with its slope, which is not differentiated again.
fn shaped(
    x: &Tensor,
    name: &str,
    f: impl Fn(f64) -> f64 + 'static,
    slope: impl Fn(f64) -> f64 + 'static,
) -> Outcome<Value> {
    if !x.dtype().is_float() {
        return Err(lacks(format!("{name} of {}", x.dtype().name())));
    }
    let own = name.to_string();
    let formula = move |g: &Tensor, c: &Context| {
        if grad_mode() {
            return Err(lacks(format!("the second derivative of {own}")));
        }
        let x = c.input(0)?;
        let slopes =
            pointwise_as(std::slice::from_ref(&x), x.dtype(), DType::Float64, |v| slope(v[0]))?;
        pointwise_as(&[g.clone(), slopes], DType::Float64, g.dtype(), |v| v[0] * v[1])
    };
    let operation = Operation::new(name, move |x| pointwise(x, x[0].dtype(), |v| f(v[0])));
    apply(operation.saving(&[Keep::Input(0)]).to(formula), &[x]).map(Value::Tensor)
}

fn elu(x: &Tensor, name: &str, alpha: f64, scale: f64, inner: f64) -> Outcome<Value> {
    shaped(
        x,
        name,
        move |v| if v < 0.0 { (v * inner).exp_m1() * alpha * scale } else { v * scale },
        move |v| if v > 0.0 { scale } else { inner * alpha * scale * (v * inner).exp() },
    )
}

fn threshold(a: &Arguments) -> Outcome<Value> {
    let (limit, value) = (a.float(1)?, a.float(2)?);
    shaped(
        &a.tensor(0)?,
        "Threshold0",
        move |v| if v <= limit { value } else { v },
        move |v| if v <= limit { 0.0 } else { 1.0 },
    )
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// An elementwise function of two tensors, with the slope in each.
fn of_two(
    a: &Arguments,
    name: &str,
    f: impl Fn(f64, f64) -> f64 + 'static,
    slopes: [fn(f64, f64) -> f64; 2],
) -> Outcome<Value> {
    let own = name.to_string();
    let slope = move |g: &Tensor, c: &Context, i: usize| {
        if grad_mode() {
            return Err(lacks(format!("the second derivative of {own}")));
        }
        let inputs = [c.input(0)?, c.input(1)?];
        let slopes =
            pointwise_as(&inputs, promoted(&inputs), DType::Float64, |v| slopes[i](v[0], v[1]))?;
        pointwise_as(&[g.clone(), slopes], DType::Float64, g.dtype(), |v| v[0] * v[1])
    };
    let again = slope.clone();
    let compute = move |x: &[Tensor]| pointwise(x, floating(promoted(x)), |v| f(v[0], v[1]));
    let operation = Operation::new(name, compute)
        .saving(BOTH)
        .to(move |g, c| slope(g, c, 0))
        .to(move |g, c| again(g, c, 1));
    apply(operation, &[&a.operand(0)?, &a.operand(1)?]).map(Value::Tensor)
}

fn hypot(a: &Arguments) -> Outcome<Value> {
    let operation = Operation::new("Hypot0", |x| pointwise(x, promoted(x), |v| v[0].hypot(v[1])))
        .saving(&[Keep::Input(0), Keep::Input(1), Keep::Output(0)])
        .to(|g, c| mul(g, &div(&c.input(0)?, &c.output(0)?)?))
        .to(|g, c| mul(g, &div(&c.input(1)?, &c.output(0)?)?));
    apply(operation, &[&a.tensor(0)?, &a.tensor(1)?]).map(Value::Tensor)
}

/// `heaviside`, which torch records without a derivative.
fn heaviside(a: &Arguments) -> Outcome<Value> {
    let (x, y) = (a.tensor(0)?, a.tensor(1)?);
    if x.dtype() != y.dtype() {
        return Err(runtime_error(
            "heaviside is not yet implemented for tensors with different dtypes.",
        ));
    }
    let step = |v: &[f64]| match v[0] {
        v if v.is_nan() => f64::NAN,
        0.0 => v[1],
        v => f64::from(u8::from(v > 0.0)),
    };
    let refused = |_: &Tensor, _: &Context| {
        Err(runtime_error("derivative for aten::heaviside is not implemented"))
    };
    let operation = Operation::new("Heaviside0", move |x| pointwise(x, x[0].dtype(), step));
    let operation = operation.named("NotImplemented").to(refused);
    let operation = if y.requires_grad() { operation.to(refused) } else { operation.skip() };
    apply(operation, &[&x, &y]).map(Value::Tensor)
}

/// `x * log(y)`, zero where `x` is.
fn xlogy(a: &Arguments) -> Outcome<Value> {
    of_two(
        a,
        "Xlogy0",
        |x, y| {
            if y.is_nan() {
                y
            } else if x == 0.0 {
                0.0
            } else {
                x * y.ln()
            }
        },
        [|x, y| if x == 0.0 && y <= 0.0 { 0.0 } else { y.ln() }, |x, y| x / y],
    )
}

fn smooth(v: f64, beta: f64) -> f64 {
    if v.abs() < beta { 0.5 * v * v / beta } else { v.abs() - 0.5 * beta }
}

/// The number that the sum of the losses is divided by; none without a reduction.
pub fn divisor(reduction: &str, losses: &Tensor) -> Outcome<Option<f64>> {
    match reduction {
        "none" => Ok(None),
        "sum" => Ok(Some(1.0)),
        "mean" => Ok(Some(losses.count() as f64)),
        other => Err(lacks(format!("the reduction {other}"))),
    }
}

/// The losses, or their sum over the divisor.
pub fn reduced_loss(losses: Tensor, divisor: Option<f64>) -> Outcome<Tensor> {
    match divisor {
        None => Ok(losses),
        Some(count) => {
            let total: f64 = losses.values().iter().sum();
            Tensor::new(&[], losses.dtype(), &[total / count])
        }
    }
}

/// A loss of differences, one operation with its reduction.
fn loss(
    a: &Arguments,
    name: &str,
    f: impl Fn(f64) -> f64 + 'static,
    slope: impl Fn(f64) -> f64 + Clone + 'static,
) -> Outcome<Value> {
    let (x, y, reduction) = (a.tensor(0)?, a.tensor(1)?, a.text(2)?);
    if x.shape() != y.shape() || x.dtype() != y.dtype() || x.count() == 0 {
        return Err(lacks("losses of different shapes or dtypes"));
    }
    let count = divisor(&reduction, &x)?;
    let compute =
        move |v: &[Tensor]| reduced_loss(pointwise(v, promoted(v), |v| f(v[0] - v[1]))?, count);
    let share = move |g: &Tensor, c: &Context, sign: f64| {
        if grad_mode() {
            return Err(lacks("the second derivative of a loss"));
        }
        let part = sign / count.unwrap_or(1.0);
        let inputs = [c.input(0)?, c.input(1)?, g.clone()];
        pointwise(&inputs, g.dtype(), |v| slope(v[0] - v[1]) * part * v[2])
    };
    let again = share.clone();
    let operation = Operation::new(name, compute)
        .saving(BOTH)
        .to(move |g, c| share(g, c, 1.0))
        .to(move |g, c| again(g, c, -1.0));
    apply(operation, &[&x, &y]).map(Value::Tensor)
}

fn smooth_l1(a: &Arguments) -> Outcome<Value> {
    let beta = a.float(3)?;
    if beta <= 0.0 {
        return Err(lacks("smooth_l1_loss without a curve"));
    }
    let slope = move |v: f64| match v {
        v if v.is_nan() => v,
        v if v.abs() < beta => v / beta,
        v => crate::pointwise::sign(v),
    };
    loss(a, "SmoothL1Loss0", move |v| smooth(v, beta), slope)
}

fn huber(a: &Arguments) -> Outcome<Value> {
    let delta = a.float(3)?;
    if delta <= 0.0 {
        return Err(runtime_error("huber_loss does not support non-positive values for delta."));
    }
    let slope = move |v: f64| v.clamp(-delta, delta);
    loss(a, "HuberLoss0", move |v| delta * smooth(v, delta), slope)
}

/// `clamp` with tensors, any of which may be missing; at a tie each has half of the gradient.
fn clamped(x: &Tensor, low: Option<Tensor>, high: Option<Tensor>) -> Outcome<Tensor> {
    let none = |value: f64| Tensor::number(value, x.dtype());
    let low = low.unwrap_or_else(|| none(f64::NEG_INFINITY));
    let high = high.unwrap_or_else(|| none(f64::INFINITY));
    let share = |v: &[f64]| -> [f64; 3] {
        match (v[0], v[1], v[2]) {
            (x, low, high) if x.is_nan() || low.is_nan() || high.is_nan() => [1.0, 0.0, 0.0],
            (_, low, high) if low > high => [0.0, 0.0, 1.0],
            (x, low, _) if x < low => [0.0, 1.0, 0.0],
            (x, _, high) if x > high => [0.0, 0.0, 1.0],
            (x, low, high) if x == low && x < high => [0.5, 0.5, 0.0],
            (x, low, high) if x == high && x > low => [0.5, 0.0, 0.5],
            _ => [1.0, 0.0, 0.0],
        }
    };
    let gradient = move |g: &Tensor, c: &Context, i: usize| {
        let inputs = [c.input(0)?, c.input(1)?, c.input(2)?];
        let shares = pointwise(&inputs, g.dtype(), |v| share(v)[i])?;
        let made = select(&compare("eq", &shares, &whole(0))?, &number(0.0), &mul(g, &shares)?)?;
        written(made, 1)
    };
    let operation = Operation::new("Clamp0", |x| {
        pointwise(x, promoted(x), |v| if v[0].is_nan() { v[0] } else { v[0].max(v[1]).min(v[2]) })
    })
    .saving(&[Keep::Input(0), Keep::Input(1), Keep::Input(2)])
    .to(move |g, c| gradient(g, c, 0))
    .to(move |g, c| gradient(g, c, 1))
    .to(move |g, c| gradient(g, c, 2));
    apply(operation, &[x, &low, &high])
}

/// `clamp` with at least one tensor.
pub fn clamp_with(a: &Arguments) -> Outcome<Value> {
    let end = |i: usize| match a.at(i) {
        Value::None => Ok(None),
        Value::Tensor(end) => Ok(Some(end.clone())),
        _ => Err(lacks("clamp with a tensor and a number")),
    };
    clamped(&a.tensor(0)?, end(1)?, end(2)?).map(Value::Tensor)
}

/// `clamp_min` and `clamp_max` with a number: flat up to and at the bound.
fn bounded(a: &Arguments, is_min: bool) -> Outcome<Value> {
    let (x, end) = (a.tensor(0)?, a.float(1)?);
    let beyond = move |v: f64| if is_min { v > end } else { v < end };
    let name = if is_min { "ClampMin0" } else { "ClampMax0" };
    x.dtype().check(end)?;
    let compute = move |x: &[Tensor]| {
        let dtype = promoted(&[x[0].clone(), number(end)]);
        pointwise(x, dtype, |v| if beyond(v[0]) || v[0].is_nan() { v[0] } else { end })
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let mask = pointwise_as(std::slice::from_ref(&x), x.dtype(), DType::Bool, |v| {
            f64::from(u8::from(beyond(v[0])))
        })?;
        select(&mask, g, &number(0.0))
    };
    apply(Operation::new(name, compute).saving(&[Keep::Input(0)]).to(formula), &[&x])
        .map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    function("nn.functional.threshold", "input threshold value", threshold),
    function("nn.functional.elu", "input alpha=1.0", |a| {
        elu(&a.tensor(0)?, "Elu0", a.float(1)?, 1.0, 1.0)
    }),
    function("nn.functional.celu", "input alpha=1.0", |a| {
        let alpha = a.float(1)?;
        elu(&a.tensor(0)?, "Celu0", alpha, 1.0, 1.0 / alpha)
    }),
    function("nn.functional.selu", "input", |a| {
        elu(&a.tensor(0)?, "Elu0", 1.673_263_242_354_377_2, 1.050_700_987_355_480_5, 1.0)
    }),
    function("nn.functional.hardsigmoid", "input", |a| {
        let inside = |v: f64| v > -3.0 && v < 3.0;
        let f = |v: f64| if v.is_nan() { v } else { (v + 3.0).clamp(0.0, 6.0) / 6.0 };
        shaped(&a.tensor(0)?, "Hardsigmoid0", f, move |v| if inside(v) { 1.0 / 6.0 } else { 0.0 })
    }),
    function("nn.functional.hardswish", "input", |a| {
        let f = |v: f64| if v.is_nan() { v } else { v * (v + 3.0).clamp(0.0, 6.0) / 6.0 };
        let slope = |v: f64| match v {
            v if v.is_nan() => v,
            v if v <= -3.0 => 0.0,
            v if v < 3.0 => v / 3.0 + 0.5,
            _ => 1.0,
        };
        shaped(&a.tensor(0)?, "Hardswish0", f, slope)
    }),
    function("nn.functional.silu", "input", |a| {
        let slope = |v: f64| sigmoid(v) * (1.0 + v * (1.0 - sigmoid(v)));
        shaped(&a.tensor(0)?, "Silu0", |v| v * sigmoid(v), slope)
    }),
    function("nn.functional.logsigmoid", "input", |a| {
        let f = |v: f64| v.min(0.0) - (-v.abs()).exp().ln_1p();
        shaped(&a.tensor(0)?, "LogSigmoid0", f, |v| sigmoid(-v))
    }),
    both("hypot", "input other", hypot),
    both("heaviside", "input values", heaviside),
    both("xlogy", "input other", xlogy),
    both("copysign", "input other", |a| {
        let (x, y) = (a.tensor(0)?, a.tensor(1)?);
        let operation = Operation::new("Copysign0", |x| {
            pointwise(x, floating(promoted(x)), |v| v[0].copysign(v[1]))
        })
        .saving(&[Keep::Input(0), Keep::Output(0)])
        .to(|g, c| {
            let (x, result) = (c.input(0)?, c.output(0)?);
            let flat = compare("eq", &x, &whole(0))?;
            mul(g, &select(&flat, &number(0.0), &div(&result, &x)?)?)
        })
        .to(|g, _| written(crate::copies::zeros_like(g)?, 1));
        apply(operation, &[&x, &y]).map(Value::Tensor)
    }),
    both("clamp_min", "input min", |a| match a.at(1) {
        Value::Tensor(_) => Err(lacks("clamp_min with a tensor")),
        _ => bounded(a, true),
    }),
    both("clamp_max", "input max", |a| match a.at(1) {
        Value::Tensor(_) => Err(lacks("clamp_max with a tensor")),
        _ => bounded(a, false),
    }),
    both("addcmul", "input tensor1 tensor2 * value=1", |a| {
        let (x, y, z) = (a.tensor(0)?, a.tensor(1)?, a.tensor(2)?);
        let value = a.float(3)?;
        if !x.dtype().is_float() {
            return Err(lacks("addcmul of integers"));
        }
        // Half precision is computed in single precision.
        match promoted(&[x.clone(), y.clone(), z.clone()]) {
            DType::Float16 | DType::BFloat16 => DType::Float32.check(value)?,
            dtype => dtype.check(value)?,
        }
        let operation = Operation::new("Addcmul0", move |x| {
            pointwise(x, promoted(x), |v| v[0] + value * v[1] * v[2])
        })
        .saving(&[Keep::Input(1), Keep::Input(2)])
        .to(|g, _| Ok(g.clone()))
        .to(move |g, c| mul(g, &crate::pointwise::scale(&c.input(2)?, value)?))
        .to(move |g, c| mul(g, &crate::pointwise::scale(&c.input(1)?, value)?));
        apply(operation, &[&x, &y, &z]).map(Value::Tensor)
    }),
    function("nn.functional.smooth_l1_loss", "input target * reduction=mean beta=1.0", smooth_l1),
    function("nn.functional.huber_loss", "input target * reduction=mean delta=1.0", huber),
    function("nn.functional.softmin", "input dim", |a| {
        let x = crate::binary::neg(&a.tensor(0)?)?;
        crate::softmax::softmax(&x, a.dim(1, x.dim())?, false).map(Value::Tensor)
    }),
    function("nn.functional.tanhshrink", "input", |a| {
        let x = a.tensor(0)?;
        let bent = crate::pointwise::unary("tanh", &x)?;
        crate::binary::sub(&x, &bent).map(Value::Tensor)
    }),
];
