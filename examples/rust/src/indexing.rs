//! Subscripts: views, and copies of the elements at indices.

use crate::advanced;
use crate::copies::{cast, copy_into, fill, fill_with};
use crate::dtype::DType;
use crate::fault::{Fault, Outcome, index_error, lacks, type_error, value_error};
use crate::geometry::{check_size, contiguous_strides, places, product};
use crate::operation::{Operation, apply};
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views::{alias, expand, select, slice, unsqueeze, view};

/// `x[index]`: a view, or a copy of the elements at the indices of one tensor.
pub fn get(x: &Tensor, index: &Value) -> Outcome<Tensor> {
    let (found, tensors) = viewed(x, index, false)?;
    match &tensors[..] {
        [] if found.is(x) => alias(x),
        [] => Ok(found),
        tensors => advanced::read(&found, tensors),
    }
}

/// `x[index] = value`.
pub fn set(x: &Tensor, index: &Value, value: &Value) -> Outcome<()> {
    let (target, tensors) = viewed(x, index, true)?;
    if let Value::Str(_) = value {
        let name = x.dtype().scalar_type();
        return Err(type_error(format!("can't assign a str to a torch.{name}Tensor")));
    }
    if !tensors.is_empty() {
        return put(&target, &tensors, value);
    }
    match value {
        Value::Tensor(value) if value.shape() == target.shape() => copy_into(&target, value),
        Value::Tensor(value) if value.dim() == 0 => fill_with(&target, value),
        Value::Tensor(value) => {
            let seen = view(value, without_leading_ones(&value.shape()))?;
            let shape: Vec<i64> = target.shape().iter().map(|&size| size as i64).collect();
            let wide = if seen.shape() == target.shape() { seen } else { expand(&seen, &shape)? };
            copy_into(&target, &wide)
        }
        other => match other.number() {
            Some((value, _)) => fill(&target, value),
            None => return Err(lacks(format!("writing a {} by subscript", other.type_name()))),
        },
    }?;
    Ok(())
}

/// Write to the elements at index tensors.
fn put(target: &Tensor, tensors: &[(usize, Tensor)], value: &Value) -> Outcome<()> {
    let is_number = !matches!(value, Value::Tensor(_));
    let value = match value {
        Value::Tensor(value) => match without_leading_ones(&value.shape()) {
            shape if shape.len() < value.dim() => view(value, shape)?,
            _ => value.clone(),
        },
        other => match other.number() {
            Some((number, _)) => advanced::scalar(target, number)?,
            None => return Err(lacks(format!("writing a {} by subscript", other.type_name()))),
        },
    };
    // torch fills with a number, and fills under a mask with one element of any dtype.
    let is_mask = matches!(tensors, [(_, index)] if index.dtype() == DType::Bool);
    let is_index = matches!(tensors, [(_, index)] if index.dtype() == DType::Int64);
    let value = if is_mask && value.count() == 1 { cast(&value, target.dtype())? } else { value };
    let name = match (is_number, is_mask, is_index) {
        (true, true, _) => "MaskedFill0",
        (true, _, true) => "IndexFill0",
        _ => "IndexPut0",
    };
    let layout = target.layout();
    let twice = layout.shape.iter().zip(&layout.strides).any(|(&n, &by)| n > 1 && by == 0);
    drop(layout);
    if twice && name == "IndexFill0" {
        return Err(lacks("filling elements that share memory at indices"));
    }
    let found = advanced::spots_for(&target.shape(), tensors, Some(&value.shape()))?;
    let indices: Vec<Tensor> = tensors.iter().map(|(_, tensor)| tensor.clone()).collect();
    advanced::put(target, name, found, &value, &indices, false, true).map(|_| ())
}

fn without_leading_ones(shape: &[usize]) -> &[usize] {
    let ones = shape.iter().take_while(|&&size| size == 1).count();
    &shape[ones..]
}

/// The view of a subscript, and the tensors that remain to index it with.
fn viewed(x: &Tensor, index: &Value, to_write: bool) -> Outcome<(Tensor, Vec<(usize, Tensor)>)> {
    let parts = match index {
        Value::Tuple(tuple) => tuple.items.clone(),
        other => vec![other.clone()],
    };
    let used = |part: &Value| match part {
        Value::None | Value::Ellipsis => 0,
        Value::Tensor(mask) if mask.dtype() == DType::Bool => mask.dim(),
        _ => 1,
    };
    let counted: usize = parts.iter().map(used).sum();
    // One number has a message of its own.
    let is_number = |part: &Value| match part {
        Value::Tensor(index) => is_position(index),
        other => matches!(other, Value::Int(_)),
    };
    if counted > x.dim() && (x.dim() > 0 || !is_number(index)) {
        return Err(too_many(x));
    }
    let (mut found, mut dim) = (x.clone(), 0);
    let mut tensors = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Value::Tensor(index) if is_position(index) => {
                found = selected(&found, dim, index.item()? as i64, at)?;
            }
            Value::None => {
                found = unsqueeze(&found, dim)?;
                dim += 1;
            }
            Value::Ellipsis => dim += x.dim() - counted,
            Value::Int(i) => found = selected(&found, dim, *i, at)?,
            Value::Slice(slice) => {
                found = sliced(&found, dim, slice, parts.len() == 1 && !to_write)?;
                dim += 1;
            }
            Value::Tensor(indices)
                if indices.dtype() == DType::Bool || !indices.dtype().is_float() =>
            {
                tensors.push((dim, indices.clone()));
                dim += used(part);
            }
            Value::List(_) => {
                let indices = crate::factories::from_nested(part, None)?;
                tensors.push((dim, indices));
                dim += 1;
            }
            other => return Err(lacks(format!("indexing with a {}", other.type_name()))),
        }
    }
    Ok((found, tensors))
}

