//! Functions that make tensors.

use super::attributes::set_requires_grad;
use super::{Arguments, Entry, function, method};
use crate::copies::filled_like;
use crate::dtype::DType;
use crate::factories::{from_nested, shape};
use crate::fault::{Outcome, lacks, runtime_error};
use crate::geometry::{LARGEST, check_size};
use crate::state::default_dtype;
use crate::tensor::Tensor;
use crate::value::Value;

/// A new tensor, with the flag that a program gives.
fn leaf(made: Tensor, requires_grad: bool) -> Outcome<Value> {
    if requires_grad {
        if !made.dtype().is_float() {
            return Err(runtime_error(
                "Only Tensors of floating point and complex dtype can require gradients",
            ));
        }
        set_requires_grad(&made, true)?;
    }
    Ok(Value::Tensor(made))
}

fn tensor(a: &Arguments) -> Outcome<Value> {
    let dtype = a.dtype(1)?;
    let made = match a.at(0) {
        Value::Tensor(_) => return Err(lacks("torch.tensor of a tensor, with its warning")),
        data => from_nested(data, dtype)?,
    };
    leaf(made, a.flag(2)?)
}

fn as_tensor(a: &Arguments) -> Outcome<Value> {
    match a.at(0) {
        Value::Tensor(x) => match a.dtype(1)? {
            Some(dtype) => crate::copies::cast(x, dtype).map(Value::Tensor),
            None => Ok(Value::Tensor(x.clone())),
        },
        data => from_nested(data, a.dtype(1)?).map(Value::Tensor),
    }
}

fn filled(a: &Arguments, value: f64) -> Outcome<Value> {
    let shape = shape(&a.ints(0)?)?;
    let dtype = a.dtype(1)?.unwrap_or_else(default_dtype);
    leaf(Tensor::full(&shape, dtype, value)?, a.flag(2)?)
}

fn full(a: &Arguments) -> Outcome<Value> {
    let shape = shape(&a.ints(0)?)?;
    if let Value::Tensor(_) = a.at(1) {
        return Err(lacks("torch.full with a tensor"));
    }
    let own = a.at(1).number().map(|(_, dtype)| dtype);
    let dtype = a.dtype(2)?.or(own).unwrap_or_else(default_dtype);
    dtype.check(a.float(1)?)?;
    leaf(Tensor::full(&shape, dtype, a.float(1)?)?, a.flag(3)?)
}

fn like(a: &Arguments, value: f64, dtype: usize) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let dtype = a.dtype(dtype)?.unwrap_or(x.dtype());
    leaf(filled_like(&x, value, dtype)?, a.flag(a.names.len() - 1)?)
}

fn arange(a: &Arguments) -> Outcome<Value> {
    let (from, to) = if a.is_none(1) { (&Value::Int(0), a.at(0)) } else { (a.at(0), a.at(1)) };
    let step = a.at(2);
    let number = |value: &Value| {
        value.number().map(|(value, _)| value).ok_or_else(|| lacks("arange of no numbers"))
    };
    let (start, end, by) = (number(from)?, number(to)?, number(step)?);
    if by == 0.0 {
        return Err(runtime_error("step must be nonzero"));
    }
    if !start.is_finite() || !end.is_finite() || !by.is_finite() {
        return Err(lacks("arange to infinity"));
    }
    if (by > 0.0) != (end >= start) && end != start {
        return Err(runtime_error("upper bound and lower bound inconsistent with step sign"));
    }
    let count = ((end - start) / by).ceil().max(0.0);
    if count > LARGEST as f64 {
        return Err(lacks("so long an arange"));
    }
    let values: Vec<f64> = (0..count as usize).map(|i| start + i as f64 * by).collect();
    let whole = [from, to, step].iter().all(|value| matches!(value, Value::Int(_)));
    let own = if whole { DType::Int64 } else { default_dtype() };
    let dtype = a.dtype(3)?.unwrap_or(own);
    leaf(Tensor::new(&[values.len()], dtype, &values)?, a.flag(4)?)
}

fn linspace(a: &Arguments) -> Outcome<Value> {
    let (start, end, steps) = (a.float(0)?, a.float(1)?, a.int(2)?);
    let Some(count) = usize::try_from(steps).ok().filter(|&count| count <= LARGEST) else {
        return Err(runtime_error("number of steps must be non-negative"));
    };
    let step = if count > 1 { (end - start) / (count - 1) as f64 } else { 0.0 };
    // Both halves are counted from their own end.
    let value = |i: usize| match i {
        i if i < count / 2 => start + step * i as f64,
        i if count == 1 => start + step * i as f64,
        i => end - step * (count - i - 1) as f64,
    };
    let values: Vec<f64> = (0..count).map(value).collect();
    let dtype = a.dtype(3)?.unwrap_or_else(default_dtype);
    if !dtype.is_float() {
        return Err(lacks("linspace of integers"));
    }
    leaf(Tensor::new(&[count], dtype, &values)?, a.flag(4)?)
}

