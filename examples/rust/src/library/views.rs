//! Views.

use super::{Arguments, Entry, both, function, method};
use crate::copies::contiguous;
use crate::fault::{Outcome, index_error, lacks, runtime_error};
use crate::geometry::{check_size, dimension, inferred};
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views;

fn shape_of(a: &Arguments, x: &Tensor) -> Outcome<Vec<usize>> {
    inferred(&a.ints(1)?, x.count())
}

fn view(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if let Some([Value::DType(_)]) = a.at(1).items().as_deref() {
        return Err(lacks("Tensor.view(dtype)"));
    }
    views::view(&x, &shape_of(a, &x)?).map(Value::Tensor)
}

fn permute(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let given = a.ints(1)?;
    if given.len() != x.dim() {
        return Err(runtime_error(format!(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the \
             length of the desired ordering of dimensions i.e. input.dim() = {} is not equal to \
             len(dims) = {}",
            x.dim(),
            given.len()
        )));
    }
    let order =
        given.into_iter().map(|dim| dimension(dim, x.dim())).collect::<Outcome<Vec<_>>>()?;
    if (0..order.len()).any(|i| order[..i].contains(&order[i])) {
        return Err(runtime_error("permute(): duplicate dims are not allowed."));
    }
    views::permute(&x, &order).map(Value::Tensor)
}

fn squeeze(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let all: Vec<usize> = (0..x.dim()).collect();
    match a.at(1) {
        Value::None => views::squeeze(&x, "Squeeze0", &all),
        Value::Int(_) => views::squeeze(&x, "Squeeze1", &[a.dim(1, x.dim())?]),
        _ => {
            let dims = a.ints(1)?.into_iter().map(|dim| dimension(dim, x.dim()));
            views::squeeze(&x, "Squeeze2", &dims.collect::<Outcome<Vec<_>>>()?)
        }
    }
    .map(Value::Tensor)
}

fn t(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dim() > 2 {
        return Err(runtime_error(format!(
            "t() expects a tensor with <= 2 dimensions, but self is {}D",
            x.dim()
        )));
    }
    views::t(&x).map(Value::Tensor)
}

fn transpose(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    views::transpose(&x, a.dim(1, x.dim())?, a.dim(2, x.dim())?).map(Value::Tensor)
}

/// Some dimensions made one.
fn flatten(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let (start, end) = (a.dim(1, x.dim())?, a.dim(2, x.dim())?);
    if x.dim() == 0 {
        return views::reshape(&x, &[1]).map(Value::Tensor);
    }
    if start > end {
        return Err(runtime_error(
            "flatten() has invalid args: start_dim cannot come after end_dim",
        ));
    }
    if start == end {
        return Ok(Value::Tensor(x));
    }
    let shape = x.shape();
    let mut made = shape[..start].to_vec();
    made.push(shape[start..=end].iter().product());
    made.extend(&shape[end + 1..]);
    views::reshape(&x, &made).map(Value::Tensor)
}

fn narrow(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dim() == 0 {
        return Err(runtime_error("narrow() cannot be applied to a 0-dim tensor."));
    }
    let dim = a.dim(1, x.dim())?;
    let (start, length) = (a.int(2)?, a.int(3)?);
    if length < 0 {
        return Err(runtime_error("narrow(): length must be non-negative."));
    }
    let size = x.shape()[dim] as i64;
    if start < -size || start > size {
        return Err(index_error(format!(
            "Dimension out of range (expected to be in range of [{}, {size}], but got {start})",
            -size
        )));
    }
    let from = if start < 0 { start + size } else { start };
    if from + length > size {
        return Err(runtime_error(format!(
            "start ({from}) + length ({length}) exceeds dimension size ({size})."
        )));
    }
    views::slice(&x, dim, from as usize, (from + length) as usize, 1).map(Value::Tensor)
}

fn select(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dim() == 0 {
        return Err(index_error("select() cannot be applied to a 0-dim tensor."));
    }
    let (dim, index) = (a.dim(1, x.dim())?, a.int(2)?);
    let size = x.shape()[dim] as i64;
    if index < -size || index >= size {
        return Err(index_error(format!(
            "select(): index {index} out of range for tensor of size {} at dimension {dim}",
            crate::geometry::shown(&x.shape())
        )));
    }
    let place = if index < 0 { index + size } else { index };
    views::select(&x, dim, place as usize).map(Value::Tensor)
}

fn as_strided(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let offset = if a.is_none(3) { x.offset() as i64 } else { a.int(3)? };
    let sizes =
        |values: Vec<i64>| values.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    let (Ok(shape), Ok(strides), Ok(offset)) =
        (sizes(a.ints(1)?), sizes(a.ints(2)?), usize::try_from(offset))
    else {
        return Err(lacks("as_strided with negative numbers"));
    };
    check_size(&shape)?;
    if shape.len() != strides.len() {
        return Err(runtime_error("mismatch in length of strides and shape"));
    }
    let reach = |(size, stride): (&usize, &usize)| size.saturating_sub(1).saturating_mul(*stride);
    let last = shape.iter().zip(&strides).map(reach).fold(offset, usize::saturating_add);
    if !shape.contains(&0) && last >= x.layout().storage.data.borrow().len() {
        return Err(lacks("as_strided beyond the storage"));
    }
    views::as_strided(&x, &shape, &strides, offset).map(Value::Tensor)
}

