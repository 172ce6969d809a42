//! Products of matrices and vectors.

use crate::fault::{Outcome, lacks, runtime_error};
use crate::geometry::{broadcast, check_size, product, view_strides};
use crate::operation::{Operation, apply};
use crate::tensor::Tensor;
use crate::views::{expand, reshape, t, transpose, unsafe_view, unsqueeze, view};

/// The products of matrices, one of each of a batch.
fn products(a: &Tensor, b: &Tensor, shape: &[usize]) -> Outcome<Tensor> {
    let inner = a.shape().last().copied().unwrap_or(1);
    let columns = if b.dim() == 1 { 1 } else { b.shape()[b.dim() - 1] };
    let batch = if a.dim() == 3 { a.shape()[0] } else { 1 };
    let rows = if a.dim() == 1 { 1 } else { a.shape()[a.dim() - 2] };
    check_size(&[batch, rows, columns, inner])?;
    let (left, right) = (a.values(), b.values());
    let mut values = Vec::with_capacity(batch * rows * columns);
    for matrix in 0..batch {
        for i in 0..rows {
            for j in 0..columns {
                let entry = (0..inner).map(|k| {
                    left[(matrix * rows + i) * inner + k]
                        * right[(matrix * inner + k) * columns + j]
                });
                values.push(entry.fold(0.0, |sum, one| sum + one));
            }
        }
    }
    Tensor::new(shape, a.dtype(), &values)
}

fn check_dtypes(a: &Tensor, b: &Tensor, name: &str) -> Outcome<()> {
    let (one, other) = (a.dtype().type_name(), b.dtype().type_name());
    if one == other {
        return Ok(());
    }
    Err(runtime_error(match name {
        "dot" => format!(
            "dot : expected both vectors to have same dtype, but found {} and {}",
            a.dtype().scalar_type(),
            b.dtype().scalar_type()
        ),
        "bmm" => format!(
            "expected scalar type {} but found {}",
            a.dtype().scalar_type(),
            b.dtype().scalar_type()
        ),
        _ => format!("expected m1 and m2 to have the same dtype, but got: {one} != {other}"),
    }))
}

pub fn mm(a: &Tensor, b: &Tensor) -> Outcome<Tensor> {
    check_dim(a, 2, "self must be a matrix")?;
    check_dim(b, 2, "mat2 must be a matrix")?;
    let ([rows, inner], [other, columns]) = (pair(a), pair(b));
    if inner != other {
        return Err(runtime_error(format!(
            "mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})"
        )));
    }
    check_dtypes(a, b, "mm")?;
    let operation = Operation::new("Mm0", move |v| products(&v[0], &v[1], &[rows, columns]))
        .saving_crosswise()
        .to(|g, c| mm(g, &t(&c.input(1)?)?))
        .to(|g, c| mm(&t(&c.input(0)?)?, g));
    apply(operation, &[a, b])
}

fn pair(x: &Tensor) -> [usize; 2] {
    let shape = x.shape();
    [shape[0], shape[1]]
}

fn check_dim(x: &Tensor, dim: usize, message: &str) -> Outcome<()> {
    if x.dim() == dim { Ok(()) } else { Err(runtime_error(message)) }
}

pub fn mv(a: &Tensor, v: &Tensor) -> Outcome<Tensor> {
    if a.dim() != 2 || v.dim() != 1 {
        return Err(runtime_error(format!(
            "vector + matrix @ vector expected, got 1, {}, {}",
            a.dim(),
            v.dim()
        )));
    }
    let [rows, inner] = pair(a);
    if inner != v.shape()[0] {
        return Err(runtime_error(format!(
            "size mismatch, got input ({rows}), mat ({rows}x{inner}), vec ({})",
            v.shape()[0]
        )));
    }
    check_dtypes(a, v, "mv")?;
    let operation = Operation::new("Mv0", move |v| products(&v[0], &v[1], &[rows]))
        .saving_crosswise()
        .to(|g, c| outer(g, &c.input(1)?))
        .to(|g, c| mv(&t(&c.input(0)?)?, g));
    apply(operation, &[a, v])
}

pub fn outer(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    crate::binary::mul(&view(x, &[x.count(), 1])?, y)
}

pub fn dot(x: &Tensor, y: &Tensor) -> Outcome<Tensor> {
    if x.dim() != 1 || y.dim() != 1 {
        return Err(runtime_error(format!(
            "1D tensors expected, but got {}D and {}D tensors",
            x.dim(),
            y.dim()
        )));
    }
    check_dtypes(x, y, "dot")?;
    let (own, other) = (x.count(), y.count());
    if own != other {
        return Err(runtime_error(format!(
            "inconsistent tensor size, expected tensor [{own}] and src [{other}] to have the same \
             number of elements, but got {own} and {other} elements respectively"
        )));
    }
    let operation = Operation::new("Dot0", |v| products(&v[0], &v[1], &[]))
        .saving_crosswise()
        .to(|g, c| crate::binary::mul(g, &c.input(1)?))
        .to(|g, c| crate::binary::mul(g, &c.input(0)?));
    apply(operation, &[x, y])
}

