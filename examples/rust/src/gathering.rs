//! Operators that read or write elements at indices, or where a mask is true.

use crate::binary::{select, written};
use crate::dtype::DType;
use crate::fault::{Outcome, index_error, lacks, runtime_error};
use crate::geometry::{contiguous_strides, places, shown};
use crate::in_place::apply_in_place;
use crate::indexing::rows_at;
use crate::operation::{Keep, Operation, apply};
use crate::pointwise::{number, pointwise};
use crate::reductions::{Over, sum_over};
use crate::state::grad_mode;
use crate::tensor::Tensor;

pub fn index_select(x: &Tensor, dim: usize, indices: &Tensor) -> Outcome<Tensor> {
    if indices.dim() > 1 {
        return Err(index_error("index_select(): Index is supposed to be a vector"));
    }
    let size = x.shape().get(dim).copied().unwrap_or(1);
    let rows = indices.values();
    if rows.iter().any(|&row| row < 0.0 || row >= size as f64) {
        if x.dim() > 1 {
            return Err(lacks("index_select beyond a dimension"));
        }
        return Err(index_error("index out of range in self"));
    }
    let rows: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
    if x.dim() == 0 {
        return Err(lacks("index_select of a tensor without dimensions"));
    }
    rows_at(x, "IndexSelect0", dim, &rows, &[rows.len()])
}

/// The places in a tensor of `shape` of each element of an index along a dimension.
pub fn targets(indices: &Tensor, shape: &[usize], dim: usize) -> Outcome<Vec<usize>> {
    let strides = contiguous_strides(shape);
    let own = indices.shape();
    let mut others = strides.clone();
    if let Some(stride) = others.get_mut(dim) {
        *stride = 0;
    }
    let size = shape.get(dim).copied().unwrap_or(1);
    let stride = strides.get(dim).copied().unwrap_or(0);
    let starts = places(&own, &others, 0);
    starts
        .into_iter()
        .zip(indices.values())
        .map(|(start, index)| {
            if index < 0.0 || index >= size as f64 {
                return Err(runtime_error(format!(
                    "index {index} is out of bounds for dimension {dim} with size {size}"
                )));
            }
            Ok(start + index as usize * stride)
        })
        .collect()
}

pub fn gather(x: &Tensor, dim: usize, indices: &Tensor) -> Outcome<Tensor> {
    if x.dim() != indices.dim() && (x.dim() > 1 || indices.dim() > 1) {
        return Err(runtime_error(
            "Index tensor must have the same number of dimensions as input tensor",
        ));
    }
    if x.dim() != indices.dim() {
        return Err(lacks("gather between a tensor without dimensions and one with"));
    }
    if indices.dtype() != DType::Int64 && indices.dtype() != DType::Int32 {
        return Err(runtime_error("gather(): Expected dtype int32/int64 for index"));
    }
    let (own, wanted) = (x.shape(), indices.shape());
    if let Some(at) = (0..own.len()).find(|&at| at != dim && wanted[at] > own[at]) {
        return Err(runtime_error(format!(
            "Size does not match at dimension {at} expected index {} to be no larger than self {} \
             apart from dimension {dim}",
            shown(&wanted),
            shown(&own)
        )));
    }
    let operation = Operation::new("Gather0", move |v| {
        let values = v[0].values();
        let reads = targets(&v[1], &v[0].shape(), dim)?;
        let found: Vec<f64> = reads.into_iter().map(|place| values[place]).collect();
        Tensor::new(&v[1].shape(), v[0].dtype(), &found)
    })
    .saving(&[Keep::Input(0), Keep::Input(1)])
    .to(move |g, c| {
        // torch saves the input for its shape alone, and checks that it was not written to.
        c.input(0)?;
        scattered(g, &c.input(1)?, c.shape(0), dim, true)
    })
    .skip();
    apply(operation, &[x, indices])
}

/// Zeros of a shape with a gradient put in, or added, at the indices along a dimension.
pub fn scattered(
    g: &Tensor,
    indices: &Tensor,
    shape: &[usize],
    dim: usize,
    adds: bool,
) -> Outcome<Tensor> {
    let compute = move |v: &[Tensor]| {
        let mut values = v[0].values();
        let writes = targets(&v[2], &v[0].shape(), dim)?;
        for (place, value) in writes.into_iter().zip(v[1].values()) {
            values[place] = if adds { values[place] + value } else { value };
        }
        Tensor::new(&v[0].shape(), v[1].dtype(), &values)
    };
    let name = if adds { "ScatterAdd0" } else { "Scatter0" };
    let operation = Operation::new(name, compute)
        .saving(&[Keep::Input(2)])
        .to(move |g, c| if adds { Ok(g.clone()) } else { zeroed(g, &c.input(2)?, dim) })
        .to(move |g, c| gather(g, dim, &c.input(2)?))
        .skip();
    let zeros = Tensor::full(shape, g.dtype(), 0.0)?;
    let made = apply_in_place(operation, &[&zeros, g, indices])?;
    // torch writes the zeros, too, where it puts a selection in.
    written(made, usize::from(!adds))
}

/// A gradient with zeros where others were put in.
fn zeroed(g: &Tensor, indices: &Tensor, dim: usize) -> Outcome<Tensor> {
    if grad_mode() && g.requires_grad() {
        return Err(lacks("the third derivative of a selection"));
    }
    let mut values = g.values();
    targets(indices, &g.shape(), dim)?.into_iter().for_each(|place| values[place] = 0.0);
    Tensor::new(&g.shape(), g.dtype(), &values)
}

/// `masked_fill` with a number.
pub fn masked_fill_operation(value: f64) -> Operation {
    Operation::new("MaskedFill0", move |v| {
        if v[1].dtype() != DType::Bool {
            return Err(runtime_error(format!(
                "masked_fill_ only supports boolean masks, but got mask with dtype {}",
                v[1].dtype().type_name()
            )));
        }
        v[0].dtype().check(value)?;
        pointwise(v, v[0].dtype(), |v| if v[1] != 0.0 { value } else { v[0] })
    })
    .saving(&[Keep::Input(1)])
    .to(|g, c| apply(masked_fill_operation(0.0), &[g, &c.input(1)?]))
    .skip()
}

/// Fill with the one element of a tensor, where a mask is true.
pub fn masked_fill_with(target: &Tensor, mask: &Tensor, value: &Tensor) -> Outcome<Tensor> {
    let operation = Operation::new("MaskedFill1", |v| {
        pointwise(v, v[0].dtype(), |v| if v[1] != 0.0 { v[2] } else { v[0] })
    })
    .saving(&[Keep::Input(1)])
    .to(|g, c| apply(masked_fill_operation(0.0), &[g, &c.input(1)?]))
    .skip()
    .to(|g, c| {
        let kept = select(&c.input(1)?, g, &number(0.0))?;
        sum_over(&kept, &Over::all(g))
    });
    apply_in_place(operation, &[target, mask, value])
}
