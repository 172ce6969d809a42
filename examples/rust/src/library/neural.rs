//! Functions of `torch.nn.functional`.

use super::activations::{divisor, reduced_loss};
use super::{Arguments, Entry, function};
use crate::binary::{compare, div, mul, select, sub};
use crate::fault::{Outcome, lacks, value_error};
use crate::operation::{Context, Keep, Operation, apply};
use crate::pointwise::{number, pointwise, unary, whole};
use crate::reductions::{Over, mean, sum_over};
use crate::softmax::softmax;
use crate::tensor::Tensor;
use crate::value::Value;

fn softmaxed(a: &Arguments, is_log: bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if !a.is_none(2) {
        return Err(lacks("softmax with a dtype"));
    }
    softmax(&x, a.dim(1, x.dim())?, is_log).map(Value::Tensor)
}

/// A function whose slope is one of two numbers, by a test of the input.
fn kinked(
    x: &Tensor,
    name: &str,
    f: impl Fn(f64) -> f64 + 'static,
    slope: impl Fn(f64) -> f64 + 'static,
) -> Outcome<Value> {
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        mul(g, &pointwise(std::slice::from_ref(&x), x.dtype(), |v| slope(v[0]))?)
    };
    let operation = Operation::new(name, move |x| pointwise(x, x[0].dtype(), |v| f(v[0])));
    apply(operation.saving(&[Keep::Input(0)]).to(formula), &[x]).map(Value::Tensor)
}

fn reduced(losses: &Tensor, reduction: &str) -> Outcome<Value> {
    match reduction {
        "none" => Ok(losses.clone()),
        "mean" => mean(losses, &Over::all(losses), None),
        "sum" => sum_over(losses, &Over::all(losses)),
        other => Err(lacks(format!("the reduction {other}"))),
    }
    .map(Value::Tensor)
}

/// The mean squared error, one operation with its reduction.
fn squared_error(a: &Arguments) -> Outcome<Value> {
    let (x, y, reduction) = (a.tensor(0)?, a.tensor(1)?, a.text(2)?);
    if x.shape() != y.shape() {
        return Err(lacks("mse_loss of different shapes"));
    }
    let count = divisor(&reduction, &x)?;
    let compute = move |v: &[Tensor]| {
        let squares = pointwise(v, crate::pointwise::promoted(v), |v| (v[0] - v[1]).powi(2))?;
        reduced_loss(squares, count)
    };
    let slope = move |g: &Tensor, x: &Tensor, y: &Tensor| {
        mul(&mul(&number(2.0 / count.unwrap_or(1.0)), &sub(x, y)?)?, g)
    };
    let operation = Operation::new("MseLoss0", compute)
        .saving(&[Keep::Input(0), Keep::Input(1)])
        .to(move |g, c| slope(g, &c.input(0)?, &c.input(1)?))
        .to(move |g, c| slope(g, &c.input(1)?, &c.input(0)?));
    apply(operation, &[&x, &y]).map(Value::Tensor)
}

fn hard_tanh(x: &Tensor, low: f64, high: f64) -> Outcome<Value> {
    if low > high {
        return Err(value_error("min_val cannot be greater than max_val"));
    }
    let clamped = move |v: f64| if v.is_nan() { v } else { v.max(low).min(high) };
    kinked(x, "Hardtanh0", clamped, move |v| f64::from(u8::from(v > low && v < high)))
}

fn linear(a: &Arguments) -> Outcome<Value> {
    let (x, weight) = (a.tensor(0)?, a.tensor(1)?);
    if !a.is_none(2) {
        return Err(lacks("linear with a bias"));
    }
    crate::products::matmul(&x, &crate::views::t(&weight)?).map(Value::Tensor)
}

