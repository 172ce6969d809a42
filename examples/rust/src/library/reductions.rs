//! Reductions, order, and products.

use super::{Arguments, Entry, both, function};
use crate::copies::cast;
use crate::dtype::DType;
use crate::fault::{Outcome, index_error, lacks, runtime_error};
use crate::gathering;
use crate::geometry::dimension;
use crate::order::{self, extreme, median_place};
use crate::products;
use crate::reductions::{self, Over, all_dims, best, reduced, shared_extreme, whole_extreme};
use crate::softmax;
use crate::tensor::Tensor;
use crate::value::Value;

/// The dimensions that an argument names; all where it names none.
pub fn over(a: &Arguments, x: &Tensor, dim: usize, keep: usize) -> Outcome<Over> {
    let keep = a.flag(keep)?;
    if a.is_none(dim) {
        return Ok(Over { keep, named: keep || a.is_given(dim), ..Over::all(x) });
    }
    let mut dims = Vec::new();
    for one in a.ints(dim)? {
        let found = dimension(one, x.dim())?;
        if dims.contains(&found) {
            return Err(runtime_error(format!(
                "dim {found} appears multiple times in the list of dims"
            )));
        }
        dims.push(found);
    }
    if dims.is_empty() {
        dims = all_dims(x);
    }
    dims.retain(|_| x.dim() > 0);
    Ok(Over { dims, keep, named: true })
}

fn in_dtype(a: &Arguments, i: usize) -> Outcome<Tensor> {
    let x = a.tensor(0)?;
    match a.dtype(i)? {
        Some(dtype) => cast(&x, dtype),
        None => Ok(x),
    }
}

fn non_empty(a: &Arguments, x: &Tensor) -> Outcome<()> {
    if x.count() > 0 {
        return Ok(());
    }
    match a.name {
        "max" | "min" if a.is_none(1) => Err(runtime_error(format!(
            "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the \
             reduction dim with the 'dim' argument.",
            a.name
        ))),
        "argmax" | "argmin" if a.is_none(1) => Err(index_error(format!(
            "{}(): Expected reduction dim to be specified for input.numel() == 0.",
            a.name
        ))),
        name => Err(lacks(format!("{name} of no elements"))),
    }
}

fn pair(made: (Tensor, Tensor)) -> Value {
    let items = vec![Value::Tensor(made.0), Value::Tensor(made.1)];
    Value::named_tuple(items, &["values", "indices"])
}

/// `max` and `min`: of all elements, along a dimension, or of two tensors.
fn extremes(a: &Arguments, is_better: fn(f64, f64) -> bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let is_max = a.name == "max";
    if let Value::Tensor(other) = a.at(1) {
        let made = if is_max {
            crate::binary::maximum(&x, other)
        } else {
            crate::binary::minimum(&x, other)
        };
        return made.map(Value::Tensor);
    }
    non_empty(a, &x)?;
    if a.is_none(1) {
        let name = if is_max { "Max1" } else { "Min1" };
        return whole_extreme(&x, name, move |v| v[best(v, is_better)]).map(Value::Tensor);
    }
    let name = if is_max { "Max0" } else { "Min0" };
    extreme(&x, name, a.dim(1, x.dim())?, a.flag(2)?, is_better).map(pair)
}

fn shared(a: &Arguments, is_better: fn(f64, f64) -> bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.count() == 0 && a.is_none(1) {
        return Err(runtime_error(format!(
            "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the \
             reduction dim with the 'dim' argument.",
            a.name
        )));
    }
    let over = over(a, &x, 1, 2)?;
    let empty = over.dims.iter().find(|&&dim| x.shape()[dim] == 0);
    if let Some(dim) = empty {
        return Err(index_error(format!(
            "{}(): Expected reduction dim {dim} to have non-zero size.",
            a.name
        )));
    }
    let name = if a.name == "amax" { "Amax0" } else { "Amin0" };
    shared_extreme(&x, name, &over, is_better).map(Value::Tensor)
}

fn argument(a: &Arguments, is_better: fn(f64, f64) -> bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dtype() == DType::Bool {
        return Err(crate::fault::raised(
            "NotImplementedError",
            format!("{}(): does not support bool input", a.name),
        ));
    }
    non_empty(a, &x)?;
    let over = if a.is_none(1) && a.flag(2)? {
        Over { keep: true, ..Over::all(&x) }
    } else {
        over(a, &x, 1, 2)?
    };
    reduced(&x, &over, DType::Int64, |values| best(values, is_better) as f64).map(Value::Tensor)
}

fn median(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dtype() == DType::Bool {
        return Err(lacks("the order of bools"));
    }
    if x.count() == 0 {
        return Err(lacks("median of no elements"));
    }
    if a.is_none(1) {
        return whole_extreme(&x, "Median0", |v| v[median_place(v)]).map(Value::Tensor);
    }
    order::median(&x, a.dim(1, x.dim())?, a.flag(2)?).map(pair)
}

