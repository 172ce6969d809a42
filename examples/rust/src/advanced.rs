//! Indexing with tensors: the places of the elements, reading and writing them.

use crate::copies::cast;
use crate::dtype::DType;
use crate::fault::{Outcome, index_error, lacks, runtime_error};
use crate::geometry::{
    broadcast, check_size, contiguous_strides, expanded_strides, places, product, shown,
};
use crate::in_place::apply_in_place;
use crate::indexing::read_at;
use crate::operation::{Context, Keep, Operation, apply};
use crate::tensor::Tensor;
use crate::views::{expand, view};

/// The places of elements in row-major order, and the shape that they make.
pub struct Spots {
    pub places: Vec<usize>,
    pub shape: Vec<usize>,
}

/// A mask as the indices of its true elements, one tensor for each of its dimensions.
fn columns(mask: &Tensor, shape: &[usize], dim: usize) -> Outcome<Vec<Tensor>> {
    let own = mask.shape();
    if let Some(at) = (0..own.len()).find(|&at| shape.get(dim + at) != Some(&own[at])) {
        return Err(index_error(format!(
            "The shape of the mask {} at index {at} does not match the shape of the indexed tensor \
             {} at index {}",
            shown(&own),
            shown(shape),
            dim + at
        )));
    }
    if own.is_empty() {
        return Err(lacks("a mask without dimensions"));
    }
    let strides = contiguous_strides(&own);
    let values = mask.values();
    let chosen: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0.0).collect();
    let column = |(&size, &stride): (&usize, &usize)| {
        let found: Vec<f64> = chosen.iter().map(|&i| (i / stride % size) as f64).collect();
        Tensor::new(&[found.len()], DType::Int64, &found)
    };
    own.iter().zip(&strides).map(column).collect()
}

/// The elements that index tensors name, each with the dimension at which it stands.
pub fn spots(shape: &[usize], tensors: &[(usize, Tensor)]) -> Outcome<Spots> {
    spots_for(shape, tensors, None)
}

/// As `spots`, for a value of a shape that has to fit.
pub fn spots_for(
    shape: &[usize],
    tensors: &[(usize, Tensor)],
    value: Option<&[usize]>,
) -> Outcome<Spots> {
    let mut indices: Vec<(usize, Tensor)> = Vec::new();
    for (dim, tensor) in tensors {
        if tensor.dtype() != DType::Bool {
            indices.push((*dim, tensor.clone()));
            continue;
        }
        let found = columns(tensor, shape, *dim)?;
        indices.extend(found.into_iter().enumerate().map(|(i, column)| (dim + i, column)));
    }
    let dims: Vec<usize> = indices.iter().map(|(dim, _)| *dim).collect();
    let mut within = Vec::new();
    for (_, index) in &indices {
        within = broadcast(&within, &index.shape()).map_err(|_| {
            let shapes: Vec<String> = indices.iter().map(|(_, x)| shown(&x.shape())).collect();
            index_error(format!(
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            ))
        })?;
    }
    if product(shape) == 0 && product(&within) > 0 {
        return Err(lacks("indexing a tensor without elements"));
    }
    // Dimensions of the indices stand where the tensors do, in front where these are apart.
    let adjacent = dims.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let front = if adjacent { dims.first().copied().unwrap_or(0) } else { 0 };
    let rest: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
    let (before, after) = rest.split_at(front.min(rest.len()));
    let strides = contiguous_strides(shape);
    let pick = |dims: &[usize], of: &[usize]| dims.iter().map(|&dim| of[dim]).collect::<Vec<_>>();
    let mut made = pick(before, shape);
    made.extend(&within);
    made.extend(pick(after, shape));
    check_size(&made)?;
    if let Some(own) = value
        && broadcast(own, &made).ok().as_ref() != Some(&made)
    {
        return Err(runtime_error(format!(
            "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of \
             shape {}",
            shown(own),
            shown(&made)
        )));
    }
    let mut starts = vec![0; product(&within)];
    let mut parts = Vec::with_capacity(indices.len());
    for (dim, index) in &indices {
        let layout = expanded_strides(&index.shape(), &contiguous_strides(&index.shape()), &within);
        parts.push((*dim, index.values(), places(&within, &layout, 0)));
    }
    // Element by element, so that the error is about the first one that has no place.
    for (element, start) in starts.iter_mut().enumerate() {
        for (number, (dim, values, at)) in parts.iter().enumerate() {
            let (size, value) = (shape[*dim] as i64, values[at[element]] as i64);
            if value < -size || value >= size {
                return Err(index_error(format!(
                    "index {value} is out of bounds for dimension {number} with size {size}"
                )));
            }
            *start += value.rem_euclid(size) as usize * strides[*dim];
        }
    }
    let mut found = Vec::with_capacity(product(&made));
    for outer in places(&pick(before, shape), &pick(before, &strides), 0) {
        for start in &starts {
            let inner = places(&pick(after, shape), &pick(after, &strides), outer + start);
            found.extend(inner);
        }
    }
    Ok(Spots { places: found, shape: made })
}