fn soft_plus(a: &Arguments) -> Outcome<Value> {
    let (x, beta, threshold) = (a.tensor(0)?, a.float(1)?, a.float(2)?);
    let compute = move |x: &[Tensor]| {
        pointwise(x, x[0].dtype(), |v| {
            let z = v[0] * beta;
            if z > threshold { v[0] } else { z.exp().ln_1p() / beta }
        })
    };
    let formula = move |g: &Tensor, c: &Context| {
        let x = c.input(0)?;
        let z = mul(&x, &crate::pointwise::exact(beta))?;
        let steep = compare("gt", &z, &crate::pointwise::exact(threshold))?;
        select(&steep, g, &mul(g, &unary("sigmoid", &z)?)?)
    };
    let operation = Operation::new("Softplus0", compute).saving(&[Keep::Input(0)]).to(formula);
    apply(operation, &[&x]).map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    function("nn.functional.relu", "input", |a| unary("relu", &a.tensor(0)?).map(Value::Tensor)),
    function("nn.functional.sigmoid", "input", |a| {
        unary("sigmoid", &a.tensor(0)?).map(Value::Tensor)
    }),
    function("nn.functional.tanh", "input", |a| unary("tanh", &a.tensor(0)?).map(Value::Tensor)),
    function("nn.functional.softmax", "input dim * dtype=None", |a| softmaxed(a, false)),
    function("nn.functional.log_softmax", "input dim * dtype=None", |a| softmaxed(a, true)),
    function("nn.functional.leaky_relu", "input negative_slope=0.01", |a| {
        let slope = a.float(1)?;
        a.tensor(0)?.dtype().check(slope)?;
        kinked(
            &a.tensor(0)?,
            "LeakyRelu0",
            move |v| if v > 0.0 { v } else { v * slope },
            move |v| if v > 0.0 { 1.0 } else { slope },
        )
    }),
    function("nn.functional.hardtanh", "input min_val=-1.0 max_val=1.0", |a| {
        hard_tanh(&a.tensor(0)?, a.float(1)?, a.float(2)?)
    }),
    function("nn.functional.relu6", "input", |a| hard_tanh(&a.tensor(0)?, 0.0, 6.0)),
    function("nn.functional.softshrink", "input lambd=0.5", |a| {
        let lambda = a.float(1)?;
        if lambda < 0.0 {
            return Err(lacks("softshrink with a negative lambda"));
        }
        let shrunk = move |v: f64| match v {
            v if v > lambda => v - lambda,
            v if v < -lambda => v + lambda,
            v if v.is_nan() => v,
            _ => 0.0,
        };
        kinked(&a.tensor(0)?, "Softshrink0", shrunk, move |v| {
            f64::from(u8::from(v < -lambda || v > lambda))
        })
    }),
    function("nn.functional.hardshrink", "input lambd=0.5", |a| {
        let lambda = a.float(1)?;
        let is_inside = move |v: f64| v >= -lambda && v <= lambda;
        kinked(
            &a.tensor(0)?,
            "Hardshrink0",
            move |v| if is_inside(v) { 0.0 } else { v },
            move |v| f64::from(u8::from(v < -lambda || v > lambda)),
        )
    }),
    function("nn.functional.softplus", "input beta=1.0 threshold=20.0", soft_plus),
    function("nn.functional.mse_loss", "input target * reduction=mean", squared_error),
    function("nn.functional.l1_loss", "input target * reduction=mean", |a| {
        let losses = unary("abs", &sub(&a.tensor(0)?, &a.tensor(1)?)?)?;
        reduced(&losses, &a.text(2)?)
    }),
    function("nn.functional.linear", "input weight bias=None", linear),
    function("nn.functional.normalize", "input p=2.0 dim=1", |a| {
        let x = a.tensor(0)?;
        if x.dim() == 0 {
            return Err(lacks("normalize without dimensions"));
        }
        let over = Over { dims: vec![a.dim(2, x.dim())?], keep: true, named: true };
        let size = crate::norms::norm(&x, a.float(1)?, &over)?;
        let bounded = crate::binary::clamp_operation(Some(number(1e-12)), None)?;
        let size = apply(bounded, &[&size])?;
        let wide: Vec<i64> = x.shape().iter().map(|&size| size as i64).collect();
        div(&x, &crate::views::expand(&size, &wide)?).map(Value::Tensor)
    }),
    function("nn.functional.softsign", "input", |a| {
        let x = a.tensor(0)?;
        div(&x, &crate::binary::add(&unary("abs", &x)?, &whole(1))?).map(Value::Tensor)
    }),
];
