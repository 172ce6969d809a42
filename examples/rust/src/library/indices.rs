//! Operators that read and write at indices.

use super::{Arguments, Entry, both, method};
use crate::advanced::{Spots, put, scalar, spots, spots_for};
use crate::dtype::DType;
use crate::fault::{Outcome, index_error, lacks, runtime_error};
use crate::gathering::targets;
use crate::geometry::broadcast;
use crate::indexing::read_operation;
use crate::operation::{Keep, apply};
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views::{expand, reshape};

/// The index tensors of `index_put`, each at its dimension.
fn index_put(a: &Arguments, in_place: bool) -> Outcome<Value> {
    let (x, value) = (a.tensor(0)?, a.tensor(2)?);
    let mut tensors = Vec::new();
    let mut dim = 0;
    for index in a.tensors(1)? {
        let width = if index.dtype() == DType::Bool { index.dim() } else { 1 };
        tensors.push((dim, index));
        dim += width;
    }
    if dim > x.dim() {
        return Err(lacks("too many indices"));
    }
    let found = spots_for(&x.shape(), &tensors, Some(&value.shape()))?;
    let indices: Vec<Tensor> = tensors.into_iter().map(|(_, index)| index).collect();
    put(&x, "IndexPut0", found, &value, &indices, a.flag(3)?, in_place).map(Value::Tensor)
}

/// `scatter` and `scatter_add`.
fn scatter(a: &Arguments, adds: bool, in_place: bool) -> Outcome<Value> {
    let (x, index) = (a.tensor(0)?, a.tensor(2)?);
    let dim = a.dim(1, x.dim())?;
    if index.dtype() != DType::Int64 || index.dim() != x.dim() || x.dim() == 0 {
        return Err(lacks(format!("{} with such an index", a.name)));
    }
    let (name, value) = match a.at(3) {
        Value::Tensor(src) => {
            if src.dtype() != x.dtype() {
                let message = "scatter(): Expected self.dtype to be equal to src.dtype";
                return Err(runtime_error(message));
            }
            if src.shape() != index.shape() {
                return Err(lacks(format!("{} with a source of another shape", a.name)));
            }
            (if adds { "ScatterAdd0" } else { "Scatter0" }, src.clone())
        }
        _ if adds => return Err(lacks("scatter_add of a number")),
        _ => {
            let number = a.float(3)?;
            x.dtype().check(number)?;
            ("Scatter1", scalar(&x, number)?)
        }
    };
    let (own, wanted) = (x.shape(), index.shape());
    if (0..own.len()).any(|at| at != dim && wanted[at] > own[at]) {
        return Err(lacks(format!("{} with too large an index", a.name)));
    }
    let places = targets(&index, &own, dim)?;
    let found = Spots { places, shape: wanted };
    put(&x, name, found, &value, &[index], adds, in_place).map(Value::Tensor)
}

/// Rows written or added at an index along a dimension.
fn index_rows(a: &Arguments, adds: bool, in_place: bool) -> Outcome<Value> {
    let (x, index, source) = (a.tensor(0)?, a.tensor(2)?, a.tensor(3)?);
    let dim = a.dim(1, x.dim())?;
    if index.dim() != 1 || x.dim() == 0 || source.dtype() != x.dtype() {
        return Err(lacks(format!("{} with such an index", a.name)));
    }
    let size = x.shape()[dim] as f64;
    if index.values().iter().any(|&i| i < 0.0 || i >= size) {
        return match (adds, x.dim()) {
            (true, 1) => Err(index_error("index out of range in self")),
            _ => Err(lacks(format!("{} beyond a dimension", a.name))),
        };
    }
    let found = spots(&x.shape(), &[(dim, index.clone())])?;
    if source.shape() != found.shape {
        return Err(lacks(format!("{} with a source of another shape", a.name)));
    }
    let name = if adds { "IndexAdd0" } else { "IndexCopy0" };
    let source = match a.at(if adds { 4 } else { 3 }) {
        Value::Int(1) | Value::Tensor(_) => source,
        _ => return Err(lacks("index_add with alpha")),
    };
    put(&x, name, found, &source, &[index], adds, in_place).map(Value::Tensor)
}

fn index_fill(a: &Arguments, in_place: bool) -> Outcome<Value> {
    let (x, index) = (a.tensor(0)?, a.tensor(2)?);
    if index.dim() != 1 || x.dim() == 0 || matches!(a.at(3), Value::Tensor(_)) {
        return Err(lacks("index_fill with such arguments"));
    }
    if index.dtype() != DType::Int64 {
        return Err(index_error("index_fill_(): Expected dtype int64 for index."));
    }
    let found = spots(&x.shape(), &[(a.dim(1, x.dim())?, index.clone())])?;
    let number = a.float(3)?;
    x.dtype().check(number)?;
    if in_place && !x.is_dense() {
        return Err(lacks("index_fill_ of elements that share memory"));
    }
    put(&x, "IndexFill0", found, &scalar(&x, number)?, &[index], false, in_place).map(Value::Tensor)
}