fn variance(a: &Arguments, is_root: bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let (dim, flag) = match a.at(1) {
        Value::Bool(flag) => (None, Some(*flag)),
        _ => (Some(()), None),
    };
    let correction = match (flag, a.at(2), a.at(4)) {
        (Some(flag), ..) => f64::from(u8::from(flag)),
        (None, Value::Bool(flag), _) => f64::from(u8::from(*flag)),
        (None, _, Value::None) => 1.0,
        _ => a.float(4)?,
    };
    if matches!(a.at(1).items().as_deref(), Some([])) {
        return Err(lacks("the variance over no dimensions"));
    }
    let over = if dim.is_some() { over(a, &x, 1, 3)? } else { Over::all(&x) };
    reductions::variance(&x, &over, correction, is_root).map(Value::Tensor)
}

fn norm(a: &Arguments, order: usize, dim: usize, keep: usize) -> Outcome<Value> {
    let x = in_dtype(a, 4)?;
    let order = match a.at(order) {
        Value::Str(text) if &**text == "fro" => 2.0,
        Value::None => 2.0,
        Value::Str(_) => return Err(lacks("norms by name")),
        _ => a.float(order)?,
    };
    crate::norms::norm(&x, order, &over(a, &x, dim, keep)?).map(Value::Tensor)
}

fn check_float(x: &Tensor, name: &str) -> Outcome<()> {
    if x.dtype().is_float() {
        Ok(())
    } else {
        Err(lacks(format!("{name} of {}", x.dtype().name())))
    }
}

fn truth(a: &Arguments, f: fn(&[f64]) -> bool) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.dtype() == DType::UInt8 || matches!(a.at(1).items().as_deref(), Some([])) {
        return Err(lacks(format!("{} of bytes, or over no dimensions", a.name)));
    }
    let over = over(a, &x, 1, 2)?;
    reduced(&x, &over, DType::Bool, |values| f64::from(u8::from(f(values)))).map(Value::Tensor)
}

fn two(a: &Arguments, f: fn(&Tensor, &Tensor) -> Outcome<Tensor>) -> Outcome<Value> {
    f(&a.tensor(0)?, &a.tensor(1)?).map(Value::Tensor)
}

fn nan_sum(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let numbers = crate::binary::test(&x, |v| !v.is_nan())?;
    if x.requires_grad() {
        return Err(lacks("the gradient of nansum"));
    }
    let filled = crate::binary::select(&numbers, &x, &crate::pointwise::number(0.0))?;
    reductions::sum_over(&filled, &over(a, &x, 1, 2)?).map(Value::Tensor)
}

