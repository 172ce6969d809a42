//! Methods that change a tensor's geometry in place.

use super::{Arguments, Entry, method};
use crate::fault::Outcome;
use crate::operation::Context;
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views::{reshaped_in_place, squeeze, t, transpose, unsqueeze};

fn unsqueezed(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let dim = a.dim(1, x.dim() + 1)?;
    let like = unsqueeze(&x.detached(), dim)?;
    let formula = move |g: &Tensor, _: &Context| squeeze(g, "Squeeze1", &[dim]);
    reshaped_in_place(&x, "Unsqueeze1", like.shape(), like.strides(), formula).map(Value::Tensor)
}

fn squeezed(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let (name, dims) = if a.is_none(1) {
        ("Squeeze3", (0..x.dim()).collect())
    } else {
        ("Squeeze4", vec![a.dim(1, x.dim())?])
    };
    let like = squeeze(&x.detached(), "Squeeze1", &dims)?;
    let shape = x.shape();
    let dropped: Vec<usize> = dims.into_iter().filter(|&dim| shape.get(dim) == Some(&1)).collect();
    let formula = move |g: &Tensor, _: &Context| {
        dropped.iter().try_fold(g.clone(), |wide, &dim| unsqueeze(&wide, dim))
    };
    reshaped_in_place(&x, name, like.shape(), like.strides(), formula).map(Value::Tensor)
}

fn transposed(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let (first, second) = (a.dim(1, x.dim())?, a.dim(2, x.dim())?);
    let like = transpose(&x.detached(), first, second)?;
    let formula = move |g: &Tensor, _: &Context| transpose(g, first, second);
    reshaped_in_place(&x, "Transpose1", like.shape(), like.strides(), formula).map(Value::Tensor)
}

fn turned(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let like = t(&x.detached())?;
    reshaped_in_place(&x, "T1", like.shape(), like.strides(), |g, _| t(g)).map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    method("unsqueeze_", "input dim", unsqueezed),
    method("squeeze_", "input dim=None", squeezed),
    method("transpose_", "input dim0 dim1", transposed),
    method("t_", "input", turned),
];
