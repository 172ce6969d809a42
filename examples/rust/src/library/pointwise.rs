//! Elementwise operators.

use super::activations::clamp_with;
use super::{Arguments, Entry, both, function, method};
use crate::binary::{self, compare, select, test};
use crate::copies::{copy_into, fill, fill_with, zero};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, raised, runtime_error};
use crate::gathering::masked_fill_operation;
use crate::in_place::apply_in_place;
use crate::operation::{Operation, apply};
use crate::pointwise::{number, power_operation};
use crate::tensor::Tensor;
use crate::value::Value;

type Binary = fn(&Tensor, &Tensor) -> Outcome<Tensor>;

fn two(a: &Arguments, f: Binary) -> Outcome<Value> {
    f(&a.operand(0)?, &a.operand(1)?).map(Value::Tensor)
}

fn in_place(a: &Arguments, operation: Operation) -> Outcome<Value> {
    apply_in_place(operation, &[&a.tensor(0)?, &a.operand(1)?]).map(Value::Tensor)
}

/// `add` and `sub`, with their factor.
fn scaled(a: &Arguments, name: &str, sign: f64) -> Outcome<Operation> {
    let alpha = a.at(2);
    let (x, y) = (a.operand(0)?, a.operand(1)?);
    let whole = !x.dtype().is_float() && !y.dtype().is_float();
    if whole && matches!(alpha, Value::Float(_)) {
        return Err(runtime_error(
            "For integral input tensors, argument alpha must not be a floating point number.",
        ));
    }
    Ok(binary::scaled_operation(name, sign, a.float(2)?))
}

fn negated(x: &Tensor) -> Outcome<Tensor> {
    if x.dtype() == DType::Bool {
        return Err(raised(
            "NotImplementedError",
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to \
             invert a mask, use the `~` or `logical_not()` operator instead.",
        ));
    }
    binary::neg(x)
}

fn pow(a: &Arguments) -> Outcome<Value> {
    let (x, y) = (a.at(0), a.at(1));
    let made = match (x, y) {
        (Value::Tensor(x), Value::Tensor(y)) => binary::pow(x, y)?,
        (Value::Tensor(x), _) => apply(power_operation(&a.operand(1)?)?, &[x])?,
        (_, Value::Tensor(y)) => binary::exponential(&a.operand(0)?, y)?,
        _ => return Err(lacks("pow of numbers")),
    };
    Ok(Value::Tensor(made))
}

fn clamped(a: &Arguments) -> Outcome<Operation> {
    let end = |i: usize| match a.at(i) {
        Value::Tensor(_) => Err(lacks("clamp with tensors")),
        _ if a.is_none(i) => Ok(None),
        _ => a.operand(i).map(Some),
    };
    binary::clamp_operation(end(1)?, end(2)?)
}

fn clamp(a: &Arguments) -> Outcome<Value> {
    if matches!(a.at(1), Value::Tensor(_)) || matches!(a.at(2), Value::Tensor(_)) {
        return clamp_with(a);
    }
    apply(clamped(a)?, &[&a.tensor(0)?]).map(Value::Tensor)
}

fn divided(a: &Arguments) -> Outcome<Value> {
    if a.is_none(2) {
        return two(a, binary::div);
    }
    let truncates = match a.text(2)?.as_str() {
        "trunc" => true,
        "floor" => false,
        _ => return Err(lacks("div with another rounding mode")),
    };
    let (x, y) = (a.operand(0)?, a.operand(1)?);
    let dtype = crate::pointwise::promoted(&[x.clone(), y.clone()]);
    if !dtype.is_float() || y.is_number() {
        return Err(lacks("div with a rounding mode of integers, or by a number"));
    }
    let compute = move |x: &[Tensor]| {
        crate::pointwise::pointwise(x, dtype, |v| {
            let quotient = v[0] / v[1];
            if truncates { quotient.trunc() } else { quotient.floor() }
        })
    };
    let flat = |g: &Tensor, _: &crate::operation::Context| crate::copies::zeros_like(g);
    apply(Operation::new("Div2", compute).to(flat).to(flat), &[&x, &y]).map(Value::Tensor)
}

