//! Operators that put tensors together, or repeat and turn them.

use crate::copies::cast;
use crate::fault::{Outcome, runtime_error};
use crate::geometry::shown;
use crate::operation::{Operation, apply_many};
use crate::pointwise::promoted;
use crate::tensor::Tensor;
use crate::views::{select, slice};

/// `torch.cat`.
pub fn cat(tensors: &[Tensor], dim: usize) -> Outcome<Tensor> {
    let dtype = promoted(tensors);
    let is_legacy = |x: &Tensor| x.shape() == [0];
    let Some(first) = tensors.iter().find(|x| !is_legacy(x)).or(tensors.first()) else {
        return Err(runtime_error("torch.cat(): expected a non-empty list of Tensors"));
    };
    let mut shape = first.shape();
    let mut ranges = Vec::new();
    let mut size = 0;
    for (i, x) in tensors.iter().enumerate() {
        let own = x.shape();
        if own.is_empty() {
            return Err(runtime_error(format!(
                "zero-dimensional tensor (at position {i}) cannot be concatenated"
            )));
        }
        let start = size;
        if !is_legacy(x) || shape.len() == 1 {
            check_sizes(&shape, &own, dim, i)?;
            size += own[dim];
        }
        ranges.push((start, size));
    }
    shape[dim] = size;
    let places = ranges.clone();
    let mut operation = Operation::new("Cat0", move |inputs| {
        let whole = Tensor::full(&shape, dtype, 0.0)?;
        for (x, &(start, end)) in inputs.iter().zip(&places) {
            let part = window(&whole, dim, start, end);
            part.store(&x.values())?;
        }
        Ok(whole)
    });
    for (x, (start, end)) in tensors.iter().zip(ranges) {
        let (own, legacy) = (x.dtype(), is_legacy(x));
        operation = operation.to(move |g, _| {
            if legacy {
                return Tensor::new(&[0], own, &[]);
            }
            cast(&slice(g, dim, start, end, 1)?, own)
        });
    }
    apply_many(operation, tensors).map(|mut made| made.swap_remove(0))
}

fn window(whole: &Tensor, dim: usize, start: usize, end: usize) -> Tensor {
    let (mut shape, strides) = (whole.shape(), whole.strides());
    shape[dim] = end - start;
    whole.window(&shape, &strides, start * strides[dim])
}

fn check_sizes(shape: &[usize], own: &[usize], dim: usize, i: usize) -> Outcome<()> {
    if own.len() != shape.len() {
        return Err(runtime_error(format!(
            "Tensors must have same number of dimensions: got {} and {}",
            shape.len(),
            own.len()
        )));
    }
    match (0..shape.len()).find(|&at| at != dim && shape[at] != own[at]) {
        Some(at) => Err(runtime_error(format!(
            "Sizes of tensors must match except in dimension {dim}. Expected size {} but got size \
             {} for tensor number {i} in the list.",
            shape[at], own[at]
        ))),
        None => Ok(()),
    }
}

/// `torch.stack`.
pub fn stack(tensors: &[Tensor], dim: usize) -> Outcome<Tensor> {
    let dtype = promoted(tensors);
    let Some(first) = tensors.first() else {
        return Err(runtime_error("stack expects a non-empty TensorList"));
    };
    let own = first.shape();
    if let Some((i, other)) = tensors.iter().enumerate().find(|(_, x)| x.shape() != own) {
        return Err(runtime_error(format!(
            "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}",
            shown(&own),
            shown(&other.shape())
        )));
    }
    let mut shape = own;
    shape.insert(dim, tensors.len());
    let mut operation = Operation::new("Stack0", move |inputs| {
        let whole = Tensor::full(&shape, dtype, 0.0)?;
        let strides = whole.strides();
        for (i, x) in inputs.iter().enumerate() {
            let mut part = strides.clone();
            let offset = i * part.remove(dim);
            whole.window(&x.shape(), &part, offset).store(&x.values())?;
        }
        Ok(whole)
    });
    for (i, x) in tensors.iter().enumerate() {
        let own = x.dtype();
        operation = operation.to(move |g, _| cast(&select(g, dim, i)?, own));
    }
    apply_many(operation, tensors).map(|mut made| made.swap_remove(0))
}
