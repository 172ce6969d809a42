//! Order: the extreme values along a dimension, sorting, running sums.

use crate::binary::{mul, written};
use crate::copies::{cast, kept_strides};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, runtime_error};
use crate::gathering::scattered;
use crate::operation::{Context, Keep, Operation, apply, apply_many};
use crate::reductions::{Over, best, groups};
use crate::tensor::Tensor;
use crate::views::unsqueeze;

fn along(x: &Tensor, dim: usize) -> Over {
    let dims = if x.dim() == 0 { vec![] } else { vec![dim] };
    Over { dims, keep: true, named: true }
}

/// A tensor of which each line along a dimension is given, in the order of `groups`.
fn from_lines(shape: &[usize], dim: usize, dtype: DType, lines: &[Vec<f64>]) -> Outcome<Tensor> {
    if shape.is_empty() {
        return Tensor::new(shape, dtype, &lines[0]);
    }
    let inner: usize = shape[dim + 1..].iter().product();
    let size = shape[dim];
    let mut values = vec![0.0; lines.len() * size];
    for (i, line) in lines.iter().enumerate() {
        let start = (i / inner) * inner * size + i % inner;
        line.iter().enumerate().for_each(|(k, &value)| values[start + k * inner] = value);
    }
    Tensor::new(shape, dtype, &values)
}

/// The elements at some positions along a dimension, with these positions. Each passes its
/// gradient to the element that it is.
fn picked(
    x: &Tensor,
    name: &str,
    dim: usize,
    keep: bool,
    choose: impl Fn(&[f64]) -> Outcome<Vec<usize>> + 'static,
) -> Outcome<(Tensor, Tensor)> {
    chosen(x, name, dim, keep, false, choose)
}

/// As `picked`, where an element may be chosen several times, and gets all gradients then.
fn chosen(
    x: &Tensor,
    name: &str,
    dim: usize,
    keep: bool,
    adds: bool,
    choose: impl Fn(&[f64]) -> Outcome<Vec<usize>> + 'static,
) -> Outcome<(Tensor, Tensor)> {
    let compute = move |x: &[Tensor]| {
        let lines = groups(&x[0], &along(&x[0], dim));
        let indices = lines.iter().map(|line| choose(line)).collect::<Outcome<Vec<_>>>()?;
        let mut shape = x[0].shape();
        if let Some(size) = shape.get_mut(dim) {
            *size = indices.first().map_or(0, Vec::len);
        }
        let pick =
            |(line, chosen): (&Vec<f64>, &Vec<usize>)| chosen.iter().map(|&i| line[i]).collect();
        let values: Vec<Vec<f64>> = lines.iter().zip(&indices).map(pick).collect();
        let places: Vec<Vec<f64>> =
            indices.iter().map(|chosen| chosen.iter().map(|&i| i as f64).collect()).collect();
        let made = [
            from_lines(&shape, dim, x[0].dtype(), &values)?,
            from_lines(&shape, dim, DType::Int64, &places)?,
        ];
        if !keep && !shape.is_empty() {
            shape.remove(dim);
        }
        made.iter().map(|made| Tensor::new(&shape, made.dtype(), &made.values())).collect()
    };
    let formula = move |c: &Context| {
        let Some(g) = c.grads[0].clone() else {
            return Ok(vec![None]);
        };
        let indices = c.output(1)?;
        let is_reduced = !keep && !c.shape(0).is_empty();
        let wide = |x: &Tensor| {
            if is_reduced { unsqueeze(x, dim) } else { Ok(x.clone()) }
        };
        let made = scattered(&wide(&g)?, &wide(&indices)?, c.shape(0), dim, adds)?;
        Ok(vec![Some(written(made, usize::from(adds))?)])
    };
    let operation = Operation::many(name, compute)
        .saving_by(move |_| {
            // A running extreme saves its input, too, of which torch needs the shape.
            let input = if adds { vec![Keep::Input(0)] } else { vec![] };
            [input, vec![Keep::Output(1)]].concat()
        })
        .all_to(formula);
    let mut made = apply_many(operation, std::slice::from_ref(x))?.into_iter();
    match (made.next(), made.next()) {
        (Some(values), Some(indices)) => Ok((values, indices)),
        _ => Err(runtime_error("no values")),
    }
}

