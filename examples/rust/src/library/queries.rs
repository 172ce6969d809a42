//! Questions about tensors.

use super::{Arguments, Entry, both, function, method};
use crate::fault::{Outcome, index_error};
use crate::tensor::Tensor;
use crate::value::Value;

fn whole(value: usize) -> Value {
    Value::Int(value as i64)
}

fn size(a: &Arguments, values: &[usize], is_size: bool) -> Outcome<Value> {
    if !a.is_none(1) && values.is_empty() {
        let dim = a.int(1)?;
        return Err(index_error(format!(
            "Dimension specified as {dim} but tensor has no dimensions"
        )));
    }
    if !a.is_none(1) {
        return Ok(whole(values[a.dim(1, values.len())?]));
    }
    if is_size {
        return Ok(Value::size(values));
    }
    Ok(Value::tuple(values.iter().map(|&value| whole(value)).collect()))
}

/// Whether two tensors agree in shape and, as `same` says, in elements.
fn agree(x: &Tensor, y: &Tensor, same: impl Fn(f64, f64) -> bool) -> bool {
    x.shape() == y.shape() && x.values().iter().zip(y.values()).all(|(&a, b)| same(a, b))
}

fn all_close(a: &Arguments) -> Outcome<Value> {
    let (rtol, atol, nan) = (a.float(2)?, a.float(3)?, a.flag(4)?);
    let close = |x: f64, y: f64| {
        x == y || (x - y).abs() <= atol + rtol * y.abs() || (nan && x.is_nan() && y.is_nan())
    };
    Ok(Value::Bool(agree(&a.tensor(0)?, &a.tensor(1)?, close)))
}

pub const TABLE: &[Entry] = &[
    method("dim", "self", |a| Ok(whole(a.tensor(0)?.dim()))),
    method("ndimension", "self", |a| Ok(whole(a.tensor(0)?.dim()))),
    both("numel", "self", |a| Ok(whole(a.tensor(0)?.count()))),
    method("nelement", "self", |a| Ok(whole(a.tensor(0)?.count()))),
    method("size", "self dim=None", |a| size(a, &a.tensor(0)?.shape(), true)),
    method("stride", "self dim=None", |a| size(a, &a.tensor(0)?.strides(), false)),
    method("storage_offset", "self", |a| Ok(whole(a.tensor(0)?.offset()))),
    method("is_contiguous", "self", |a| Ok(Value::Bool(a.tensor(0)?.is_contiguous()))),
    method("_is_view", "self", |a| Ok(Value::Bool(a.tensor(0)?.is_view()))),
    both("is_floating_point", "self", |a| Ok(Value::Bool(a.tensor(0)?.dtype().is_float()))),
    both("is_complex", "self", |a| a.tensor(0).map(|_| Value::Bool(false))),
    both("is_conj", "self", |a| a.tensor(0).map(|_| Value::Bool(false))),
    function("is_tensor", "obj", |a| Ok(Value::Bool(matches!(a.at(0), Value::Tensor(_))))),
    both("equal", "self other", |a| {
        Ok(Value::Bool(agree(&a.tensor(0)?, &a.tensor(1)?, |x, y| x == y)))
    }),
    both("allclose", "self other rtol=1e-05 atol=1e-08 equal_nan=False", all_close),
    function("result_type", "tensor1 tensor2", |a| {
        Ok(Value::DType(crate::pointwise::promoted(&[a.operand(0)?, a.operand(1)?])))
    }),
    function("promote_types", "type1 type2", |a| match (a.dtype(0)?, a.dtype(1)?) {
        (Some(one), Some(other)) => Ok(Value::DType(one.with(other))),
        _ => Err(crate::fault::lacks("promote_types of no dtypes")),
    }),
];