fn too_many(x: &Tensor) -> Fault {
    index_error(format!("too many indices for tensor of dimension {}", x.dim()))
}

/// Whether a tensor is one index, as a Python number is.
fn is_position(index: &Tensor) -> bool {
    index.dim() == 0 && index.dtype().category() == 1
}

/// The part at one index; `at` is its place in the subscript.
fn selected(x: &Tensor, dim: usize, index: i64, at: usize) -> Outcome<Tensor> {
    if x.dim() == 0 && index == 0 {
        return Err(index_error(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` \
             in C++ to convert a 0-dim tensor to a number",
        ));
    }
    let size = x.shape().get(dim).map_or(0, |&size| size as i64);
    if index < -size || index >= size {
        return Err(index_error(format!(
            "index {index} is out of bounds for dimension {at} with size {size}"
        )));
    }
    select(x, dim, (if index < 0 { index + size } else { index }) as usize)
}

/// A slice as a view; with `always` also one of the whole dimension.
fn sliced(x: &Tensor, dim: usize, parts: &[Value; 3], always: bool) -> Outcome<Tensor> {
    let Some(&size) = x.shape().get(dim) else {
        return Err(too_many(x));
    };
    let number = |part: &Value, otherwise: i64| match part {
        Value::None => Ok(otherwise),
        Value::Int(value) => Ok(*value),
        other => Err(lacks(format!("a slice from a {}", other.type_name()))),
    };
    let step = number(&parts[2], 1)?;
    if step < 1 {
        return Err(value_error("step must be greater than zero"));
    }
    let size = size as i64;
    let place = |at: i64| (if at < 0 { at + size } else { at }).clamp(0, size);
    let start = place(number(&parts[0], 0)?);
    let end = place(number(&parts[1], size)?).max(start);
    if !always && start == 0 && step == 1 && end == size {
        return Ok(x.clone());
    }
    slice(x, dim, start as usize, end as usize, step as usize)
}

/// The parts of a tensor at positions along a dimension, which takes the shape `within`.
pub fn rows_at(
    x: &Tensor,
    name: &str,
    dim: usize,
    rows: &[usize],
    within: &[usize],
) -> Outcome<Tensor> {
    let shape = x.shape();
    check_size(&[product(&shape), rows.len()])?;
    let strides = contiguous_strides(&shape);
    let mut outer = shape.clone();
    outer.truncate(dim);
    let (inner_shape, inner_strides) = (&shape[dim + 1..], &strides[dim + 1..]);
    let mut reads = Vec::new();
    for start in places(&outer, &strides[..dim], 0) {
        for &row in rows {
            reads.extend(places(inner_shape, inner_strides, start + row * strides[dim]));
        }
    }
    let mut made = outer;
    made.extend(within);
    made.extend(inner_shape);
    read_at(x, name, reads, made)
}

/// Elements by their row-major places; what is read twice gets both gradients.
pub fn read_at(x: &Tensor, name: &str, reads: Vec<usize>, shape: Vec<usize>) -> Outcome<Tensor> {
    apply(read_operation(name, reads, shape), &[x])
}

pub fn read_operation(name: &str, reads: Vec<usize>, shape: Vec<usize>) -> Operation {
    let (own, places) = (reads.clone(), shape.clone());
    let operation = Operation::new(name, move |x| {
        let values = x[0].values();
        let found: Vec<f64> = own.iter().map(|&place| values[place]).collect();
        Tensor::new(&places, x[0].dtype(), &found)
    });
    operation.to(move |g, c| added_at(g, &reads, &shape, c.shape(0)))
}

fn added_at(g: &Tensor, writes: &[usize], part: &[usize], shape: &[usize]) -> Outcome<Tensor> {
    let (places, whole) = (writes.to_vec(), shape.to_vec());
    let (again, part) = (writes.to_vec(), part.to_vec());
    let operation = Operation::new("IndexPut0", move |g| {
        let mut values = vec![0.0; whole.iter().product()];
        // Each sum is stored, and rounded, before the next one.
        let dtype = g[0].dtype();
        for (&place, value) in places.iter().zip(g[0].values()) {
            values[place] = dtype.rounded(values[place] + value);
        }
        let made = Tensor::new(&whole, dtype, &values)?;
        made.bump();
        Ok(made)
    });
    apply(operation.to(move |g, _| read_at(g, "Index0", again.clone(), part.clone())), &[g])
}