/// The first extreme value along a dimension.
pub fn extreme(
    x: &Tensor,
    name: &str,
    dim: usize,
    keep: bool,
    is_better: fn(f64, f64) -> bool,
) -> Outcome<(Tensor, Tensor)> {
    picked(x, name, dim, keep, move |line| Ok(vec![best(line, is_better)]))
}

/// The order of a line; NaN is larger than all numbers.
fn sorted(line: &[f64], descending: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..line.len()).collect();
    let rank = |value: f64| (value.is_nan(), value);
    order.sort_by(|&a, &b| {
        let ((nan, x), (other_nan, y)) = (rank(line[a]), rank(line[b]));
        let found =
            nan.cmp(&other_nan).then(x.partial_cmp(&y).unwrap_or(std::cmp::Ordering::Equal));
        if descending { found.reverse() } else { found }
    });
    order
}

/// Which of equal elements an operator takes depends on its algorithm in torch.
fn without_ties(line: &[f64], name: &'static str) -> Outcome<()> {
    let order = sorted(line, false);
    let is_tie = |pair: &[usize]| {
        let (a, b) = (line[pair[0]], line[pair[1]]);
        a == b || (a.is_nan() && b.is_nan())
    };
    if order.windows(2).any(is_tie) {
        Err(lacks(format!("{name} of equal elements")))
    } else {
        Ok(())
    }
}

pub fn sort(x: &Tensor, name: &str, dim: usize, descending: bool) -> Outcome<(Tensor, Tensor)> {
    picked(x, name, dim, true, move |line| Ok(sorted(line, descending)))
}

pub fn top(x: &Tensor, k: usize, dim: usize, largest: bool) -> Outcome<(Tensor, Tensor)> {
    let size = x.shape().get(dim).copied().unwrap_or(1);
    if k > size {
        return Err(runtime_error("selected index k out of range"));
    }
    picked(x, "Topk0", dim, true, move |line| {
        without_ties(line, "topk")?;
        Ok(sorted(line, largest)[..k].to_vec())
    })
}

pub fn kth_value(x: &Tensor, k: usize, dim: usize, keep: bool) -> Outcome<(Tensor, Tensor)> {
    let size = x.shape().get(dim).copied().unwrap_or(1);
    if k < 1 || k > size {
        return Err(runtime_error(format!(
            "kthvalue(): selected number k out of range for dimension {dim}"
        )));
    }
    picked(x, "Kthvalue0", dim, keep, move |line| {
        without_ties(line, "kthvalue")?;
        Ok(vec![sorted(line, false)[k - 1]])
    })
}

/// The place of the median: the lower one of two; the first NaN where there is one.
pub fn median_place(line: &[f64]) -> usize {
    let nan = line.iter().position(|value| value.is_nan());
    nan.unwrap_or_else(|| sorted(line, false)[(line.len() - 1) / 2])
}

pub fn median(x: &Tensor, dim: usize, keep: bool) -> Outcome<(Tensor, Tensor)> {
    picked(x, "Median1", dim, keep, |line| {
        if !line.iter().any(|value| value.is_nan()) {
            without_ties(line, "median")?;
        }
        Ok(vec![median_place(line)])
    })
}

/// The median of what is a number.
pub fn nan_median_place(line: &[f64]) -> usize {
    let order = sorted(line, false);
    let numbers = line.iter().filter(|value| !value.is_nan()).count();
    order[numbers.saturating_sub(1) / 2]
}

