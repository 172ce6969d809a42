//! Python's operators and builtins.

use crate::fault::{Outcome, index_error, lacks, raised, type_error};
use crate::indexing;
use crate::library::{call_function, call_method};
use crate::tensor::Tensor;
use crate::value::Value;

/// Operators that tensors have under another name.
const CALLED: &[(&str, &str)] = &[
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("truediv", "div"),
    ("pow", "pow"),
    ("matmul", "matmul"),
    ("mod", "remainder"),
    ("eq", "eq"),
    ("ne", "ne"),
    ("lt", "lt"),
    ("le", "le"),
    ("gt", "gt"),
    ("ge", "ge"),
];

fn is_tensor(value: &Value) -> bool {
    matches!(value, Value::Tensor(_))
}

pub fn operator(name: &str, values: &[Value]) -> Outcome<Value> {
    match (name, values) {
        ("getitem", [owner, index]) => get_item(owner, index),
        ("setitem", [Value::Tensor(x), index, value]) => {
            indexing::set(x, index, value).map(|()| Value::None)
        }
        ("is_", [a, b]) => a.is(b).map(Value::Bool),
        ("is_not", [a, b]) => a.is(b).map(|found| Value::Bool(!found)),
        ("not_", [a]) => a.truth().map(|found| Value::Bool(!found)),
        ("contains", [owner, item]) => contains(owner, item),
        ("neg", [x]) if is_tensor(x) => call_function("neg", values.to_vec(), vec![]),
        ("neg", [Value::Int(x)]) => Ok(Value::Int(-x)),
        ("neg", [Value::Float(x)]) => Ok(Value::Float(-x)),
        ("pos", [x]) if is_tensor(x) || x.number().is_some() => Ok(x.clone()),
        ("invert", [Value::Tensor(x)]) if x.dtype() == crate::dtype::DType::Bool => {
            call_function("logical_not", values.to_vec(), vec![])
        }
        ("and_" | "or_" | "xor", [Value::Tensor(x), Value::Tensor(y)])
            if x.dtype() == y.dtype() && x.dtype() == crate::dtype::DType::Bool =>
        {
            let name = match name {
                "and_" => "logical_and",
                "or_" => "logical_or",
                _ => "logical_xor",
            };
            call_function(name, values.to_vec(), vec![])
        }
        (_, [a, b]) => binary(name, a, b),
        _ => Err(lacks(format!("operator.{name}"))),
    }
}

fn binary(name: &str, a: &Value, b: &Value) -> Outcome<Value> {
    let values = vec![a.clone(), b.clone()];
    if let Some((_, called)) = CALLED.iter().find(|(own, _)| *own == name) {
        return match (is_tensor(a), is_tensor(b)) {
            (false, false) => plain(name, a, b),
            _ if name == "eq" && (matches!(a, Value::None) || matches!(b, Value::None)) => {
                Ok(Value::Bool(false))
            }
            _ if name == "ne" && (matches!(a, Value::None) || matches!(b, Value::None)) => {
                Ok(Value::Bool(true))
            }
            (false, true) if name == "sub" && a.number().is_some() => {
                call_function("rsub", vec![b.clone(), a.clone()], vec![])
            }
            (false, true) if name == "truediv" && a.number().is_some() => {
                let inverse = call_function("reciprocal", vec![b.clone()], vec![])?;
                call_function("mul", vec![inverse, a.clone()], vec![])
            }
            // Python asks the tensor, whose reflected operator has it first.
            (false, true) if matches!(name, "add" | "mul") && a.number().is_some() => {
                call_function(called, vec![b.clone(), a.clone()], vec![])
            }
            _ => call_function(called, values, vec![]),
        };
    }
    let in_place = name.strip_prefix('i');
    let Some((own, called)) = in_place.and_then(|name| CALLED.iter().find(|(own, _)| *own == name))
    else {
        return Err(lacks(format!("operator.{name}")));
    };
    match a {
        Value::Tensor(_) => call_method(&format!("{called}_"), values, vec![]),
        Value::List(_) => Err(lacks("writing to a list in place")),
        _ => binary(own, a, b),
    }
}

