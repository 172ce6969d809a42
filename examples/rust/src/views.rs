//! Views: tensors on the same storage, whose gradients find their way to the base.

use std::rc::Rc;

use crate::copies::clone_strided;
use crate::fault::{Outcome, runtime_error};
use crate::geometry::{
    check_size, contiguous_strides, expanded_strides, places, shown, view_strides,
};
use crate::graph::{Geometry, Meta, Node, Work, edge_of};
use crate::in_place::record_in_place;
use crate::operation::{Context, Operation, apply, apply_view, apply_views};
use crate::tensor::Tensor;

/// A view whose geometry is known.
fn window_operation(
    name: &str,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
) -> Operation {
    Operation::new(name, move |x| Ok(x[0].window(&shape, &strides, offset)))
}

pub fn view(x: &Tensor, shape: &[usize]) -> Outcome<Tensor> {
    let strides = view_strides(&x.shape(), &x.strides(), shape).ok_or_else(|| {
        runtime_error(
            "view size is not compatible with input tensor's size and stride (at least one \
             dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        )
    })?;
    let operation = window_operation("View0", shape.to_vec(), strides, x.offset());
    apply_view(operation.to(|g, c| reshape(g, c.shape(0))), x)
}

pub fn alias(x: &Tensor) -> Outcome<Tensor> {
    let operation = window_operation("Alias0", x.shape(), x.strides(), x.offset());
    apply_view(operation.to(|g, _| Ok(g.clone())), x)
}

pub fn reshape(x: &Tensor, shape: &[usize]) -> Outcome<Tensor> {
    if view_strides(&x.shape(), &x.strides(), shape).is_some() {
        return view(x, shape);
    }
    unsafe_view(&clone_strided(x, contiguous_strides(&x.shape()))?, shape)
}

/// A reshape of a tensor that nothing else refers to: no view for autograd.
pub fn unsafe_view(x: &Tensor, shape: &[usize]) -> Outcome<Tensor> {
    let operation =
        window_operation("UnsafeView0", shape.to_vec(), contiguous_strides(shape), x.offset());
    apply(operation.to(|g, c| reshape(g, c.shape(0))), &[x])
}

fn permuted(name: &str, x: &Tensor, order: &[usize]) -> Operation {
    let pick = |values: Vec<usize>| order.iter().map(|&i| values[i]).collect::<Vec<_>>();
    window_operation(name, pick(x.shape()), pick(x.strides()), x.offset())
}

pub fn permute(x: &Tensor, order: &[usize]) -> Outcome<Tensor> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &from)| inverse[from] = i);
    apply_view(permuted("Permute0", x, order).to(move |g, _| permute(g, &inverse)), x)
}

fn swapped(dim: usize, first: usize, second: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..dim).collect();
    if dim > 0 {
        order.swap(first, second);
    }
    order
}

pub fn transpose(x: &Tensor, first: usize, second: usize) -> Outcome<Tensor> {
    let operation = permuted("Transpose0", x, &swapped(x.dim(), first, second));
    apply_view(operation.to(move |g, _| transpose(g, first, second)), x)
}

pub fn t(x: &Tensor) -> Outcome<Tensor> {
    let order = if x.dim() == 2 { vec![1, 0] } else { (0..x.dim()).collect() };
    apply_view(permuted("T0", x, &order).to(|g, _| t(g)), x)
}

pub fn unsqueeze(x: &Tensor, dim: usize) -> Outcome<Tensor> {
    let (mut shape, mut strides) = (x.shape(), x.strides());
    let stride = if dim < shape.len() { shape[dim] * strides[dim] } else { 1 };
    shape.insert(dim, 1);
    strides.insert(dim, stride);
    let operation = window_operation("Unsqueeze0", shape, strides, x.offset());
    apply_view(operation.to(move |g, _| squeeze(g, "Squeeze1", &[dim])), x)
}

/// A view without those of the dimensions whose size is 1. `name` tells which form was called.
pub fn squeeze(x: &Tensor, name: &str, dims: &[usize]) -> Outcome<Tensor> {
    let (shape, strides) = (x.shape(), x.strides());
    let dropped: Vec<usize> =
        (0..shape.len()).filter(|i| shape[*i] == 1 && dims.contains(i)).collect();
    let keep = |values: &[usize]| {
        let kept = values.iter().enumerate().filter(|(i, _)| !dropped.contains(i));
        kept.map(|(_, &value)| value).collect::<Vec<_>>()
    };
    let operation = window_operation(name, keep(&shape), keep(&strides), x.offset());
    let formula = move |g: &Tensor, _: &Context| {
        dropped.iter().try_fold(g.clone(), |wide, &dim| unsqueeze(&wide, dim))
    };
    apply_view(operation.to(formula), x)
}

