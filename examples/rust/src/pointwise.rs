//! Elementwise operators of one tensor, and the loop that all elementwise operators share.

use crate::binary::{add, div, mul, neg, sub};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks};
use crate::geometry::{broadcast, check_size, expanded_strides, places, product, result_strides};
use crate::operation::{Context, Keep, Operation, apply};
use crate::state::default_dtype;
use crate::tensor::Tensor;

/// The dtype of arithmetic on tensors: numbers yield to tensors without dimensions, and these to
/// others, unless they are of a higher category.
pub fn promoted(inputs: &[Tensor]) -> DType {
    let among = |wanted: &dyn Fn(&Tensor) -> bool| {
        let dtypes = inputs.iter().filter(|input| wanted(input)).map(Tensor::dtype);
        dtypes.reduce(DType::with)
    };
    let numbers = among(&|x| x.is_number());
    let scalars = among(&|x| !x.is_number() && x.dim() == 0);
    let others = among(&|x| !x.is_number() && x.dim() > 0);
    yielding(others, yielding(scalars, numbers)).unwrap_or_else(default_dtype)
}

fn yielding(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(high), Some(low)) if high.category() < low.category() => Some(high.with(low)),
        (Some(high), _) => Some(high),
        (None, lower) => lower,
    }
}

/// The dtype of a result that cannot be whole.
pub fn floating(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { default_dtype() }
}

/// Elementwise: operands are broadcast and cast to the dtype of the computation.
pub fn pointwise_as(
    inputs: &[Tensor],
    common: DType,
    dtype: DType,
    f: impl Fn(&[f64]) -> f64,
) -> Outcome<Tensor> {
    computed(inputs, common, common, dtype, f)
}

fn computed(
    inputs: &[Tensor],
    common: DType,
    numbers: DType,
    dtype: DType,
    f: impl Fn(&[f64]) -> f64,
) -> Outcome<Tensor> {
    let mut shape = inputs[0].shape();
    for input in &inputs[1..] {
        shape = broadcast(&shape, &input.shape())?;
    }
    check_size(&shape)?;
    let strides: Vec<Vec<usize>> =
        inputs.iter().map(|x| expanded_strides(&x.shape(), &x.strides(), &shape)).collect();
    let columns: Vec<Vec<f64>> = inputs
        .iter()
        .zip(&strides)
        .map(|(x, own)| column(x, &shape, own, if x.is_number() { numbers } else { common }))
        .collect();
    let mut row = vec![0.0; inputs.len()];
    let values: Vec<f64> = (0..product(&shape))
        .map(|i| {
            row.iter_mut().zip(&columns).for_each(|(cell, column)| *cell = column[i]);
            f(&row)
        })
        .collect();
    Tensor::strided(&shape, result_strides(&strides, &shape), dtype, &values)
}

fn column(input: &Tensor, shape: &[usize], strides: &[usize], common: DType) -> Vec<f64> {
    let layout = input.layout();
    let data = layout.storage.data.borrow();
    let cast = |value: f64| {
        if common.is_float() { common.rounded(value) } else { value }
    };
    places(shape, strides, layout.offset).into_iter().map(|place| cast(data[place])).collect()
}

pub fn pointwise(inputs: &[Tensor], dtype: DType, f: impl Fn(&[f64]) -> f64) -> Outcome<Tensor> {
    // A number meets half precision in single precision.
    let numbers = match dtype {
        DType::Float16 | DType::BFloat16 => DType::Float32,
        other => other,
    };
    computed(inputs, dtype, numbers, dtype, f)
}

/// A Python float as an operand.
pub fn number(value: f64) -> Tensor {
    Tensor::number(value, default_dtype())
}

/// A Python int as an operand.
pub fn whole(value: i64) -> Tensor {
    Tensor::number(value as f64, DType::Int64)
}

/// An operator of one tensor.
pub struct Unary {
    pub name: &'static str,
    node: &'static str,
    /// Whether integers stay integers.
    keeps_integers: bool,
    f: fn(f64) -> f64,
    saves: &'static [Keep],
    formula: fn(&Tensor, &Context) -> Outcome<Tensor>,
}

const INPUT: &[Keep] = &[Keep::Input(0)];
const OUTPUT: &[Keep] = &[Keep::Output(0)];

/// As `f64::signum`, but 0 of 0.
pub fn sign(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 { 0.0 } else { x.signum() }
}

fn zeros(g: &Tensor, _: &Context) -> Outcome<Tensor> {
    crate::copies::zeros_like(g)
}