fn masked_fill(a: &Arguments) -> Outcome<Operation> {
    match a.at(2) {
        Value::Tensor(value) if value.dim() == 0 && !value.requires_grad() => {
            Ok(masked_fill_operation(value.item()?).named("MaskedFillBackward1"))
        }
        Value::Tensor(_) => Err(lacks("masked_fill with a tensor that requires grad")),
        _ => Ok(masked_fill_operation(a.float(2)?)),
    }
}

fn where_(mask: Tensor, x: Tensor, y: Tensor) -> Outcome<Value> {
    if mask.dtype() != DType::Bool {
        return Err(runtime_error(format!(
            "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
            mask.dtype().scalar_type()
        )));
    }
    let dtype = crate::pointwise::promoted(&[x.clone(), y.clone()]);
    for number in [&x, &y].into_iter().filter(|operand| operand.is_number()) {
        dtype.check(number.item()?)?;
    }
    select(&mask, &x, &y).map(Value::Tensor)
}

/// `lerp` with a number as its weight.
fn lerp(a: &Arguments) -> Outcome<Value> {
    let (start, end) = (a.tensor(0)?, a.tensor(1)?);
    if let Value::Tensor(_) = a.at(2) {
        return Err(lacks("lerp with a tensor as weight"));
    }
    let (own, other) = (start.dtype(), end.dtype());
    if own != other {
        return Err(runtime_error(format!(
            "expected dtype {} for `end` but got dtype {}",
            own.type_name(),
            other.type_name()
        )));
    }
    let weight = a.float(2)?;
    own.check(weight)?;
    let compute = move |x: &[Tensor]| {
        crate::pointwise::pointwise(x, x[0].dtype(), |v| v[0] + weight * (v[1] - v[0]))
    };
    let operation = Operation::new("Lerp0", compute)
        .to(move |g, _| binary::mul(g, &number(1.0 - weight)))
        .to(move |g, _| binary::mul(g, &number(weight)));
    apply(operation, &[&start, &end]).map(Value::Tensor)
}