fn eye(a: &Arguments) -> Outcome<Value> {
    let rows = shape(&[a.int(0)?])?[0];
    let columns = if a.is_none(1) { rows } else { shape(&[a.int(1)?])?[0] };
    check_size(&[rows, columns])?;
    let made = Tensor::full(&[rows, columns], a.dtype(2)?.unwrap_or_else(default_dtype), 0.0)?;
    let one = |i: usize| f64::from(u8::from(i / columns.max(1) == i % columns.max(1)));
    made.store(&(0..rows * columns).map(one).collect::<Vec<_>>())?;
    leaf(made, a.flag(3)?)
}

fn typed(a: &Arguments, dtype: DType) -> Outcome<Value> {
    match a.at(0) {
        Value::List(_) | Value::Tuple(_) => from_nested(a.at(0), Some(dtype)).map(Value::Tensor),
        _ => Err(lacks("a legacy constructor of sizes")),
    }
}

fn parameter(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let made = x.detached();
    if a.flag(1)? {
        if !made.dtype().is_float() {
            return Err(runtime_error(
                "Only Tensors of floating point and complex dtype can require gradients",
            ));
        }
        set_requires_grad(&made, true)?;
    }
    Ok(Value::Tensor(made))
}

fn item(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    Ok(python(x.dtype(), x.item()?))
}

/// An element as Python's number.
pub fn python(dtype: DType, value: f64) -> Value {
    match dtype.category() {
        0 => Value::Bool(value != 0.0),
        1 => Value::Int(value as i64),
        _ => Value::Float(value),
    }
}

fn nested(dtype: DType, values: &[f64], shape: &[usize]) -> Value {
    let Some((&size, inner)) = shape.split_first() else {
        return python(dtype, values[0]);
    };
    let part = inner.iter().product::<usize>();
    let items = (0..size).map(|i| nested(dtype, &values[i * part..(i + 1) * part], inner));
    Value::list(items.collect())
}

pub fn tolist(x: &Tensor) -> Value {
    nested(x.dtype(), &x.values(), &x.shape())
}

fn new_filled(a: &Arguments, value: f64) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let shape = shape(&a.ints(1)?)?;
    leaf(Tensor::full(&shape, a.dtype(2)?.unwrap_or(x.dtype()), value)?, a.flag(3)?)
}

pub const TABLE: &[Entry] = &[
    function("tensor", "data * dtype=None requires_grad=False", tensor),
    function("as_tensor", "data dtype=None", as_tensor),
    function("FloatTensor", "data", |a| typed(a, DType::Float32)),
    function("DoubleTensor", "data", |a| typed(a, DType::Float64)),
    function("LongTensor", "data", |a| typed(a, DType::Int64)),
    function("ones", "*size * dtype=None requires_grad=False", |a| filled(a, 1.0)),
    function("zeros", "*size * dtype=None requires_grad=False", |a| filled(a, 0.0)),
    function("empty", "*size * dtype=None requires_grad=False", |a| filled(a, 0.0)),
    function("full", "size fill_value * dtype=None requires_grad=False", full),
    function("ones_like", "input * dtype=None requires_grad=False", |a| like(a, 1.0, 1)),
    function("zeros_like", "input * dtype=None requires_grad=False", |a| like(a, 0.0, 1)),
    function("full_like", "input fill_value * dtype=None requires_grad=False", |a| {
        like(a, a.float(1)?, 2)
    }),
    method("new_ones", "input *size * dtype=None requires_grad=False", |a| new_filled(a, 1.0)),
    method("new_zeros", "input *size * dtype=None requires_grad=False", |a| new_filled(a, 0.0)),
    method("new_tensor", "input data", |a| {
        from_nested(a.at(1), Some(a.tensor(0)?.dtype())).map(Value::Tensor)
    }),
    function("arange", "start end=None step=1 * dtype=None requires_grad=False", arange),
    function("linspace", "start end steps * dtype=None requires_grad=False", linspace),
    function("eye", "n m=None * dtype=None requires_grad=False", eye),
    function("nn.Parameter", "data requires_grad=True", parameter),
    method("item", "input", item),
    method("tolist", "input", |a| Ok(tolist(&a.tensor(0)?))),
    function("scalar_tensor", "value", |a| {
        Tensor::new(&[], default_dtype(), &[a.float(0)?]).map(Value::Tensor)
    }),
];
