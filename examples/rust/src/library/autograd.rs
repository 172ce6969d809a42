//! The way back, hooks, and grad modes.

use std::rc::Rc;

use super::attributes::set_requires_grad;
use super::{Arguments, Entry, function, method};
use crate::engine::{Options, edges, run};
use crate::fault::{Outcome, lacks, runtime_error, type_error, value_error};
use crate::geometry::shown;
use crate::graph::{Edge, accumulator, grad_fn};
use crate::hooks::Callable;
use crate::state::{default_dtype, grad_mode, set_default_dtype, warn};
use crate::tensor::Tensor;
use crate::value::Value;

/// A gradient for each root; ones for those of one element where none is given.
fn cotangents(roots: &[Tensor], given: &Value) -> Outcome<Vec<Tensor>> {
    let given = match given {
        Value::None => vec![Value::None; roots.len()],
        Value::Tensor(_) => vec![given.clone()],
        other => match other.items() {
            Some(items) => items,
            None => {
                return Err(type_error(format!("'{}' object is not iterable", other.type_name())));
            }
        },
    };
    let mut seeds = Vec::new();
    for (i, (root, one)) in roots.iter().zip(&given).enumerate() {
        if let Value::Tensor(seed) = one
            && seed.shape() != root.shape()
        {
            let at = index_of(&given, i)?;
            return Err(runtime_error(format!(
                "Mismatch in shape: grad_output[{at}] has a shape of torch.Size({}) and output[{i}] \
                 has a shape of torch.Size({}).",
                shown(&seed.shape()),
                shown(&root.shape())
            )));
        }
        seeds.push(cotangent(root, one)?);
    }
    if seeds.len() != roots.len() {
        return Err(runtime_error(format!(
            "got {} tensors and {} gradients",
            roots.len(),
            seeds.len()
        )));
    }
    Ok(seeds)
}

/// The place of a gradient for torch's message, which looks for it with Python's `index`: that
/// compares with those before it.
fn index_of(given: &[Value], wanted: usize) -> Outcome<usize> {
    for (i, one) in given.iter().enumerate().take(wanted) {
        let is_found = match (one, &given[wanted]) {
            (Value::Tensor(one), Value::Tensor(other)) => {
                one.is(other) || Value::Tensor(crate::binary::compare("eq", one, other)?).truth()?
            }
            _ => false,
        };
        if is_found {
            return Ok(i);
        }
    }
    Ok(wanted)
}

fn cotangent(root: &Tensor, given: &Value) -> Outcome<Tensor> {
    match given {
        Value::Tensor(given) => Ok(given.clone()),
        Value::None if root.requires_grad() => {
            if root.count() != 1 {
                return Err(runtime_error(
                    "grad can be implicitly created only for scalar outputs",
                ));
            }
            crate::copies::filled_like(root, 1.0, root.dtype())
        }
        // torch leaves it undefined, and finds then that the root requires no gradient.
        Value::None => Tensor::full(&root.shape(), root.dtype(), 1.0),
        other => Err(type_error(format!(
            "gradients can be either Tensors or None, but got {}",
            other.type_name()
        ))),
    }
}

/// The edges of roots, all of which must have one.
fn root_edges(roots: &[Tensor]) -> Outcome<Vec<Edge>> {
    let found = edges(roots)?;
    let each = found.into_iter().enumerate().map(|(i, edge)| {
        edge.ok_or_else(|| {
            runtime_error(format!(
                "element {i} of tensors does not require grad and does not have a grad_fn"
            ))
        })
    });
    each.collect()
}

fn target_edges(inputs: &[Tensor]) -> Outcome<Vec<Edge>> {
    let each = edges(inputs)?.into_iter().map(|edge| {
        edge.ok_or_else(|| runtime_error("One of the differentiated Tensors does not require grad"))
    });
    each.collect()
}

fn flag_or(a: &Arguments, i: usize, otherwise: bool) -> Outcome<bool> {
    match a.at(i) {
        Value::None => Ok(otherwise),
        Value::Int(value) => Ok(*value != 0),
        _ => a.flag(i),
    }
}

/// `tensor.backward()` and `autograd.backward`.
fn backward(a: &Arguments) -> Outcome<Value> {
    let roots = a.tensors(0)?;
    if roots.is_empty() {
        return Err(lacks("backward of no tensors"));
    }
    let inputs = if a.is_none(4) { None } else { Some(a.tensors(4)?) };
    if inputs.as_ref().is_some_and(Vec::is_empty) {
        return Err(runtime_error("`inputs` argument to `backward()` cannot be empty."));
    }
    let seeds = cotangents(&roots, a.at(1))?;
    let create_graph = flag_or(a, 3, false)?;
    let keep_graph = flag_or(a, 2, create_graph)?;
    let roots = root_edges(&roots)?;
    for input in inputs.iter().flatten() {
        retain_grad(input)?;
    }
    let targets = inputs.as_deref().map(target_edges).transpose()?;
    if create_graph {
        warn(
            "UserWarning",
            "Using backward() with create_graph=True will create a reference cycle between the \
             parameter and its gradient which can cause a memory leak. We recommend using \
             autograd.grad when creating the graph to avoid this. If you have to use this \
             function, make sure to reset the .grad fields of your parameters to None after use to \
             break the cycle and avoid the leak.",
        );
    }
    let options = Options { keep_graph, create_graph, accumulate: true };
    run(&roots, seeds.clone(), targets.as_deref(), &options)?;
    Ok(Value::None)
}