/// `take` and `put`: places in the row-major order of all elements.
fn flat(x: &Tensor, index: &Tensor) -> Outcome<Spots> {
    let count = x.count() as i64;
    let place = |&value: &f64| {
        let value = value as i64;
        if value < -count || value >= count {
            return Err(index_error(format!(
                "out of range: tried to access index {value} on a tensor of {count} elements."
            )));
        }
        Ok(value.rem_euclid(count.max(1)) as usize)
    };
    let places = index.values().iter().map(place).collect::<Outcome<Vec<_>>>()?;
    Ok(Spots { places, shape: index.shape() })
}

/// Read elements by an operator that saves its input.
fn saving(name: &str, x: &Tensor, found: Spots) -> Outcome<Value> {
    let operation = read_operation(name, found.places, found.shape);
    apply(operation.saving(&[Keep::Input(0)]), &[x]).map(Value::Tensor)
}

fn take(a: &Arguments) -> Outcome<Value> {
    let (x, index) = (a.tensor(0)?, a.tensor(1)?);
    let found = flat(&x, &index)?;
    if x.requires_grad() && !x.is_contiguous() {
        return Err(lacks("take from a tensor that is not contiguous"));
    }
    saving("Take0", &x, found)
}

fn put_flat(a: &Arguments, in_place: bool) -> Outcome<Value> {
    let (x, index, source) = (a.tensor(0)?, a.tensor(1)?, a.tensor(2)?);
    let found = flat(&x, &index)?;
    if source.shape() != found.shape || source.dtype() != x.dtype() {
        return Err(lacks("put of a source of another shape"));
    }
    put(&x, "Put0", found, &source, &[index], a.flag(3)?, in_place).map(Value::Tensor)
}

fn take_along(a: &Arguments) -> Outcome<Value> {
    let (x, index) = (a.tensor(0)?, a.tensor(1)?);
    if a.is_none(2) {
        let (x, index) = (reshape(&x, &[x.count()])?, reshape(&index, &[index.count()])?);
        return crate::gathering::gather(&x, 0, &index).map(Value::Tensor);
    }
    let dim = a.dim(2, x.dim())?;
    if x.dim() == 0 || index.dim() != x.dim() || index.values().iter().any(|&i| i < 0.0) {
        return Err(lacks("take_along_dim with such an index"));
    }
    let wide = |x: &Tensor, other: &Tensor| -> Outcome<Tensor> {
        let (own, mut rest) = (x.shape(), other.shape());
        rest[dim] = own[dim];
        let shape = broadcast(&own, &rest)?;
        expand(x, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
    };
    crate::gathering::gather(&wide(&x, &index)?, dim, &wide(&index, &x)?).map(Value::Tensor)
}

fn masked_select(a: &Arguments) -> Outcome<Value> {
    let (x, mask) = (a.tensor(0)?, a.tensor(1)?);
    if mask.dtype() != DType::Bool || mask.shape() != x.shape() || x.dim() == 0 {
        return Err(lacks("masked_select with a mask of another shape"));
    }
    let found = spots(&x.shape(), &[(0, mask)])?;
    saving("MaskedSelect0", &x, found)
}

fn nonzero(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if a.flag(1)? || x.dim() == 0 {
        return Err(lacks("nonzero as a tuple, or of a tensor without dimensions"));
    }
    let shape = x.shape();
    let strides = crate::geometry::contiguous_strides(&shape);
    let values = x.values();
    let found: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0.0).collect();
    // Column by column in memory.
    let rows = found.iter().flat_map(|&i| {
        shape.iter().zip(&strides).map(move |(size, stride)| (i / stride % size) as f64)
    });
    let rows: Vec<f64> = rows.collect();
    let made = Tensor::strided(
        &[found.len(), shape.len()],
        vec![1, found.len().max(1)],
        DType::Int64,
        &rows,
    );
    made.map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    both("index_put", "input indices values accumulate=False", |a| index_put(a, false)),
    method("index_put_", "input indices values accumulate=False", |a| index_put(a, true)),
    both("scatter", "input dim index src", |a| scatter(a, false, false)),
    method("scatter_", "input dim index src", |a| scatter(a, false, true)),
    both("scatter_add", "input dim index src", |a| scatter(a, true, false)),
    method("scatter_add_", "input dim index src", |a| scatter(a, true, true)),
    both("index_add", "input dim index source * alpha=1", |a| index_rows(a, true, false)),
    method("index_add_", "input dim index source * alpha=1", |a| index_rows(a, true, true)),
    both("index_copy", "input dim index source", |a| index_rows(a, false, false)),
    method("index_copy_", "input dim index source", |a| index_rows(a, false, true)),
    both("index_fill", "input dim index value", |a| index_fill(a, false)),
    method("index_fill_", "input dim index value", |a| index_fill(a, true)),
    both("take", "input index", take),
    both("put", "input index source accumulate=False", |a| put_flat(a, false)),
    method("put_", "input index source accumulate=False", |a| put_flat(a, true)),
    both("take_along_dim", "input indices dim=None", take_along),
    both("masked_select", "input mask", masked_select),
    both("nonzero", "input * as_tuple=False", nonzero),
];