/// The sizes of the parts of `split`.
fn split(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let dim = a.dim(2, x.dim())?;
    let Some(&size) = x.shape().get(dim) else {
        return Err(runtime_error("split expects at least a 1-dimensional tensor"));
    };
    let (name, sizes) = match a.at(1) {
        Value::Int(part) => ("Split0", even(size, *part)?),
        _ => {
            let sizes: Vec<usize> =
                a.ints(1)?.into_iter().map(|size| size.max(0) as usize).collect();
            if sizes.iter().sum::<usize>() != size {
                return Err(runtime_error(format!(
                    "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's \
                     size at dimension {dim}), but got split_sizes={}",
                    crate::geometry::shown(&sizes)
                )));
            }
            ("SplitWithSizes0", sizes)
        }
    };
    views::split(&x, name, dim, &sizes).map(Value::tensors)
}

fn even(size: usize, part: i64) -> Outcome<Vec<usize>> {
    let Some(part) = usize::try_from(part).ok().filter(|&part| part > 0) else {
        return Err(lacks("parts without elements"));
    };
    let count = size.div_ceil(part).max(1);
    Ok((0..count).map(|i| part.min(size - i * part)).collect())
}

fn chunk(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let dim = a.dim(2, x.dim())?;
    let Some(&size) = x.shape().get(dim) else {
        return Err(runtime_error("chunk expects at least a 1-dimensional tensor"));
    };
    let count = a.int(1)?;
    if count < 1 || size == 0 {
        return Err(lacks("chunk into no parts"));
    }
    let part = size.div_ceil(count as usize);
    views::split(&x, "Split0", dim, &even(size, part as i64)?).map(Value::tensors)
}

fn diagonal(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let (first, second) = (a.dim(2, x.dim())?, a.dim(3, x.dim())?);
    if first == second {
        return Err(lacks("the diagonal of one dimension"));
    }
    views::diagonal(&x, a.int(1)?, first, second).map(Value::Tensor)
}

fn like(a: &Arguments) -> Outcome<Vec<usize>> {
    Ok(a.tensor(1)?.shape())
}

fn sizes(shape: Vec<usize>) -> Vec<i64> {
    shape.into_iter().map(|size| size as i64).collect()
}

pub const TABLE: &[Entry] = &[
    both("reshape", "input *shape", |a| {
        let x = a.tensor(0)?;
        views::reshape(&x, &shape_of(a, &x)?).map(Value::Tensor)
    }),
    method("view", "input *shape", view),
    method("view_as", "input other", |a| {
        let x = a.tensor(0)?;
        views::view(&x, &inferred(&sizes(like(a)?), x.count())?).map(Value::Tensor)
    }),
    method("reshape_as", "input other", |a| {
        let x = a.tensor(0)?;
        views::reshape(&x, &inferred(&sizes(like(a)?), x.count())?).map(Value::Tensor)
    }),
    method("expand", "input *size", |a| {
        views::expand(&a.tensor(0)?, &a.ints(1)?).map(Value::Tensor)
    }),
    function("broadcast_to", "input size", |a| {
        views::expand(&a.tensor(0)?, &a.ints(1)?).map(Value::Tensor)
    }),
    method("expand_as", "input other", |a| {
        views::expand(&a.tensor(0)?, &sizes(like(a)?)).map(Value::Tensor)
    }),
    both("t", "input", t),
    both("transpose", "input dim0 dim1", transpose),
    both("swapaxes", "input axis0 axis1", transpose),
    both("permute", "input *dims", permute),
    both("unsqueeze", "input dim", |a| {
        let x = a.tensor(0)?;
        views::unsqueeze(&x, a.dim(1, x.dim() + 1)?).map(Value::Tensor)
    }),
    both("squeeze", "input dim=None", squeeze),
    both("flatten", "input start_dim=0 end_dim=-1", flatten),
    both("ravel", "input", |a| {
        let x = contiguous(&a.tensor(0)?)?;
        if x.dim() == 1 {
            Ok(Value::Tensor(x))
        } else {
            views::view(&x, &[x.count()]).map(Value::Tensor)
        }
    }),
    both("select", "input dim index", select),
    both("narrow", "input dim start length", narrow),
    both("as_strided", "input size stride storage_offset=None", as_strided),
    both("split", "input split_size_or_sections dim=0", split),
    both("chunk", "input chunks dim=0", chunk),
    both("unbind", "input dim=0", |a| {
        let x = a.tensor(0)?;
        let dim = a.dim(1, x.dim())?;
        if x.dim() == 0 {
            return Err(index_error(format!(
                "Dimension specified as {dim} but tensor has no dimensions"
            )));
        }
        views::unbind(&x, dim).map(Value::tensors)
    }),
    both("diagonal", "input offset=0 dim1=0 dim2=1", diagonal),
];