/// A logical operator of bools.
fn logical(a: &Arguments, f: fn(bool, bool) -> bool) -> Outcome<Value> {
    let inputs = [a.operand(0)?, a.operand(1)?];
    let common = crate::pointwise::promoted(&inputs);
    let made = crate::pointwise::pointwise_as(&inputs, common, DType::Bool, |v| {
        f64::from(u8::from(f(v[0] != 0.0, v[1] != 0.0)))
    });
    made.map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    both("add", "input other * alpha=1", |a| {
        apply(scaled(a, "Add0", 1.0)?, &[&a.operand(0)?, &a.operand(1)?]).map(Value::Tensor)
    }),
    both("sub", "input other * alpha=1", |a| {
        apply(scaled(a, "Sub0", -1.0)?, &[&a.operand(0)?, &a.operand(1)?]).map(Value::Tensor)
    }),
    both("subtract", "input other * alpha=1", |a| {
        apply(scaled(a, "Sub0", -1.0)?, &[&a.operand(0)?, &a.operand(1)?]).map(Value::Tensor)
    }),
    function("rsub", "input other", |a| {
        let (x, y) = (a.tensor(0)?, a.operand(1)?);
        binary::without_bools(&x, &y)?;
        if y.is_number() { binary::rsub(&x, &y) } else { binary::sub(&y, &x) }.map(Value::Tensor)
    }),
    both("mul", "input other", |a| two(a, binary::mul)),
    both("multiply", "input other", |a| two(a, binary::mul)),
    both("div", "input other * rounding_mode=None", divided),
    both("divide", "input other * rounding_mode=None", divided),
    both("true_divide", "input other * rounding_mode=None", divided),
    method("add_", "input other * alpha=1", |a| in_place(a, scaled(a, "Add0", 1.0)?)),
    method("sub_", "input other * alpha=1", |a| in_place(a, scaled(a, "Sub0", -1.0)?)),
    method("mul_", "input other", |a| in_place(a, binary::mul_operation())),
    method("div_", "input other", |a| in_place(a, binary::div_operation())),
    both("neg", "input", |a| negated(&a.tensor(0)?).map(Value::Tensor)),
    both("negative", "input", |a| negated(&a.tensor(0)?).map(Value::Tensor)),
    method("neg_", "input", |a| {
        apply_in_place(binary::neg_operation(), &[&a.tensor(0)?]).map(Value::Tensor)
    }),
    both("absolute", "input", |a| crate::pointwise::unary("abs", &a.tensor(0)?).map(Value::Tensor)),
    both("pow", "input exponent", pow),
    method("pow_", "input exponent", |a| match a.at(1) {
        Value::Tensor(_) => in_place(a, binary::pow_operation()),
        _ => apply_in_place(power_operation(&a.operand(1)?)?, &[&a.tensor(0)?]).map(Value::Tensor),
    }),
    both("square", "input", |a| crate::pointwise::power(&a.tensor(0)?, 2.0).map(Value::Tensor)),
    method("square_", "input", |a| {
        let operation = power_operation(&crate::pointwise::whole(2))?;
        apply_in_place(operation, &[&a.tensor(0)?]).map(Value::Tensor)
    }),
    both("maximum", "input other", |a| two(a, binary::maximum)),
    both("minimum", "input other", |a| two(a, binary::minimum)),
    both("fmax", "input other", |a| {
        apply(binary::number_extremum("Fmax0", |x, y| x > y), &[&a.tensor(0)?, &a.tensor(1)?])
            .map(Value::Tensor)
    }),
    both("fmin", "input other", |a| {
        apply(binary::number_extremum("Fmin0", |x, y| x < y), &[&a.tensor(0)?, &a.tensor(1)?])
            .map(Value::Tensor)
    }),
    both("atan2", "input other", |a| two(a, binary::atan2)),
    both("arctan2", "input other", |a| two(a, binary::atan2)),
    both("fmod", "input other", |a| two(a, |x, y| binary::remainder(x, y, true))),
    both("remainder", "input other", |a| two(a, |x, y| binary::remainder(x, y, false))),
    both("clamp", "input min=None max=None", clamp),
    both("clip", "input min=None max=None", clamp),
    method("clamp_", "input min=None max=None", |a| {
        apply_in_place(clamped(a)?, &[&a.tensor(0)?]).map(Value::Tensor)
    }),
    function("where", "condition input other", |a| {
        where_(a.tensor(0)?, a.operand(1)?, a.operand(2)?)
    }),
    method("where", "input condition other", |a| where_(a.tensor(1)?, a.tensor(0)?, a.operand(2)?)),
    both("lerp", "input end weight", lerp),
    both("eq", "input other", |a| two(a, |x, y| compare("eq", x, y))),
    both("ne", "input other", |a| two(a, |x, y| compare("ne", x, y))),
    both("lt", "input other", |a| two(a, |x, y| compare("lt", x, y))),
    both("le", "input other", |a| two(a, |x, y| compare("le", x, y))),
    both("gt", "input other", |a| two(a, |x, y| compare("gt", x, y))),
    both("ge", "input other", |a| two(a, |x, y| compare("ge", x, y))),
    both("logical_and", "input other", |a| logical(a, |x, y| x && y)),
    both("logical_or", "input other", |a| logical(a, |x, y| x || y)),
    both("logical_xor", "input other", |a| logical(a, |x, y| x != y)),
    both("logical_not", "input", |a| test(&a.tensor(0)?, |x| x == 0.0).map(Value::Tensor)),
    both("isnan", "input", |a| test(&a.tensor(0)?, f64::is_nan).map(Value::Tensor)),
    both("isfinite", "input", |a| test(&a.tensor(0)?, f64::is_finite).map(Value::Tensor)),
    both("isinf", "input", |a| test(&a.tensor(0)?, f64::is_infinite).map(Value::Tensor)),
    both("masked_fill", "input mask value", |a| {
        apply(masked_fill(a)?, &[&a.tensor(0)?, &a.tensor(1)?]).map(Value::Tensor)
    }),
    method("masked_fill_", "input mask value", |a| {
        apply_in_place(masked_fill(a)?, &[&a.tensor(0)?, &a.tensor(1)?]).map(Value::Tensor)
    }),
    method("copy_", "input src", |a| copy_into(&a.tensor(0)?, &a.operand(1)?).map(Value::Tensor)),
    method("zero_", "input", |a| zero(&a.tensor(0)?).map(Value::Tensor)),
    method("fill_", "input value", |a| {
        match a.at(1) {
            Value::Tensor(value) => fill_with(&a.tensor(0)?, value),
            _ => fill(&a.tensor(0)?, a.float(1)?),
        }
        .map(Value::Tensor)
    }),
];
