//! Copies, casts and joins.

use super::{Arguments, Entry, both, function, method};
use crate::copies::{cast, clone, contiguous};
use crate::dtype::DType;
use crate::fault::{Outcome, lacks, runtime_error, type_error};
use crate::geometry::check_size;
use crate::graph::grad_fn;
use crate::tensor::Tensor;
use crate::value::Value;
use crate::{joining, views};

/// A memory format may be asked for, if it is the usual one.
fn check_format(a: &Arguments, i: usize, usual: &str) -> Outcome<()> {
    match a.at(i) {
        Value::None => Ok(()),
        Value::Named(name) if &**name == usual => Ok(()),
        _ => Err(lacks("memory formats")),
    }
}

/// Tensors to be joined, with messages for what is none.
fn listed(a: &Arguments, i: usize) -> Outcome<Vec<Tensor>> {
    let Some(items) = a.at(i).items() else {
        return Err(lacks(format!("{} of no list", a.name)));
    };
    let tensors = items.iter().enumerate().map(|(at, item)| match item {
        Value::Tensor(x) => Ok(x.clone()),
        other => Err(type_error(format!(
            "expected Tensor as element {at} in argument 0, but got {}",
            other.type_name()
        ))),
    });
    tensors.collect()
}

fn cat(a: &Arguments) -> Outcome<Value> {
    let tensors = listed(a, 0)?;
    let dim = tensors.iter().map(Tensor::dim).max().unwrap_or(1);
    joining::cat(&tensors, if dim == 0 { 0 } else { a.dim(1, dim)? }).map(Value::Tensor)
}

fn stack(a: &Arguments) -> Outcome<Value> {
    let tensors = listed(a, 0)?;
    let dim = tensors.first().map_or(1, |x| x.dim() + 1);
    joining::stack(&tensors, a.dim(1, dim)?).map(Value::Tensor)
}

/// `detach_()`: the history is gone, the hooks stay.
fn detach_in_place(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if x.is_view() {
        return Err(runtime_error(
            "Can't detach views in-place. Use detach() instead. If you are using \
             DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as \
             True, gradients are views of DDP buckets, and hence detach_() cannot be called on \
             these gradients. To fix this error, please refer to the Optimizer.zero_grad() \
             function in torch/optim/optimizer.py as the solution.",
        ));
    }
    let hooks = grad_fn(&x)?.map(|node| node.tensor_hooks.of_output(x.autograd().output_nr));
    let mut autograd = x.autograd_mut();
    autograd.requires_grad = false;
    autograd.node = None;
    autograd.output_nr = 0;
    if let Some(hooks) = hooks {
        autograd.hooks = hooks;
    }
    drop(autograd);
    Ok(Value::Tensor(x))
}

fn to(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let made = match a.at(1) {
        Value::Tensor(like) => cast(&x, like.dtype())?,
        Value::DType(dtype) => cast(&x, *dtype)?,
        Value::None if a.dtype(2)?.is_some() => cast(&x, a.dtype(2)?.unwrap_or(x.dtype()))?,
        Value::Str(device) if &**device == "cpu" => x.clone(),
        other => return Err(lacks(format!("Tensor.to of a {}", other.type_name()))),
    };
    if a.flag(3)? && made.is(&x) { clone(&x).map(Value::Tensor) } else { Ok(Value::Tensor(made)) }
}

fn repeat(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    let times = a.ints(1)?;
    let Some(missing) = times.len().checked_sub(x.dim()) else {
        return Err(runtime_error(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of \
             tensor",
        ));
    };
    check_size(&times.iter().map(|&count| count.max(0) as usize).collect::<Vec<_>>())?;
    if times.iter().any(|&count| count < 0) || x.requires_grad() {
        return Err(lacks("repeat of a tensor that requires grad"));
    }
    let mut shape = vec![1; missing];
    shape.extend(x.shape());
    let mut made = views::reshape(&x, &shape)?;
    for (dim, &count) in times.iter().enumerate() {
        made = joining::cat(&vec![made; (count as usize).max(1)], dim)?;
    }
    Ok(Value::Tensor(made))
}

fn converted(a: &Arguments) -> Outcome<Value> {
    let name = match a.name {
        "float" => "float32",
        "double" => "float64",
        "half" => "float16",
        "long" => "int64",
        "int" => "int32",
        "short" => "int16",
        other => other,
    };
    let dtype = DType::named(name).ok_or_else(|| lacks(name))?;
    cast(&a.tensor(0)?, dtype).map(Value::Tensor)
}

pub const TABLE: &[Entry] = &[
    both("clone", "input * memory_format=None", |a| {
        check_format(a, 1, "preserve_format")?;
        clone(&a.tensor(0)?).map(Value::Tensor)
    }),
    both("detach", "input", |a| Ok(Value::Tensor(a.tensor(0)?.detached()))),
    both("detach_", "input", detach_in_place),
    method("contiguous", "input memory_format=None", |a| {
        check_format(a, 1, "contiguous_format")?;
        contiguous(&a.tensor(0)?).map(Value::Tensor)
    }),
    method("to", "input other=None * dtype=None copy=False", to),
    method("type_as", "input other", |a| {
        cast(&a.tensor(0)?, a.tensor(1)?.dtype()).map(Value::Tensor)
    }),
    method("float", "input", converted),
    method("double", "input", converted),
    method("half", "input", converted),
    method("bfloat16", "input", converted),
    method("long", "input", converted),
    method("int", "input", converted),
    method("short", "input", converted),
    method("bool", "input", converted),
    function("cat", "tensors dim=0", cat),
    function("concat", "tensors dim=0", cat),
    function("stack", "tensors dim=0", stack),
    both("tile", "input *dims", repeat),
    method("repeat", "input *repeats", repeat),
];