const fn floats(
    name: &'static str,
    node: &'static str,
    f: fn(f64) -> f64,
    saves: &'static [Keep],
    formula: fn(&Tensor, &Context) -> Outcome<Tensor>,
) -> Unary {
    Unary { name, node, keeps_integers: false, f, saves, formula }
}

const fn any(
    name: &'static str,
    node: &'static str,
    f: fn(f64) -> f64,
    saves: &'static [Keep],
    formula: fn(&Tensor, &Context) -> Outcome<Tensor>,
) -> Unary {
    Unary { name, node, keeps_integers: true, f, saves, formula }
}

pub const UNARY: &[Unary] = &[
    floats("exp", "Exp0", f64::exp, OUTPUT, |g, c| mul(g, &c.output(0)?)),
    floats("expm1", "Expm10", f64::exp_m1, OUTPUT, |g, c| mul(g, &add(&c.output(0)?, &whole(1))?)),
    floats("exp2", "Exp20", f64::exp2, OUTPUT, |g, c| {
        mul(&mul(g, &c.output(0)?)?, &number(std::f64::consts::LN_2))
    }),
    floats("log", "Log0", f64::ln, INPUT, |g, c| div(g, &c.input(0)?)),
    floats("log1p", "Log1P0", f64::ln_1p, INPUT, |g, c| div(g, &add(&c.input(0)?, &whole(1))?)),
    floats("log2", "Log20", f64::log2, INPUT, |g, c| {
        div(g, &mul(&c.input(0)?, &number(std::f64::consts::LN_2))?)
    }),
    floats("log10", "Log100", f64::log10, INPUT, |g, c| {
        div(g, &mul(&c.input(0)?, &number(std::f64::consts::LN_10))?)
    }),
    floats("sqrt", "Sqrt0", f64::sqrt, OUTPUT, |g, c| div(g, &scale(&c.output(0)?, 2.0)?)),
    floats(
        "rsqrt",
        "Rsqrt0",
        |x| 1.0 / x.sqrt(),
        OUTPUT,
        |g, c| mul(&mul(g, &number(-0.5))?, &power(&c.output(0)?, 3.0)?),
    ),
    floats("sin", "Sin0", f64::sin, INPUT, |g, c| mul(g, &unary("cos", &c.input(0)?)?)),
    floats("cos", "Cos0", f64::cos, INPUT, |g, c| mul(g, &neg(&unary("sin", &c.input(0)?)?)?)),
    floats("tan", "Tan0", f64::tan, OUTPUT, |g, c| {
        mul(g, &add(&power(&c.output(0)?, 2.0)?, &whole(1))?)
    }),
    floats("asin", "Asin0", f64::asin, INPUT, |g, c| {
        mul(g, &unary("rsqrt", &sub(&whole(1), &power(&c.input(0)?, 2.0)?)?)?)
    }),
    floats("acos", "Acos0", f64::acos, INPUT, |g, c| {
        mul(g, &neg(&unary("rsqrt", &sub(&whole(1), &power(&c.input(0)?, 2.0)?)?)?)?)
    }),
    floats("atan", "Atan0", f64::atan, INPUT, |g, c| {
        div(g, &add(&power(&c.input(0)?, 2.0)?, &whole(1))?)
    }),
    floats("sinh", "Sinh0", f64::sinh, INPUT, |g, c| mul(g, &unary("cosh", &c.input(0)?)?)),
    floats("cosh", "Cosh0", f64::cosh, INPUT, |g, c| mul(g, &unary("sinh", &c.input(0)?)?)),
    floats("tanh", "Tanh0", f64::tanh, OUTPUT, |g, c| {
        mul(g, &sub(&whole(1), &power(&c.output(0)?, 2.0)?)?)
    }),
    floats(
        "sigmoid",
        "Sigmoid0",
        |x| 1.0 / (1.0 + (-x).exp()),
        OUTPUT,
        |g, c| {
            let y = c.output(0)?;
            mul(&mul(g, &sub(&whole(1), &y)?)?, &y)
        },
    ),
    floats(
        "reciprocal",
        "Reciprocal0",
        |x| 1.0 / x,
        OUTPUT,
        |g, c| {
            let y = c.output(0)?;
            mul(&neg(g)?, &mul(&y, &y)?)
        },
    ),
    any("abs", "Abs0", f64::abs, INPUT, |g, c| mul(g, &sgn(&c.input(0)?)?)),
    any("sign", "Sign0", sign, &[], zeros),
    any("floor", "Floor0", f64::floor, &[], zeros),
    any("ceil", "Ceil0", f64::ceil, &[], zeros),
    any("trunc", "Trunc0", f64::trunc, &[], zeros),
    any("round", "Round0", f64::round_ties_even, &[], zeros),
    floats("frac", "Frac0", f64::fract, &[], |g, _| Ok(g.clone())),
    any(
        "relu",
        "Relu0",
        |x| if x <= 0.0 { 0.0 } else { x },
        OUTPUT,
        |g, c| threshold_backward(g, &c.output(0)?),
    ),
];