pub fn expand(x: &Tensor, shape: &[i64]) -> Outcome<Tensor> {
    let own = x.shape();
    let text = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let Some(missing) = shape.len().checked_sub(own.len()) else {
        return Err(runtime_error(format!(
            "expand(torch.{}Tensor{{{}}}, size=[{}]): the number of sizes provided ({}) must be \
             greater or equal to the number of dimensions in the tensor ({})",
            x.dtype().scalar_type(),
            shown(&own),
            text(shape),
            shape.len(),
            own.len()
        )));
    };
    let mut target = Vec::new();
    for (i, &size) in shape.iter().enumerate() {
        let before = i.checked_sub(missing).map(|at| own[at]);
        target.push(match (size, before) {
            (-1, Some(before)) => before,
            (-1, None) => {
                return Err(runtime_error(format!(
                    "The expanded size of the tensor ({size}) isn't allowed in a leading, \
                     non-existing dimension {i}"
                )));
            }
            (size, _) if size < 0 => {
                return Err(runtime_error("numel: integer multiplication overflow"));
            }
            (size, Some(before)) if before != 1 && before as i64 != size => {
                return Err(runtime_error(format!(
                    "The expanded size of the tensor ({size}) must match the existing size \
                     ({before}) at non-singleton dimension {i}.  Target sizes: [{}].  Tensor \
                     sizes: {}",
                    text(shape),
                    shown(&own)
                )));
            }
            (size, _) => size as usize,
        });
    }
    check_size(&target)?;
    let mut strides = expanded_strides(&own, &x.strides(), &target);
    // A new dimension of one element has the stride of what is within it.
    for i in (0..missing.min(target.len() - usize::from(!target.is_empty()))).rev() {
        if target[i] == 1 {
            strides[i] = target[i + 1] * strides[i + 1];
        }
    }
    let operation = window_operation("Expand0", target, strides, x.offset());
    // Summed to the input's shape by the engine, as any gradient.
    apply_view(operation.to(|g, _| Ok(g.clone())), x)
}

/// A view on some of the elements: the gradient of all others is zero.
fn part(
    operation: Operation,
    x: &Tensor,
    own: impl Fn(&Tensor) -> Outcome<Tensor> + Clone + 'static,
) -> Outcome<Tensor> {
    let name = operation.name().replace("Backward", "BackwardBackward");
    apply_view(operation.to(move |g, c| embedded(&name, g, c.shape(0), own.clone())), x)
}

/// Zeros of a shape with a gradient in the place of a part.
fn embedded(
    name: &str,
    g: &Tensor,
    shape: &[usize],
    part: impl Fn(&Tensor) -> Outcome<Tensor> + Clone + 'static,
) -> Outcome<Tensor> {
    let (shape, view) = (shape.to_vec(), part.clone());
    let operation = Operation::new("Embed0", move |g| {
        let whole = Tensor::full(&shape, g[0].dtype(), 0.0)?;
        view(&whole)?.store(&g[0].values())?;
        Ok(whole)
    });
    apply(operation.named(name).to(move |g, _| part(g)), &[g])
}

pub fn select(x: &Tensor, dim: usize, index: usize) -> Outcome<Tensor> {
    let (mut shape, mut strides) = (x.shape(), x.strides());
    let offset = x.offset() + index * strides[dim];
    shape.remove(dim);
    strides.remove(dim);
    let operation = window_operation("Select0", shape, strides, offset);
    part(operation, x, move |x| select(x, dim, index))
}

pub fn slice(x: &Tensor, dim: usize, start: usize, end: usize, step: usize) -> Outcome<Tensor> {
    let (mut shape, mut strides) = (x.shape(), x.strides());
    let offset = x.offset() + start * strides[dim];
    shape[dim] = end.saturating_sub(start).div_ceil(step);
    strides[dim] *= step;
    let operation = window_operation("Slice0", shape, strides, offset);
    part(operation, x, move |x| slice(x, dim, start, end, step))
}

/// The diagonal of two dimensions.
pub fn diagonal(x: &Tensor, offset: i64, first: usize, second: usize) -> Outcome<Tensor> {
    let (mut shape, mut strides) = (x.shape(), x.strides());
    let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
    let size = shape[first].saturating_sub(down).min(shape[second].saturating_sub(right));
    let start = if size == 0 { 0 } else { down * strides[first] + right * strides[second] };
    let stride = strides[first] + strides[second];
    for dim in [first.max(second), first.min(second)] {
        shape.remove(dim);
        strides.remove(dim);
    }
    shape.push(size);
    strides.push(stride);
    let operation = window_operation("Diagonal0", shape, strides, x.offset() + start);
    part(operation, x, move |x| diagonal(x, offset, first, second))
}

/// Take another geometry in place: `shape` and `strides` on the same storage.
pub fn reshaped_in_place(
    x: &Tensor,
    name: &str,
    shape: Vec<usize>,
    strides: Vec<usize>,
    formula: impl Fn(&Tensor, &Context) -> Outcome<Tensor> + 'static,
) -> Outcome<Tensor> {
    if x.is_view() {
        return Err(crate::fault::lacks("the geometry of a view changed in place"));
    }
    let operation = window_operation(name, shape.clone(), strides.clone(), x.offset());
    record_in_place(operation.to(formula), x, || {
        x.set_geometry(&shape, &strides);
        x.bump();
        Ok(())
    })
}

