//! New tensors of Python's numbers.

use crate::dtype::DType;
use crate::fault::{Outcome, lacks, runtime_error, type_error, value_error};
use crate::state::default_dtype;
use crate::tensor::Tensor;
use crate::value::Value;

/// A tensor of nested lists of numbers, as `torch.tensor` makes it.
pub fn from_nested(data: &Value, dtype: Option<DType>) -> Outcome<Tensor> {
    let mut shape = Vec::new();
    let mut level = data.clone();
    while let Some(items) = level.items() {
        shape.push(items.len());
        match items.into_iter().next() {
            Some(first) => level = first,
            None => break,
        }
    }
    let mut flat = Vec::new();
    walk(data, 0, &shape, &mut flat)?;
    let mut found: Option<DType> = None;
    let mut values = Vec::new();
    for part in &flat {
        let Some((value, own)) = part.number() else {
            return Err(lacks(format!("torch.tensor of a {}", part.type_name())));
        };
        found = Some(found.map_or(own, |before| before.with(own)));
        values.push(value);
    }
    Tensor::new(&shape, dtype.or(found).unwrap_or_else(default_dtype), &values)
}

fn walk(part: &Value, depth: usize, shape: &[usize], flat: &mut Vec<Value>) -> Outcome<()> {
    if depth == shape.len() {
        flat.push(part.clone());
        return Ok(());
    }
    let Some(items) = part.items() else {
        return Err(type_error(format!("not a sequence: {}", part.type_name())));
    };
    if items.len() != shape[depth] {
        return Err(value_error(format!(
            "expected sequence of length {} at dim {depth} (got {})",
            shape[depth],
            items.len()
        )));
    }
    items.iter().try_for_each(|item| walk(item, depth + 1, shape, flat))
}

/// Sizes as a program gives them.
pub fn shape(sizes: &[i64]) -> Outcome<Vec<usize>> {
    let size = |&size: &i64| {
        usize::try_from(size).map_err(|_| {
            let text = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            runtime_error(format!(
                "Trying to create tensor with negative dimension {size}: [{text}]"
            ))
        })
    };
    sizes.iter().map(size).collect()
}