/// The sign in formulas, where torch takes the one that complex numbers have, too.
pub fn sgn(x: &Tensor) -> Outcome<Tensor> {
    let operation = Operation::new("Sgn0", |x| pointwise(x, x[0].dtype(), |v| sign(v[0])));
    apply(operation.to(|g, _| crate::copies::zeros_like(g)), &[x])
}

fn threshold_backward(g: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    let compute =
        |v: &[Tensor]| pointwise(v, v[0].dtype(), |v| if v[1] <= 0.0 { 0.0 } else { v[0] });
    let operation = Operation::new("Threshold0", compute)
        .named("ThresholdBackwardBackward0")
        .saving(&[Keep::Input(1)])
        .to(|g, c| threshold_backward(g, &c.input(1)?))
        .to(|g, _| crate::copies::zeros_like(g));
    apply(operation, &[g, y])
}

/// The operation of an elementwise operator of one tensor, by its name.
pub fn unary_operation(name: &str) -> Outcome<Operation> {
    let found = UNARY.iter().find(|row| row.name == name);
    let row = found.ok_or_else(|| lacks(format!("torch.{name}")))?;
    let compute = |x: &[Tensor]| {
        let dtype = x[0].dtype();
        pointwise(x, if row.keeps_integers { dtype } else { floating(dtype) }, |v| (row.f)(v[0]))
    };
    Ok(Operation::new(row.node, compute).saving(row.saves).to(row.formula))
}

pub fn unary(name: &str, x: &Tensor) -> Outcome<Tensor> {
    apply(unary_operation(name)?, &[x])
}

/// Power with a number as the exponent.
pub fn power(x: &Tensor, exponent: f64) -> Outcome<Tensor> {
    let exponent = if exponent.fract() == 0.0 { whole(exponent as i64) } else { number(exponent) };
    apply(power_operation(&exponent)?, &[x])
}

pub fn power_operation(exponent: &Tensor) -> Outcome<Operation> {
    if exponent.dtype() == DType::Bool {
        return Err(lacks("pow with a bool"));
    }
    let exponent = exponent.clone();
    let y = exponent.item()?;
    let compute = move |x: &[Tensor]| {
        let dtype = promoted(&[x[0].clone(), exponent.clone()]);
        if !dtype.is_float() && y < 0.0 {
            return Err(crate::fault::runtime_error(
                "Integers to negative integer powers are not allowed.",
            ));
        }
        // Half precision has no roots for the powers of one half.
        let root = dtype != DType::Float16;
        pointwise(x, dtype, |v| if root { raised_to(v[0], y) } else { v[0].powf(y) })
    };
    let formula = move |g: &Tensor, c: &Context| {
        if y == 0.0 {
            return crate::copies::zeros_like(g);
        }
        mul(g, &scale(&power(&c.input(0)?, y - 1.0)?, y)?)
    };
    Ok(Operation::new("Pow0", compute).saving(INPUT).to(formula))
}

/// A product with a number in a formula, an operator of one tensor.
pub fn scale(x: &Tensor, factor: f64) -> Outcome<Tensor> {
    let operation = Operation::new("Mul1", move |x| {
        let number = exact(factor);
        pointwise(&[x[0].clone(), number], x[0].dtype(), |v| v[0] * v[1])
    });
    apply(operation.to(move |g, _| scale(g, factor)), &[x])
}

/// A quotient by a number in a formula, an operator of one tensor.
pub fn divide(x: &Tensor, divisor: f64) -> Outcome<Tensor> {
    let operation = Operation::new("Div1", move |x| {
        let number = exact(divisor);
        pointwise(&[x[0].clone(), number], x[0].dtype(), |v| v[0] / v[1])
    });
    apply(operation.to(move |g, _| divide(g, divisor)), &[x])
}

/// A number that is a Python int if it is whole.
pub fn exact(value: f64) -> Tensor {
    if value.fract() == 0.0 && value.abs() < 1e15 { whole(value as i64) } else { number(value) }
}

/// As C's `pow`, with the roots that torch takes for exponents of a half.
pub fn raised_to(x: f64, y: f64) -> f64 {
    if y == 0.5 {
        x.sqrt()
    } else if y == -0.5 {
        1.0 / x.sqrt()
    } else {
        x.powf(y)
    }
}