/// Arithmetic on Python's own values: an int with a float gives a float.
fn plain(name: &str, a: &Value, b: &Value) -> Outcome<Value> {
    match name {
        "eq" => return a.equals(b).map(Value::Bool),
        "ne" => return a.equals(b).map(|found| Value::Bool(!found)),
        _ => {}
    }
    if let (Some(mut mine), Some(theirs), "add") = (a.items(), b.items(), name)
        && a.type_name() == b.type_name()
    {
        mine.extend(theirs);
        return Ok(if matches!(a, Value::List(_)) {
            Value::list(mine)
        } else {
            Value::tuple(mine)
        });
    }
    let (Some((x, _)), Some((y, _))) = (a.number(), b.number()) else {
        return Err(lacks(format!(
            "operator.{name} of a {} and a {}",
            a.type_name(),
            b.type_name()
        )));
    };
    let are_whole = !matches!(a, Value::Float(_)) && !matches!(b, Value::Float(_));
    let found = match name {
        "add" => x + y,
        "sub" => x - y,
        "mul" => x * y,
        "pow" => x.powf(y),
        "truediv" if y == 0.0 => return Err(raised("ZeroDivisionError", "division by zero")),
        "truediv" => return Ok(Value::Float(x / y)),
        "lt" => return Ok(Value::Bool(x < y)),
        "le" => return Ok(Value::Bool(x <= y)),
        "gt" => return Ok(Value::Bool(x > y)),
        "ge" => return Ok(Value::Bool(x >= y)),
        _ => return Err(lacks(format!("operator.{name} of numbers"))),
    };
    let is_exact = found.abs() < 9e15 && found.fract() == 0.0;
    match are_whole {
        true if is_exact => Ok(Value::Int(found as i64)),
        true => Err(lacks("integers from 2^53 on")),
        false => Ok(Value::Float(found)),
    }
}

fn get_item(owner: &Value, index: &Value) -> Outcome<Value> {
    if let Value::Tensor(x) = owner {
        return indexing::get(x, index).map(Value::Tensor);
    }
    let (Some(items), Value::Int(at)) = (owner.items(), index) else {
        return Err(lacks(format!("a subscript of a {}", owner.type_name())));
    };
    let count = items.len() as i64;
    let place = if *at < 0 { at + count } else { *at };
    let found = usize::try_from(place).ok().and_then(|place| items.get(place));
    found.cloned().ok_or_else(|| {
        let kind = if matches!(owner, Value::List(_)) { "list" } else { "tuple" };
        index_error(format!("{kind} index out of range"))
    })
}

fn contains(owner: &Value, item: &Value) -> Outcome<Value> {
    let Some(items) = owner.items() else {
        return Err(lacks(format!("`in` of a {}", owner.type_name())));
    };
    for one in &items {
        if is_tensor(one) || is_tensor(item) {
            return Err(lacks("`in` of tensors"));
        }
        if one.equals(item)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// The only element of a tensor, or a number.
fn scalar(value: &Value) -> Outcome<f64> {
    match value {
        Value::Tensor(x) => x.item(),
        other => {
            other.number().map(|(value, _)| value).ok_or_else(|| lacks("a number of what is none"))
        }
    }
}

pub fn builtin(name: &str, values: &[Value]) -> Outcome<Value> {
    match (name, values) {
        ("bool", [x]) => x.truth().map(Value::Bool),
        ("float", [x]) => scalar(x).map(Value::Float),
        ("int", [x]) => {
            let found = scalar(x)?;
            if found.is_finite() {
                Ok(Value::Int(found as i64))
            } else {
                Err(lacks("int of infinity"))
            }
        }
        ("len", [x]) => length(x),
        ("abs", [x]) if is_tensor(x) => call_function("abs", values.to_vec(), vec![]),
        ("abs", [Value::Int(x)]) => Ok(Value::Int(x.abs())),
        ("abs", [Value::Float(x)]) => Ok(Value::Float(x.abs())),
        ("list", []) => Ok(Value::list(vec![])),
        ("list" | "tuple", [x]) => {
            let items = match x {
                Value::Tensor(x) if x.dim() > 0 => {
                    crate::views::unbind(x, 0)?.into_iter().map(Value::Tensor).collect()
                }
                other => other.items().ok_or_else(|| lacks("a list of no container"))?,
            };
            Ok(if name == "list" { Value::list(items) } else { Value::tuple(items) })
        }
        ("callable", [x]) => Ok(Value::Bool(matches!(x, Value::Function(_) | Value::Named(_)))),
        ("id", [_]) => Err(lacks("the builtin id")),
        _ => Err(lacks(format!("the builtin {name}"))),
    }
}

fn length(value: &Value) -> Outcome<Value> {
    let count = match value {
        Value::Tensor(x) => first_size(x)?,
        Value::Str(text) => text.chars().count(),
        other => match other.items() {
            Some(items) => items.len(),
            None => {
                return Err(type_error(format!(
                    "object of type '{}' has no len()",
                    other.type_name()
                )));
            }
        },
    };
    Ok(Value::Int(count as i64))
}

fn first_size(x: &Tensor) -> Outcome<usize> {
    x.shape().first().copied().ok_or_else(|| type_error("len() of a 0-d tensor"))
}