fn index_select(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    gathering::index_select(&x, a.dim(1, x.dim())?, &a.tensor(2)?).map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    both("sum", "input dim=None keepdim=False * dtype=None", |a| {
        let x = a.tensor(0)?;
        let counted = if x.dtype().is_float() { x.dtype() } else { DType::Int64 };
        let dtype = a.dtype(3)?.unwrap_or(counted);
        reductions::sum_as(&x, &over(a, &x, 1, 2)?, dtype).map(Value::Tensor)
    }),
    both("mean", "input dim=None keepdim=False * dtype=None", |a| {
        let x = a.tensor(0)?;
        reductions::mean(&x, &over(a, &x, 1, 2)?, a.dtype(3)?).map(Value::Tensor)
    }),
    both("prod", "input dim=None keepdim=False * dtype=None", |a| {
        let x = a.tensor(0)?;
        reductions::prod(&x, &over(a, &x, 1, 2)?, a.dtype(3)?).map(Value::Tensor)
    }),
    both("nansum", "input dim=None keepdim=False", nan_sum),
    both("var", "input dim=None unbiased=None keepdim=False * correction=None", |a| {
        variance(a, false)
    }),
    both("std", "input dim=None unbiased=None keepdim=False * correction=None", |a| {
        variance(a, true)
    }),
    both("logsumexp", "input dim keepdim=False", |a| {
        let x = a.tensor(0)?;
        check_float(&x, "logsumexp")?;
        softmax::log_sum_exp(&x, &over(a, &x, 1, 2)?).map(Value::Tensor)
    }),
    both("norm", "input p=fro dim=None keepdim=False dtype=None", |a| norm(a, 1, 2, 3)),
    function("linalg.vector_norm", "x ord=2 dim=None keepdim=False * dtype=None", |a| {
        norm(a, 1, 2, 3)
    }),
    both("max", "input dim=None keepdim=False", |a| extremes(a, |x, y| x > y)),
    both("min", "input dim=None keepdim=False", |a| extremes(a, |x, y| x < y)),
    both("amax", "input dim=None keepdim=False", |a| shared(a, |x, y| x > y)),
    both("amin", "input dim=None keepdim=False", |a| shared(a, |x, y| x < y)),
    both("argmax", "input dim=None keepdim=False", |a| argument(a, |x, y| x > y)),
    both("argmin", "input dim=None keepdim=False", |a| argument(a, |x, y| x < y)),
    both("median", "input dim=None keepdim=False", median),
    both("nanmedian", "input dim=None keepdim=False", |a| {
        let x = a.tensor(0)?;
        if x.count() == 0 || x.dtype() == DType::Bool {
            return Err(lacks("nanmedian of no elements, or of bools"));
        }
        if a.is_none(1) {
            let made = whole_extreme(&x, "Nanmedian0", |v| v[order::nan_median_place(v)]);
            return made.map(Value::Tensor);
        }
        order::nan_median(&x, a.dim(1, x.dim())?, a.flag(2)?).map(pair)
    }),
    both("mode", "input dim=-1 keepdim=False", |a| {
        let x = a.tensor(0)?;
        if x.count() == 0 {
            return Err(lacks("mode of no elements"));
        }
        order::mode(&x, a.dim(1, x.dim())?, a.flag(2)?).map(pair)
    }),
    both("sort", "input dim=-1 descending=False * stable=None", |a| {
        let x = a.tensor(0)?;
        let name = if a.is_given(3) { "Sort1" } else { "Sort0" };
        order::sort(&x, name, a.dim(1, x.dim())?, a.flag(2)?).map(pair)
    }),
    both("argsort", "input dim=-1 descending=False * stable=None", |a| {
        let x = a.tensor(0)?;
        order::sort(&x.detached(), "Sort0", a.dim(1, x.dim())?, a.flag(2)?)
            .map(|made| Value::Tensor(made.1))
    }),
    both("topk", "input k dim=-1 largest=True sorted=True", |a| {
        let x = a.tensor(0)?;
        let k = usize::try_from(a.int(1)?).map_err(|_| lacks("topk of a negative number"))?;
        order::top(&x, k, a.dim(2, x.dim())?, a.flag(3)?).map(pair)
    }),
    both("kthvalue", "input k dim=-1 keepdim=False", |a| {
        let x = a.tensor(0)?;
        let dim = a.dim(2, x.dim())?;
        order::kth_value(&x, a.int(1)?.max(0) as usize, dim, a.flag(3)?).map(pair)
    }),
    both("cummax", "input dim", |a| {
        let x = a.tensor(0)?;
        if x.dim() == 0 || x.count() == 0 {
            return Err(lacks("cummax without dimensions or elements"));
        }
        order::cumulative(&x, a.dim(1, x.dim())?, true).map(pair)
    }),
    both("cummin", "input dim", |a| {
        let x = a.tensor(0)?;
        if x.dim() == 0 || x.count() == 0 {
            return Err(lacks("cummin without dimensions or elements"));
        }
        order::cumulative(&x, a.dim(1, x.dim())?, false).map(pair)
    }),
    both("aminmax", "input * dim=None keepdim=False", |a| {
        let x = a.tensor(0)?;
        if x.count() == 0 {
            return Err(lacks("aminmax of no elements"));
        }
        let (least, most) = reductions::extremes(&x, &over(a, &x, 1, 2)?)?;
        Ok(Value::named_tuple(vec![Value::Tensor(least), Value::Tensor(most)], &["min", "max"]))
    }),
    both("cumsum", "input dim", |a| {
        let x = a.tensor(0)?;
        order::cumsum(&x, a.dim(1, x.dim())?).map(Value::Tensor)
    }),
    both("cumprod", "input dim", |a| {
        let x = a.tensor(0)?;
        order::cumprod(&x, a.dim(1, x.dim())?).map(Value::Tensor)
    }),
    both("flip", "input *dims", |a| {
        let x = a.tensor(0)?;
        let dims = a.ints(1)?.into_iter().map(|dim| dimension(dim, x.dim()));
        order::flip(&x, &dims.collect::<Outcome<Vec<_>>>()?).map(Value::Tensor)
    }),
    both("any", "input dim=None keepdim=False", |a| truth(a, |v| v.iter().any(|&x| x != 0.0))),
    both("all", "input dim=None keepdim=False", |a| truth(a, |v| v.iter().all(|&x| x != 0.0))),
    both("gather", "input dim index", |a| {
        let x = a.tensor(0)?;
        gathering::gather(&x, a.dim(1, x.dim())?, &a.tensor(2)?).map(Value::Tensor)
    }),
    both("index_select", "input dim index", index_select),
    both("matmul", "input other", |a| two(a, products::matmul)),
    both("mm", "input mat2", |a| two(a, products::mm)),
    both("mv", "input vec", |a| two(a, products::mv)),
    both("dot", "input tensor", |a| two(a, products::dot)),
    both("bmm", "input mat2", |a| two(a, products::bmm)),
    both("outer", "input vec2", |a| two(a, products::outer)),
    both("ger", "input vec2", |a| two(a, products::outer)),
    both("softmax", "input dim * dtype=None", |a| {
        let x = in_dtype(a, 2)?;
        softmax::softmax(&x, a.dim(1, x.dim())?, false).map(Value::Tensor)
    }),
    both("log_softmax", "input dim * dtype=None", |a| {
        let x = in_dtype(a, 2)?;
        softmax::softmax(&x, a.dim(1, x.dim())?, true).map(Value::Tensor)
    }),
];