pub fn bmm(a: &Tensor, b: &Tensor) -> Outcome<Tensor> {
    check_dim(a, 3, "batch1 must be a 3D tensor")?;
    check_dim(b, 3, "batch2 must be a 3D tensor")?;
    let (left, right) = (a.shape(), b.shape());
    if left[0] != right[0] || left[2] != right[1] {
        return Err(runtime_error(format!(
            "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: \
             [{}, {}].",
            left[0], left[2], right[0], right[1]
        )));
    }
    if a.dtype() != b.dtype() && (a.count() == 0 || b.count() == 0) {
        return Err(lacks("products of no elements of two dtypes"));
    }
    check_dtypes(a, b, "bmm")?;
    let shape = [left[0], left[1], right[2]];
    let operation = Operation::new("Bmm0", move |v| products(&v[0], &v[1], &shape))
        .saving_crosswise()
        .to(|g, c| bmm(g, &transpose(&c.input(1)?, 1, 2)?))
        .to(|g, c| bmm(&transpose(&c.input(0)?, 1, 2)?, g));
    apply(operation, &[a, b])
}

/// `torch.matmul`, which is one of the others, or a product of batches that are broadcast.
pub fn matmul(a: &Tensor, b: &Tensor) -> Outcome<Tensor> {
    match (a.dim(), b.dim()) {
        (0, _) | (_, 0) => Err(runtime_error(format!(
            "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            a.dim(),
            b.dim()
        ))),
        (1, 1) => dot(a, b),
        (2, 1) => mv(a, b),
        (1, 2) => {
            let row = mm(&unsqueeze(a, 0)?, b)?;
            let columns = b.shape()[1];
            squeezed(&row, columns)
        }
        (2, 2) => mm(a, b),
        (_, 1 | 2) if is_folded(a, b) => folded(a, b),
        (1 | 2, _) if a.requires_grad() => Err(lacks("matmul of one matrix with a batch")),
        _ => batched(a, b),
    }
}

/// A row as a vector. torch squeezes it in place, which its version shows.
fn squeezed(row: &Tensor, columns: usize) -> Outcome<Tensor> {
    let operation = Operation::new("Squeeze1", move |x| Ok(x[0].window(&[columns], &[1], 0)));
    let made = apply(operation.to(|g, _| unsqueeze(g, 0)), &[row])?;
    made.bump();
    Ok(made)
}

/// Whether a batch is multiplied as one matrix of all its rows.
fn is_folded(a: &Tensor, b: &Tensor) -> bool {
    let (shape, strides) = (a.shape(), a.strides());
    let (rows, inner) = (product(&shape[..shape.len() - 1]), shape[shape.len() - 1]);
    b.requires_grad() || a.count() == 0 || view_strides(&shape, &strides, &[rows, inner]).is_some()
}

/// A batch of matrices times one matrix or vector: one product of all rows.
fn folded(a: &Tensor, b: &Tensor) -> Outcome<Tensor> {
    let mut shape = a.shape();
    let inner = shape.pop().unwrap_or(1);
    let rows = reshape(a, &[product(&shape), inner])?;
    if b.dim() == 1 {
        return unsafe_view(&mv(&rows, b)?, &shape);
    }
    shape.push(b.shape()[1]);
    unsafe_view(&mm(&rows, b)?, &shape)
}

fn batched(a: &Tensor, b: &Tensor) -> Outcome<Tensor> {
    let left = if a.dim() == 1 { unsqueeze(a, 0)? } else { a.clone() };
    let right = if b.dim() == 1 { unsqueeze(b, b.dim())? } else { b.clone() };
    let (own, other) = (left.shape(), right.shape());
    let (m, n) = (own.len() - 2, other.len() - 2);
    let batch = broadcast(&own[..m], &other[..n])?;
    let count = product(&batch);
    let wide = |x: &Tensor, shape: &[usize], dims: &[usize]| -> Outcome<Tensor> {
        let mut full: Vec<i64> = batch.iter().map(|&size| size as i64).collect();
        full.extend(dims.iter().map(|&size| size as i64));
        let _ = shape;
        reshape(&expand(x, &full)?, &[count, dims[0], dims[1]])
    };
    let product = bmm(&wide(&left, &own, &own[m..])?, &wide(&right, &other, &other[n..])?)?;
    let mut shape = batch.clone();
    if a.dim() > 1 {
        shape.push(own[m]);
    }
    if b.dim() > 1 {
        shape.push(other[n + 1]);
    }
    unsafe_view(&product, &shape)
}
