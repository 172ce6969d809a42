//! Shapes and strides: broadcasting, views, and the layout of results.

use crate::fault::{Outcome, index_error, lacks, runtime_error};

/// The most elements of a tensor. Larger ones are lacking: an allocation that fails would end the
/// process.
pub const LARGEST: usize = 1 << 20;

/// Raise for a shape of too many elements, or with too large a size beside a zero.
pub fn check_size(shape: &[usize]) -> Outcome<()> {
    let count = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size.max(1)));
    match count {
        Some(count) if count <= LARGEST => Ok(()),
        _ => Err(lacks(format!("tensors of more than {LARGEST} elements"))),
    }
}

pub fn product(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

pub fn contiguous_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

/// The offsets of elements in their storage, in row-major order.
pub fn places(shape: &[usize], strides: &[usize], offset: usize) -> Vec<usize> {
    if shape.contains(&0) {
        return vec![];
    }
    let mut found = vec![offset];
    for (&size, &stride) in shape.iter().zip(strides) {
        let before = std::mem::take(&mut found);
        found.reserve(before.len() * size);
        for place in before {
            found.extend((0..size).map(|k| place + k * stride));
        }
    }
    found
}

/// Sizes as C++ prints them.
pub fn shown(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

/// The shape that two shapes have in common; `RuntimeError` where there is none.
pub fn broadcast(a: &[usize], b: &[usize]) -> Outcome<Vec<usize>> {
    let dim = a.len().max(b.len());
    let size =
        |shape: &[usize], i: usize| (i + shape.len()).checked_sub(dim).map_or(1, |own| shape[own]);
    (0..dim)
        .map(|i| match (size(a, i), size(b, i)) {
            (one, other) if one == other => Ok(one),
            (1, other) => Ok(other),
            (one, 1) => Ok(one),
            (one, other) => Err(runtime_error(format!(
                "The size of tensor a ({one}) must match the size of tensor b ({other}) at \
                 non-singleton dimension {i}"
            ))),
        })
        .collect()
}

/// The strides of a tensor that is expanded to a larger shape.
pub fn expanded_strides(shape: &[usize], strides: &[usize], larger: &[usize]) -> Vec<usize> {
    let missing = larger.len() - shape.len();
    (0..larger.len())
        .map(|i| match i.checked_sub(missing) {
            Some(own) if shape[own] != 1 || larger[i] == 1 => strides[own],
            _ => 0,
        })
        .collect()
}

/// The strides of an elementwise result: dense, with dimensions in the order of the operands'
/// strides, of which the first that has an order decides (torch's TensorIterator).
pub fn result_strides(operands: &[Vec<usize>], shape: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    for i in 1..order.len() {
        let mut at = i;
        for before in (0..i).rev() {
            match inner_first(operands, shape, order[before], order[at]) {
                verdict if verdict < 0 => break,
                0 => {}
                _ => {
                    order.swap(before, at);
                    at = before;
                }
            }
        }
    }
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for dim in order {
        strides[dim] = stride;
        stride *= shape[dim].max(1);
    }
    strides
}

/// Negative where dimension `one` moves faster than `other`, 0 where nothing says so.
fn inner_first(operands: &[Vec<usize>], shape: &[usize], one: usize, other: usize) -> i64 {
    for strides in operands {
        let (a, b) = (strides[one], strides[other]);
        if a == 0 || b == 0 {
            continue;
        }
        if a != b {
            return a as i64 - b as i64;
        }
        if shape[one] > shape[other] {
            return 1;
        }
    }
    0
}

/// Whether elements are dense in memory and do not overlap.
pub fn is_dense(shape: &[usize], strides: &[usize]) -> bool {
    let mut dims: Vec<usize> = (0..shape.len()).filter(|&i| shape[i] != 1).collect();
    if shape.contains(&0) {
        return true;
    }
    dims.sort_by_key(|&i| strides[i]);
    let mut wanted = 1;
    dims.into_iter().all(|i| {
        let fits = strides[i] == wanted;
        wanted *= shape[i];
        fits
    })
}

pub fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    let wanted = contiguous_strides(shape);
    shape.contains(&0) || (0..shape.len()).all(|i| shape[i] == 1 || strides[i] == wanted[i])
}

/// A dimension counted from the front.
pub fn dimension(dim: i64, count: usize) -> Outcome<usize> {
    let range = count.max(1) as i64;
    if dim < -range || dim >= range {
        return Err(index_error(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -range,
            range - 1
        )));
    }
    Ok(if dim < 0 { dim + range } else { dim } as usize)
}

/// A shape in which one size may be -1, resolved for this number of elements.
pub fn inferred(shape: &[i64], count: usize) -> Outcome<Vec<usize>> {
    let text = shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    if let Some(size) = shape.iter().find(|&&size| size < -1) {
        return Err(runtime_error(format!("invalid shape dimension {size}")));
    }
    let mut known = 1usize;
    for &size in shape.iter().filter(|&&size| size >= 0) {
        known = known.checked_mul(size as usize).unwrap_or(usize::MAX / 2);
    }
    let open = shape.iter().filter(|&&size| size == -1).count();
    if open > 1 {
        return Err(runtime_error("only one dimension can be inferred"));
    }
    if open == 1 && known == 0 && count == 0 {
        return Err(runtime_error(format!(
            "cannot reshape tensor of 0 elements into shape [{text}] because the unspecified \
             dimension size -1 can be any value and is ambiguous"
        )));
    }
    if (open == 0 && known != count) || (open == 1 && (known == 0 || !count.is_multiple_of(known)))
    {
        return Err(runtime_error(format!(
            "shape '[{text}]' is invalid for input of size {count}"
        )));
    }
    let size = |&size: &i64| {
        if size == -1 { count / known } else { size as usize }
    };
    let made: Vec<usize> = shape.iter().map(size).collect();
    check_size(&made)?;
    Ok(made)
}

/// The strides of a view with another shape, where there are such.
pub fn view_strides(shape: &[usize], strides: &[usize], target: &[usize]) -> Option<Vec<usize>> {
    if product(shape) == 0 {
        return Some(if shape == target { strides.to_vec() } else { contiguous_strides(target) });
    }
    let mut result = vec![1; target.len()];
    let mut to = target.len();
    let mut chunk = strides.last().copied().unwrap_or(1);
    let (mut in_tensor, mut in_view) = (1, 1);
    for from in (0..shape.len()).rev() {
        in_tensor *= shape[from];
        let ends = from == 0 || (shape[from - 1] != 1 && strides[from - 1] != in_tensor * chunk);
        if !ends {
            continue;
        }
        while to > 0 && (in_view < in_tensor || target[to - 1] == 1) {
            result[to - 1] = in_view * chunk;
            in_view *= target[to - 1];
            to -= 1;
        }
        if in_view != in_tensor {
            return None;
        }
        if from > 0 {
            chunk = strides[from - 1];
            (in_tensor, in_view) = (1, 1);
        }
    }
    Some(result)
}