/// The parts along a dimension, each a view; `sizes` add up to the whole.
pub fn split(x: &Tensor, name: &str, dim: usize, sizes: &[usize]) -> Outcome<Vec<Tensor>> {
    let shape = x.shape();
    let (own, again) = (sizes.to_vec(), sizes.to_vec());
    let operation = Operation::many(name, move |x| {
        let (mut shape, strides) = (x[0].shape(), x[0].strides());
        let mut offset = x[0].offset();
        let mut views = Vec::new();
        for &size in &own {
            shape[dim] = size;
            views.push(x[0].window(&shape, &strides, offset));
            offset += size * strides[dim];
        }
        Ok(views)
    });
    let formula = move |c: &Context| {
        let parts = c.grads.iter().zip(&again).map(|(grad, &size)| match grad {
            Some(grad) => Ok(grad.clone()),
            None => {
                let mut shape = shape.clone();
                shape[dim] = size;
                let dtype = c.inputs[0].dtype;
                Tensor::full(&shape, dtype, 0.0)
            }
        });
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        crate::joining::cat(&parts, dim).map(|whole| vec![Some(whole)])
    };
    apply_views(operation.all_to(formula), x)
}

pub fn unbind(x: &Tensor, dim: usize) -> Outcome<Vec<Tensor>> {
    let count = x.shape()[dim];
    let operation = Operation::many("Unbind0", move |x| {
        let (mut shape, mut strides) = (x[0].shape(), x[0].strides());
        let (_, stride) = (shape.remove(dim), strides.remove(dim));
        Ok((0..count).map(|i| x[0].window(&shape, &strides, x[0].offset() + i * stride)).collect())
    });
    let formula = move |c: &Context| {
        let mut shape = c.shape(0).to_vec();
        shape.remove(dim);
        let dtype = c.inputs[0].dtype;
        let parts = c.grads.iter().map(|grad| match grad {
            Some(grad) => Ok(grad.clone()),
            None => Tensor::full(&shape, dtype, 0.0),
        });
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        crate::joining::stack(&parts, dim).map(|whole| vec![Some(whole)])
    };
    apply_views(operation.all_to(formula), x)
}

/// A view of any geometry within the storage; `offset` counts from the storage's begin.
pub fn as_strided(
    x: &Tensor,
    shape: &[usize],
    strides: &[usize],
    offset: usize,
) -> Outcome<Tensor> {
    apply_view(strided_operation(x, shape, strides, offset), x)
}

fn strided_operation(x: &Tensor, shape: &[usize], strides: &[usize], offset: usize) -> Operation {
    let base = Geometry::of(x);
    let view = Geometry { shape: shape.to_vec(), strides: strides.to_vec(), offset };
    let operation =
        window_operation("AsStrided0", view.shape.clone(), view.strides.clone(), offset);
    operation.to(move |g, _| gathered(g, &base, &view))
}

/// The gradient of a tensor of which a strided view was taken: a view of what was gathered in a
/// storage. Elements that the view has several times add up; where the tensor itself repeats an
/// element, its parts share the gradient.
fn gathered(g: &Tensor, base: &Geometry, view: &Geometry) -> Outcome<Tensor> {
    let start = base.offset.min(view.offset);
    let reads = places(&base.shape, &base.strides, base.offset - start);
    let writes = places(&view.shape, &view.strides, view.offset - start);
    let size = reads.iter().chain(&writes).max().map_or(0, |last| last + 1);
    let mut counts = vec![0.0f64; size];
    reads.iter().for_each(|&place| counts[place] += 1.0);
    let repeats = counts.iter().any(|&count| count > 1.0);
    let view = view.clone();
    let operation = Operation::new("IndexAdd0", move |g| {
        let mut sums = vec![0.0; size];
        writes.iter().zip(g[0].values()).for_each(|(&place, value)| sums[place] += value);
        let made = Tensor::new(&[size], g[0].dtype(), &sums)?;
        made.bump();
        Ok(made)
    });
    let formula = move |again: &Tensor, _: &Context| {
        as_strided(again, &view.shape, &view.strides, view.offset - start)
    };
    let mut storage = apply(operation.to(formula), &[g])?;
    if repeats {
        let counts: Vec<f64> = counts.into_iter().map(|count| count.max(1.0)).collect();
        let counts = Tensor::new(&[size], g.dtype(), &counts)?;
        storage = crate::binary::div(&storage, &counts)?;
    }
    as_strided(&storage, &base.shape, &base.strides, base.offset - start)
}

/// The node that a view has after its base was written to: it is a strided view of the base.
pub fn strided_node(base: &Tensor, view: &Tensor) -> Outcome<Rc<Node>> {
    let operation = strided_operation(base, &view.shape(), &view.strides(), view.offset());
    let edges = vec![edge_of(base)?];
    let inputs = vec![Meta::of(base)];
    let work = Work::Operation { operation, inputs, saved: Default::default() };
    Ok(Rc::new(Node::new("AsStridedBackward0", work, edges, vec![Meta::of(view)])))
}