/// The elements at index tensors.
pub fn read(x: &Tensor, tensors: &[(usize, Tensor)]) -> Outcome<Tensor> {
    let found = spots(&x.shape(), tensors)?;
    read_at(x, "Index0", found.places, found.shape)
}

/// How torch ends the gradient of values: with what it read, or a view of that.
#[derive(Clone, Copy)]
enum End {
    Read,
    View,
    Expand,
}

/// Write, or add, values at places. The index tensors are saved, as torch saves them.
pub fn put(
    x: &Tensor,
    name: &str,
    found: Spots,
    value: &Tensor,
    indices: &[Tensor],
    adds: bool,
    in_place: bool,
) -> Outcome<Tensor> {
    if value.dtype() != x.dtype() {
        return Err(runtime_error(format!(
            "Index put requires the source and destination dtypes match, got {} for the \
             destination and {} for the source.",
            x.dtype().scalar_type(),
            value.dtype().scalar_type()
        )));
    }
    let mut own = x.places();
    own.sort_unstable();
    if in_place && own.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(lacks("writing at indices to elements that share memory"));
    }
    let Spots { places: writes, shape } = found;
    if adds && matches!(x.dtype(), DType::Float16 | DType::BFloat16) {
        return Err(lacks("sums at indices in half precision"));
    }
    let (there, again, target) = (writes.clone(), writes.clone(), shape.clone());
    let compute = move |x: &[Tensor]| {
        let mut values = x[0].values();
        let source = x[1].values();
        let layout = expanded_strides(&x[1].shape(), &contiguous_strides(&x[1].shape()), &shape);
        for (&place, at) in writes.iter().zip(places(&shape, &layout, 0)) {
            values[place] = if adds { values[place] + source[at] } else { source[at] };
        }
        Tensor::strided(&x[0].shape(), crate::copies::kept_strides(&x[0]), x[0].dtype(), &values)
    };
    let end = match name {
        "Put0" => End::View,
        "IndexAdd0" | "IndexCopy0" => End::Expand,
        _ => End::Read,
    };
    let count = indices.len();
    let mut operation = Operation::new(name, compute)
        .saving_by(move |_| (2..2 + count).map(Keep::Input).collect())
        .to(move |g: &Tensor, _: &Context| if adds { Ok(g.clone()) } else { zeroed(g, &there) })
        .to(move |g, _| {
            let made = read_at(g, "Index0", again.clone(), target.clone())?;
            match end {
                End::Read => Ok(made),
                End::View => view(&made, &target),
                End::Expand => {
                    expand(&made, &target.iter().map(|&size| size as i64).collect::<Vec<_>>())
                }
            }
        });
    if matches!(name, "Scatter1" | "IndexFill0" | "MaskedFill0") {
        operation = operation.without_last();
    }
    for _ in indices {
        operation = operation.skip();
    }
    let mut inputs = vec![x, value];
    inputs.extend(indices);
    if in_place { apply_in_place(operation, &inputs) } else { apply(operation, &inputs) }
}

/// A gradient with zeros at places that were written to.
fn zeroed(g: &Tensor, writes: &[usize]) -> Outcome<Tensor> {
    let (there, again) = (writes.to_vec(), writes.to_vec());
    let operation = Operation::new("IndexPut0", move |g| {
        let mut values = g[0].values();
        there.iter().for_each(|&place| values[place] = 0.0);
        Tensor::new(&g[0].shape(), g[0].dtype(), &values)
    });
    apply(operation.to(move |g, _| zeroed(g, &again)), &[g])
}

/// A value to be written, in the dtype of what it is written to.
pub fn scalar(x: &Tensor, value: f64) -> Outcome<Tensor> {
    cast(&Tensor::new(&[], DType::Float64, &[value])?, x.dtype())
}
