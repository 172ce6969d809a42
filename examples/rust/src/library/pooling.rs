//! Maximum pooling.

use super::{Arguments, Entry, function};
use crate::fault::{Outcome, lacks, runtime_error};
use crate::geometry::shown;
use crate::pooling::{Window, max_pool};
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views::{squeeze, unsqueeze};

/// A number for each dimension, from one or several.
fn each(a: &Arguments, i: usize, dims: usize, otherwise: Option<&[usize]>) -> Outcome<Vec<usize>> {
    if let (true, Some(otherwise)) = (a.is_none(i), otherwise) {
        return Ok(otherwise.to_vec());
    }
    let given = a.ints(i)?;
    let small = |&value: &i64| usize::try_from(value).ok().filter(|&value| value < 1 << 20);
    let found: Option<Vec<usize>> = given.iter().map(small).collect();
    match found {
        Some(found) if found.len() == 1 => Ok(vec![found[0]; dims]),
        Some(found) if found.len() == dims => Ok(found),
        _ => Err(lacks("windows of such sizes")),
    }
}

fn windows(a: &Arguments, dims: usize) -> Outcome<Vec<Window>> {
    let size = each(a, 1, dims, None)?;
    let stride = each(a, 2, dims, Some(&size))?;
    let (padding, dilation) = (each(a, 3, dims, None)?, each(a, 4, dims, None)?);
    let ceils = a.flag(5)?;
    if size.iter().chain(&stride).chain(&dilation).any(|&value| value == 0) {
        return Err(lacks("windows without elements"));
    }
    let window = |i: usize| Window {
        size: size[i],
        stride: stride[i],
        padding: padding[i],
        dilation: dilation[i],
        ceils,
    };
    Ok((0..dims).map(window).collect())
}

fn answer(a: &Arguments, made: (Tensor, Tensor)) -> Outcome<Value> {
    if a.flag(6)? { Ok(Value::tensors(vec![made.0, made.1])) } else { Ok(Value::Tensor(made.0)) }
}

/// One dimension is pooled as two, the first of one element.
fn of_one(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let window = windows(a, 1)?.swap_remove(0);
    if x.dim() != 2 && x.dim() != 3 {
        return Err(runtime_error(format!(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for \
             input, but got:{}",
            shown(&x.shape())
        )));
    }
    if window.padding > window.size / 2 {
        return Err(runtime_error(format!(
            "max_pool1d() padding should be at most half of kernel size, but got padding={} and \
             kernel_size={}",
            window.padding, window.size
        )));
    }
    let count = window.count(x.shape()[x.dim() - 1]);
    if count < 1 {
        return Err(runtime_error(format!("max_pool1d() Invalid computed output size: {count}")));
    }
    let is_recorded = x.requires_grad() && crate::state::grad_mode();
    if !(a.flag(6)? || is_recorded) {
        // Another kernel, whose result is no view.
        let high = Window { size: 1, stride: 1, padding: 0, dilation: 1, ceils: false };
        let at = x.dim() - 1;
        let (values, _) = max_pool(&unsqueeze(&x.detached(), at)?, vec![high, window])?;
        let mut shape = values.shape();
        shape.remove(at);
        return Tensor::new(&shape, values.dtype(), &values.values()).map(Value::Tensor);
    }
    let high = Window { size: 1, stride: 1, padding: 0, dilation: 1, ceils: window.ceils };
    let at = x.dim() - 1;
    let (values, indices) = max_pool(&unsqueeze(&x, at)?, vec![high, window])?;
    let narrow = |x: &Tensor| squeeze(x, "Squeeze1", &[at]);
    answer(a, (narrow(&values)?, narrow(&indices)?))
}

fn of_many(a: &Arguments, dims: usize) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let windows = windows(a, dims)?;
    if x.dim() != dims + 1 && x.dim() != dims + 2 || x.count() == 0 || !x.is_contiguous() {
        return Err(lacks("pooling of such an input"));
    }
    answer(a, max_pool(&x, windows)?)
}

const PARAMETERS: &str =
    "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False";

pub const TABLE: &[Entry] = &[
    function("nn.functional.max_pool1d", PARAMETERS, of_one),
    function("nn.functional.max_pool2d", PARAMETERS, |a| of_many(a, 2)),
    function("nn.functional.max_pool3d", PARAMETERS, |a| of_many(a, 3)),
];