/// `autograd.grad`.
fn grad(a: &Arguments) -> Outcome<Value> {
    let (roots, inputs) = (a.tensors(0)?, a.tensors(1)?);
    let materialize = a.flag(7)?;
    if materialize && matches!(a.at(5), Value::Bool(false)) {
        return Err(value_error(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: \
             allow_unused=False.",
        ));
    }
    let allow_unused = flag_or(a, 5, materialize)?;
    if inputs.is_empty() {
        return Err(runtime_error("`inputs` argument to `grad()` cannot be empty."));
    }
    if a.flag(6)? {
        return Err(lacks("is_grads_batched"));
    }
    let seeds = cotangents(&roots, a.at(2))?;
    let create_graph = flag_or(a, 4, false)?;
    let keep_graph = flag_or(a, 3, create_graph)?;
    let roots = root_edges(&roots)?;
    let targets = target_edges(&inputs)?;
    let options = Options { keep_graph, create_graph, accumulate: false };
    let found = run(&roots, seeds.clone(), Some(&targets), &options)?;
    let mut items = Vec::new();
    for (i, (found, input)) in found.into_iter().zip(&inputs).enumerate() {
        items.push(match found {
            Some(grad) => Value::Tensor(grad),
            None if materialize => {
                let zeros = crate::copies::zeros_like(input)?;
                set_requires_grad(&zeros, create_graph)?;
                Value::Tensor(zeros)
            }
            None if allow_unused => Value::None,
            None => {
                return Err(runtime_error(format!(
                    "The differentiated Tensor at index {i} appears to not have been used in the \
                     graph. Set allow_unused=True if this is the desired behavior."
                )));
            }
        });
    }
    Ok(Value::tuple(items))
}

/// Let a tensor that is no leaf keep its gradient.
fn retain_grad(x: &Tensor) -> Outcome<()> {
    if !x.requires_grad() {
        return Err(runtime_error("can't retain_grad on Tensor that has requires_grad=False"));
    }
    let Some(node) = grad_fn(x)? else {
        return Ok(());
    };
    if x.autograd().retains_grad {
        return Ok(());
    }
    let nr = x.autograd().output_nr;
    node.retained.borrow_mut().push((nr, x.downgrade()));
    let mut autograd = x.autograd_mut();
    autograd.retains_grad = true;
    autograd.retained_by = Rc::downgrade(&node);
    Ok(())
}

/// A hook. What cannot be called raises when it runs.
fn callable(value: &Value) -> Callable {
    match value {
        Value::Function(call) => call.clone(),
        other => {
            let other = other.clone();
            Rc::new(move |arguments: &[Value]| other.call(arguments))
        }
    }
}

fn register_hook(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if !x.requires_grad() {
        return Err(runtime_error(
            "cannot register a hook on a tensor that doesn't require gradient",
        ));
    }
    let call = callable(a.at(1));
    let handle = match grad_fn(&x)? {
        Some(node) => node.tensor_hooks.add(x.autograd().output_nr, call),
        None => x.autograd().hooks.add(0, call),
    };
    Ok(Value::Handle(Rc::new(handle)))
}

fn register_accumulated(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    if !x.requires_grad() {
        return Err(runtime_error(
            "cannot register a hook on a tensor that doesn't require gradient",
        ));
    }
    if x.autograd().node.is_some() {
        return Err(runtime_error(
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ));
    }
    let call = callable(a.at(1));
    // torch keeps the accumulator alive from here on, as the tensor does.
    let _ = accumulator(&x);
    let handle = x.autograd().accumulated.add(0, call);
    Ok(Value::Handle(Rc::new(handle)))
}

fn requires_grad_(a: &Arguments) -> Outcome<Value> {
    let x = a.tensor(0)?;
    set_requires_grad(&x, a.flag(1)?)?;
    Ok(Value::Tensor(x))
}

pub const TABLE: &[Entry] = &[
    method(
        "backward",
        "self gradient=None retain_graph=None create_graph=False inputs=None",
        backward,
    ),
    function(
        "autograd.backward",
        "tensors grad_tensors=None retain_graph=None create_graph=False inputs=None",
        backward,
    ),
    function(
        "autograd.grad",
        "outputs inputs grad_outputs=None retain_graph=None create_graph=False allow_unused=None \
         is_grads_batched=False materialize_grads=False",
        grad,
    ),
    method("retain_grad", "self", |a| retain_grad(&a.tensor(0)?).map(|()| Value::None)),
    method("register_hook", "self hook", register_hook),
    method("register_post_accumulate_grad_hook", "self hook", register_accumulated),
    method("requires_grad_", "self requires_grad=True", requires_grad_),
    function("is_grad_enabled", "", |_| Ok(Value::Bool(grad_mode()))),
    function("get_default_dtype", "", |_| Ok(Value::DType(default_dtype()))),
    function("set_default_dtype", "d", |a| match a.dtype(0)? {
        Some(dtype) if dtype.is_float() => {
            set_default_dtype(dtype);
            Ok(Value::None)
        }
        _ => Err(type_error("only floating-point types are supported as the default type")),
    }),
];