pub fn nan_median(x: &Tensor, dim: usize, keep: bool) -> Outcome<(Tensor, Tensor)> {
    picked(x, "Nanmedian1", dim, keep, |line| {
        without_ties(line, "nanmedian")?;
        Ok(vec![nan_median_place(line)])
    })
}

/// The most frequent value; of values that are all different the smallest.
pub fn mode(x: &Tensor, dim: usize, keep: bool) -> Outcome<(Tensor, Tensor)> {
    picked(x, "Mode0", dim, keep, |line| {
        without_ties(line, "mode")?;
        Ok(vec![sorted(line, false)[0]])
    })
}

/// Running sums or products along a dimension.
fn running(
    x: &Tensor,
    dim: usize,
    dtype: DType,
    f: fn(f64, f64) -> f64,
    start: f64,
) -> Outcome<Tensor> {
    let mut lines = groups(x, &along(x, dim));
    for line in &mut lines {
        let mut sum = start;
        line.iter_mut().for_each(|value| {
            sum = f(sum, *value);
            *value = sum;
        });
    }
    from_lines(&x.shape(), dim, dtype, &lines)
}

/// The extreme value so far, at each place along a dimension; of equal ones the last.
pub fn cumulative(x: &Tensor, dim: usize, is_max: bool) -> Outcome<(Tensor, Tensor)> {
    let places = move |line: &[f64]| {
        let mut best = 0;
        let wins = |value: f64, champion: f64| {
            if is_max { value >= champion } else { value <= champion }
        };
        let step = |(i, &value): (usize, &f64)| {
            if value.is_nan() || (!line[best].is_nan() && wins(value, line[best])) {
                best = i;
            }
            best
        };
        Ok(line.iter().enumerate().map(step).collect())
    };
    let name = if is_max { "Cummax0" } else { "Cummin0" };
    chosen(x, name, dim, true, true, places)
}

fn counted(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Int64 }
}

pub fn cumsum(x: &Tensor, dim: usize) -> Outcome<Tensor> {
    let operation = Operation::new("Cumsum0", move |x| {
        running(&x[0], dim, counted(x[0].dtype()), |a, b| a + b, 0.0)
    });
    if x.count() <= 1 || x.shape()[dim] == 1 {
        return apply(operation.to(|g, _| Ok(g.clone())), &[x]);
    }
    apply(operation.to(move |g, _| flip(&cumsum(&flip(g, &[dim])?, dim)?, &[dim])), &[x])
}

pub fn cumprod(x: &Tensor, dim: usize) -> Outcome<Tensor> {
    let operation = Operation::new("Cumprod0", move |x| {
        running(&x[0], dim, counted(x[0].dtype()), |a, b| a * b, 1.0)
    });
    let formula = move |g: &Tensor, c: &Context| {
        let (x, y) = (c.input(0)?, c.output(0)?);
        if x.values().contains(&0.0) {
            return Err(lacks("the gradient of cumprod at a zero"));
        }
        let sums = flip(&cumsum(&flip(&mul(&y, g)?, &[dim])?, dim)?, &[dim])?;
        crate::binary::div(&sums, &x)
    };
    apply(operation.saving(&[Keep::Input(0), Keep::Output(0)]).to(formula), &[x])
}

/// The elements in reverse order along some dimensions.
pub fn flip(x: &Tensor, dims: &[usize]) -> Outcome<Tensor> {
    let (own, again) = (dims.to_vec(), dims.to_vec());
    let operation = Operation::new("Flip0", move |x| {
        let dims = if x[0].dim() == 0 { &[][..] } else { &own };
        dims.iter().try_fold(cast(&x[0].detached(), x[0].dtype())?, |made, &dim| {
            let mut lines = groups(&made, &along(&made, dim));
            lines.iter_mut().for_each(|line| line.reverse());
            let values = from_lines(&made.shape(), dim, made.dtype(), &lines)?.values();
            Tensor::strided(&made.shape(), kept_strides(&made), made.dtype(), &values)
        })
    });
    apply(operation.to(move |g, _| flip(g, &again)), &[x])
}
