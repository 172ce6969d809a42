//! Copies, casts and fills, and gradients brought to other shapes.

use crate::dtype::DType;
use crate::fault::Outcome;
use crate::geometry::{contiguous_strides, expanded_strides, places, result_strides};
use crate::graph::Meta;
use crate::in_place::apply_in_place;
use crate::operation::{Operation, apply};
use crate::reductions::sum;
use crate::tensor::Tensor;

pub fn zeros_like(x: &Tensor) -> Outcome<Tensor> {
    filled_like(x, 0.0, x.dtype())
}

/// A tensor of one value with the layout of another.
pub fn filled_like(x: &Tensor, value: f64, dtype: DType) -> Outcome<Tensor> {
    Tensor::strided(&x.shape(), kept_strides(x), dtype, &vec![value; x.count()])
}

/// The strides of a copy: as they are where elements are dense, else in the same order.
pub fn kept_strides(x: &Tensor) -> Vec<usize> {
    if x.is_dense() { x.strides() } else { result_strides(&[x.strides()], &x.shape()) }
}

pub fn clone(x: &Tensor) -> Outcome<Tensor> {
    clone_strided(x, kept_strides(x))
}

/// A copy with other strides.
pub fn clone_strided(x: &Tensor, strides: Vec<usize>) -> Outcome<Tensor> {
    let operation = Operation::new("Clone0", move |x| {
        Tensor::strided(&x[0].shape(), strides.clone(), x[0].dtype(), &x[0].values())
    });
    apply(operation.to(|g, _| Ok(g.clone())), &[x])
}

pub fn contiguous(x: &Tensor) -> Outcome<Tensor> {
    if x.is_contiguous() { Ok(x.clone()) } else { clone_strided(x, contiguous_strides(&x.shape())) }
}

pub fn cast(x: &Tensor, dtype: DType) -> Outcome<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    let operation = Operation::new("ToCopy0", move |x| {
        Tensor::strided(&x[0].shape(), kept_strides(&x[0]), dtype, &x[0].values())
    });
    let from = x.dtype();
    apply(operation.to(move |g, _| cast(g, from)), &[x])
}

/// Whether a copy writes each element to where it is.
fn is_same_memory(one: &Tensor, other: &Tensor) -> bool {
    one.shares_storage(other) && one.places() == other.places()
}

/// Copy the second tensor, broadcast, into the first.
pub fn copy_into(target: &Tensor, source: &Tensor) -> Outcome<Tensor> {
    let operation = Operation::new("Copy0", |x| {
        let (shape, source) = (x[0].shape(), &x[1]);
        let common = crate::geometry::broadcast(&shape, &source.shape())?;
        let layout = source.layout();
        let strides = expanded_strides(&layout.shape, &layout.strides, &common);
        let data = layout.storage.data.borrow();
        let from = places(&common, &strides, layout.offset);
        let values: Vec<f64> = from.into_iter().map(|place| data[place]).collect();
        Tensor::new(&common, x[0].dtype(), &values)
    })
    .named("CopyBackwards")
    .filling_if(is_same_memory(target, source))
    .to(|g, _| zeros_like(g))
    .to(|g, c| {
        let Meta { shape, dtype } = &c.inputs[1];
        let sum = sum_to(g, shape)?.unwrap_or_else(|| g.clone());
        cast(&sum, *dtype)
    });
    apply_in_place(operation, &[target, source])
}

pub fn fill(target: &Tensor, value: f64) -> Outcome<Tensor> {
    fill_as("Fill2", target, value)
}

pub fn zero(target: &Tensor) -> Outcome<Tensor> {
    fill_as("Zero0", target, 0.0)
}

fn fill_as(name: &str, target: &Tensor, value: f64) -> Outcome<Tensor> {
    let compute = move |x: &[Tensor]| {
        // One element is written without a kernel, and without a look at the number.
        if x[0].count() != 1 {
            x[0].dtype().check(value)?;
        }
        filled_like(&x[0], value, x[0].dtype())
    };
    apply_in_place(Operation::new(name, compute).filling().to(|g, _| zeros_like(g)), &[target])
}

/// As `fill`, with the one element of a tensor.
pub fn fill_with(target: &Tensor, value: &Tensor) -> Outcome<Tensor> {
    let compute = |x: &[Tensor]| filled_like(&x[0], x[1].item()?, x[0].dtype());
    let operation = Operation::new("Fill3", compute)
        .filling()
        .to(|g, _| zeros_like(g))
        .to(|g, _| sum(g, &(0..g.dim()).collect::<Vec<_>>(), false));
    apply_in_place(operation, &[target, value])
}

/// A tensor summed to a shape from which it can be broadcast; `None` where it cannot be.
pub fn sum_to(x: &Tensor, shape: &[usize]) -> Outcome<Option<Tensor>> {
    let own = x.shape();
    if own == shape {
        return Ok(Some(x.clone()));
    }
    if shape.is_empty() {
        return sum(x, &(0..own.len()).collect::<Vec<_>>(), false).map(Some);
    }
    let Some(missing) = own.len().checked_sub(shape.len()) else {
        return Ok(None);
    };
    let fits = (0..shape.len()).all(|i| shape[i] == own[i + missing] || shape[i] == 1);
    if !fits {
        return Ok(None);
    }
    let is_summed = |i: &usize| *i < missing || (shape[i - missing] == 1 && own[*i] != 1);
    let dims: Vec<usize> = (0..own.len()).filter(is_summed).collect();
    let summed = sum(x, &dims, true)?;
    if missing == 0 { Ok(Some(summed)) } else { crate::views::reshape(&summed, shape).map(Some) }
}
