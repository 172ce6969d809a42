//! Maximum pooling over any number of dimensions.

use crate::dtype::DType;
use crate::fault::{Outcome, lacks, runtime_error};
use crate::geometry::{check_size, contiguous_strides, places, product};
use crate::operation::{Context, Keep, Operation, apply, apply_many};
use crate::tensor::Tensor;

/// The windows of one dimension.
#[derive(Clone)]
pub struct Window {
    pub size: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
    pub ceils: bool,
}

impl Window {
    /// The number of windows along a dimension, negative where none fits.
    pub fn count(&self, size: usize) -> i64 {
        let reach = (self.dilation * (self.size - 1) + 1) as i64;
        let room = (size + 2 * self.padding) as i64 - reach;
        let stride = self.stride as i64;
        let extra = if self.ceils { stride - 1 } else { 0 };
        let count = (room + extra).div_euclid(stride) + 1;
        // The last window begins within the elements or their left padding.
        let is_outside = self.ceils && (count - 1) * stride >= (size + self.padding) as i64;
        count - i64::from(is_outside)
    }

    /// The elements in the window at a place.
    fn elements(&self, at: usize, size: usize) -> Vec<usize> {
        let start = (at * self.stride) as i64 - self.padding as i64;
        let all = (0..self.size).map(|k| start + (k * self.dilation) as i64);
        all.filter(|&place| place >= 0 && place < size as i64).map(|place| place as usize).collect()
    }
}

/// Check windows as torch's kernels of two and three dimensions do.
fn check(x: &Tensor, windows: &[Window]) -> Outcome<Vec<usize>> {
    let shape = x.shape();
    let lead = shape.len() - windows.len();
    for window in windows {
        let reach = (window.size - 1) * window.dilation + 1;
        if window.padding > reach / 2 {
            return Err(runtime_error(format!(
                "pad should be at most half of effective kernel size, but got pad={}, \
                 kernel_size={} and dilation={}",
                window.padding, window.size, window.dilation
            )));
        }
    }
    if windows.iter().any(|window| window.padding > window.size / 2) {
        let [high, wide] = windows else { return Err(lacks("so much padding")) };
        return Err(runtime_error(format!(
            "pad should be smaller than or equal to half of kernel size, but got padW = {}, padH = \
             {}, kW = {}, kH = {}",
            wide.padding, high.padding, wide.size, high.size
        )));
    }
    let sizes = &shape[lead..];
    let counts: Vec<i64> = windows.iter().zip(sizes).map(|(w, &size)| w.count(size)).collect();
    if counts.iter().any(|&count| count < 1) {
        let text = |sizes: Vec<i64>| {
            let planes = shape[lead - 1] as i64;
            let all = std::iter::once(planes).chain(sizes).map(|size| size.to_string());
            all.collect::<Vec<_>>().join("x")
        };
        return Err(runtime_error(format!(
            "Given input size: ({}). Calculated output size: ({}). Output size is too small",
            text(sizes.iter().map(|&size| size as i64).collect()),
            text(counts)
        )));
    }
    let mut made = shape[..lead].to_vec();
    made.extend(counts.iter().map(|&count| count as usize));
    check_size(&made)?;
    Ok(made)
}

/// The best element of each window, and its place among the elements of its plane.
pub fn max_pool(x: &Tensor, windows: Vec<Window>) -> Outcome<(Tensor, Tensor)> {
    if x.count() == 0 {
        return Err(lacks("pooling of no elements"));
    }
    let made = check(x, &windows)?;
    let dims = windows.len();
    let compute = move |x: &[Tensor]| {
        let (shape, values) = (x[0].shape(), x[0].values());
        let lead = shape.len() - dims;
        let (planes, sizes) = (product(&shape[..lead]), &shape[lead..]);
        let (strides, area) = (contiguous_strides(sizes), product(sizes));
        let (mut best, mut found) = (Vec::new(), Vec::new());
        for plane in 0..planes {
            for index in indices(&made[lead..]) {
                let spots = spots(&windows, &index, sizes, &strides);
                let place = champion(&values[plane * area..(plane + 1) * area], &spots);
                best.push(values[plane * area + place]);
                found.push(place as f64);
            }
        }
        Ok(vec![
            Tensor::new(&made, x[0].dtype(), &best)?,
            Tensor::new(&made, DType::Int64, &found)?,
        ])
    };
    let formula = move |c: &Context| {
        let Some(g) = c.grads[0].as_ref() else { return Ok(vec![None]) };
        returned(g, &c.output(1)?, c.shape(0), dims).map(|made| vec![Some(made)])
    };
    let name = if dims == 3 { "MaxPool3DWithIndices0" } else { "MaxPool2DWithIndices0" };
    let operation =
        Operation::many(name, compute).saving(&[Keep::Input(0), Keep::Output(1)]).all_to(formula);
    let mut both = apply_many(operation, std::slice::from_ref(x))?.into_iter();
    match (both.next(), both.next()) {
        (Some(values), Some(indices)) => Ok((values, indices)),
        _ => Err(lacks("pooling without a result")),
    }
}

/// All indices of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let strides = contiguous_strides(shape);
    let index = |place: usize| {
        shape.iter().zip(&strides).map(|(&size, &stride)| place / stride % size.max(1)).collect()
    };
    (0..product(shape)).map(index).collect()
}

/// The places of a window's elements in its plane.
fn spots(windows: &[Window], index: &[usize], sizes: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut found = vec![0];
    for (dim, window) in windows.iter().enumerate() {
        let own = window.elements(index[dim], sizes[dim]);
        let step = |&place: &usize| own.iter().map(move |&k| place + k * strides[dim]);
        found = found.iter().flat_map(|place| step(place).collect::<Vec<_>>()).collect();
    }
    found
}

/// The first of the largest elements; the last NaN, where there is any.
fn champion(values: &[f64], spots: &[usize]) -> usize {
    let mut found = spots.first().copied().unwrap_or(0);
    for &place in spots {
        if values[place] > values[found] || values[place].is_nan() {
            found = place;
        }
    }
    found
}

/// A gradient at the places from which the elements came.
fn returned(g: &Tensor, places_of: &Tensor, shape: &[usize], dims: usize) -> Outcome<Tensor> {
    let (shape, found) = (shape.to_vec(), places_of.clone());
    let area = product(&shape[shape.len() - dims..]);
    let writes = move |found: &Tensor, per_plane: usize| -> Vec<usize> {
        let places = found.values().into_iter().enumerate();
        places.map(|(i, place)| i / per_plane.max(1) * area + place as usize).collect()
    };
    let windows = product(&g.shape()[g.dim() - dims..]);
    let (again, own) = (writes(&found, windows), g.shape());
    let there = again.clone();
    let whole = shape.clone();
    let operation = Operation::new("Pool0", move |g| {
        let mut values = vec![0.0; product(&whole)];
        there.iter().zip(g[0].values()).for_each(|(&place, value)| values[place] += value);
        Tensor::new(&whole, g[0].dtype(), &values)
    });
    let name = if dims == 3 { "MaxPool3D" } else { "MaxPool2D" };
    let formula = move |g: &Tensor, _: &Context| {
        let layout = places(&g.shape(), &contiguous_strides(&g.shape()), 0);
        let reads = again.iter().map(|&place| layout[place]).collect();
        crate::indexing::read_at(g, "Index0", reads, own.clone())
    };
    apply(operation.named(&format!("{name}WithIndicesBackwardBackward0")).to(formula), &[g])
}
