//! Subscripts: views, and copies of the elements at indices.

use crate::copies::{copy_into, fill, fill_with};
use crate::dtype::DType;
use crate::fault::{Fault, Outcome, index_error, lacks, type_error, value_error};
use crate::geometry::{check_size, contiguous_strides, places, product, shown};
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
        [(dim, indices)] => gather_at(&found, *dim, indices),
        _ => Err(lacks("indexing with several tensors")),
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
        return Err(lacks("writing to the elements at indices"));
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
    if counted > x.dim() && (parts.len() > 1 || x.dim() > 0 || matches!(index, Value::Tuple(_))) {
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

/// The elements at indices, or where a mask is true.
fn gather_at(x: &Tensor, dim: usize, indices: &Tensor) -> Outcome<Tensor> {
    if indices.dtype() == DType::Bool {
        return masked(x, dim, indices);
    }
    let size = x.shape()[dim] as i64;
    if x.count() == 0 {
        return Err(lacks("indexing a tensor without elements"));
    }
    if let Some(index) = indices.values().iter().find(|&&i| i >= size as f64 || i < -size as f64) {
        // torch moves the dimension to the front before it looks.
        return Err(index_error(format!(
            "index {index} is out of bounds for dimension 0 with size {size}"
        )));
    }
    let rows: Vec<usize> =
        indices.values().iter().map(|&i| (i as i64).rem_euclid(size.max(1)) as usize).collect();
    rows_at(x, "Index0", dim, &rows, &indices.shape())
}

fn masked(x: &Tensor, dim: usize, mask: &Tensor) -> Outcome<Tensor> {
    let shape = x.shape();
    let part = &shape[dim..dim + mask.dim()];
    if part != mask.shape() {
        let at = (0..part.len()).find(|&i| part[i] != mask.shape()[i]).unwrap_or(0);
        return Err(index_error(format!(
            "The shape of the mask {} at index {at} does not match the shape of the indexed tensor \
             {} at index {}",
            shown(&mask.shape()),
            shown(&shape),
            dim + at
        )));
    }
    let places = mask
        .values()
        .iter()
        .enumerate()
        .filter(|(_, v)| **v != 0.0)
        .map(|(i, _)| i)
        .collect::<Vec<_>>();
    if mask.dim() == 1 {
        return rows_at(x, "Index0", dim, &places, &[places.len()]);
    }
    if dim > 0 || mask.dim() == 0 {
        return Err(lacks("a mask behind other subscripts, or without dimensions"));
    }
    elements_at(x, &places, mask.count())
}

/// The elements of a tensor's first dimensions, seen as one of `size`.
fn elements_at(x: &Tensor, chosen: &[usize], size: usize) -> Outcome<Tensor> {
    let shape = x.shape();
    let inner = x.count() / size.max(1);
    let mut kept = vec![chosen.len()];
    let mut seen = 1;
    let mut rest = shape.iter();
    while seen < size {
        seen *= rest.next().copied().unwrap_or(size);
    }
    kept.extend(rest);
    let reads: Vec<usize> =
        chosen.iter().flat_map(|&i| (0..inner).map(move |k| i * inner + k)).collect();
    read_at(x, "Index0", reads, kept)
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
    let (own, places) = (reads.clone(), shape.clone());
    let operation = Operation::new(name, move |x| {
        let values = x[0].values();
        Tensor::new(
            &places,
            x[0].dtype(),
            &own.iter().map(|&place| values[place]).collect::<Vec<_>>(),
        )
    });
    apply(operation.to(move |g, c| added_at(g, &reads, &shape, c.shape(0))), &[x])
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
