//! What the engine does around a node: its hooks, and accumulation into leaves.

use std::rc::Rc;

use crate::binary::add;
use crate::copies::{clone, clone_strided, copy_into};
use crate::engine::Gradients;
use crate::fault::{Fault, Outcome, lacks, runtime_error, type_error};
use crate::geometry::{contiguous_strides, shown};
use crate::graph::{Node, Work};
use crate::state::warn;
use crate::tensor::Tensor;
use crate::value::Value;

fn no_variable(value: &Value) -> Fault {
    type_error(format!("expected Variable, but hook returned '{}'", value.type_name()))
}

pub fn values_of(grads: &[Option<Tensor>]) -> Vec<Value> {
    grads.iter().map(|grad| grad.clone().map_or(Value::None, Value::Tensor)).collect()
}

/// Run the hooks on the tensors that a node made, then those that keep gradients.
pub fn hooked(node: &Rc<Node>, mut grads: Gradients) -> Outcome<Gradients> {
    let hooks = match &node.work {
        Work::Accumulate(leaf) => leaf.autograd().hooks.clone(),
        _ => node.tensor_hooks.clone(),
    };
    for (nr, call) in hooks.list() {
        let grad = grads[nr].clone();
        let returned = call(&[grad.clone().map_or(Value::None, Value::Tensor)])?;
        if !matches!(returned, Value::None) {
            grads[nr] = checked(returned, grad.as_ref())?;
        }
    }
    let retained = node.retained.borrow().clone();
    for (nr, body) in retained {
        let (Some(grad), Some(tensor)) = (&grads[nr], Tensor::upgraded(&body)) else {
            continue;
        };
        let before = tensor.grad();
        let kept = match before {
            Some(before) => add(&before, grad)?,
            None => clone(grad)?,
        };
        tensor.autograd_mut().grad = Some(kept);
    }
    Ok(grads)
}

/// What a hook returned, if it can stand for the gradient that it was given.
fn checked(returned: Value, given: Option<&Tensor>) -> Outcome<Option<Tensor>> {
    let Some(given) = given else {
        return match returned {
            Value::None => Ok(None),
            _ => Err(runtime_error("can't replace a None gradient with a non-None value")),
        };
    };
    let made = match returned {
        Value::None => return Ok(None),
        Value::Tensor(made) => made,
        other => return Err(no_variable(&other)),
    };
    let (was, is) = (given.dtype().legacy_name(), made.dtype().legacy_name());
    if was != is {
        return Err(runtime_error(format!(
            "hook '<lambda>' has changed the type of value (was {was} got {is})"
        )));
    }
    if made.shape() != given.shape() {
        return Err(runtime_error("hook '<lambda>' has changed the size of value"));
    }
    Ok(Some(made))
}

pub fn pre_hooked(node: &Rc<Node>, mut grads: Gradients) -> Outcome<Gradients> {
    for (_, call) in node.pre_hooks.list() {
        let returned = call(&[Value::tuple(values_of(&grads))])?;
        if !matches!(returned, Value::None) {
            grads = replaced(returned, &grads)?;
        }
    }
    Ok(grads)
}

/// Run a node's hooks after it, which see its results and what it was given.
pub fn post_hooked(
    node: &Rc<Node>,
    mut results: Gradients,
    given: Vec<Value>,
) -> Outcome<Gradients> {
    for (_, call) in node.post_hooks.list() {
        let arguments = [Value::tuple(values_of(&results)), Value::tuple(given.clone())];
        let returned = call(&arguments)?;
        if !matches!(returned, Value::None) {
            results = replaced(returned, &results)?;
        }
    }
    Ok(results)
}

/// The gradients that a node's hook returned in place of others.
fn replaced(returned: Value, before: &[Option<Tensor>]) -> Outcome<Gradients> {
    let Value::Tuple(tuple) = &returned else {
        return Err(type_error(format!(
            "expected tuple, but hook returned '{}'",
            returned.type_name()
        )));
    };
    let items = tuple.items.clone();
    if items.len() != before.len() {
        return Err(runtime_error(format!(
            "hook '<lambda>' has returned an incorrect number of values (got {}, but expected {})",
            items.len(),
            before.len()
        )));
    }
    let pairs = items.into_iter().zip(before);
    pairs.map(|(item, before)| checked(item, before.as_ref())).collect()
}

/// Let a leaf accumulate its gradient, with the hooks that run after that.
pub fn accumulated(
    node: &Rc<Node>,
    leaf: &Tensor,
    grads: Gradients,
    create_graph: bool,
) -> Outcome<Gradients> {
    let seen = if node.post_hooks.list().is_empty() { None } else { Some(values_of(&grads)) };
    if let Some(grad) = grads.into_iter().next().flatten()
        && leaf.requires_grad()
    {
        accumulate(leaf, grad, seen.is_some(), create_graph)?;
    }
    let hooks = leaf.autograd().accumulated.list();
    for (_, call) in hooks {
        match call(&[Value::Tensor(leaf.clone())])? {
            Value::None => {}
            Value::Tensor(same) if same.is(leaf) => {}
            Value::Tensor(_) => {
                let message = "Tensor post accumulate grad hooks should return None.";
                return Err(runtime_error(message));
            }
            other => return Err(no_variable(&other)),
        }
    }
    post_hooked(node, vec![], seen.unwrap_or_default())
}

/// Add to a leaf's gradient: in place, unless the sum itself is to be differentiated.
fn accumulate(leaf: &Tensor, grad: Tensor, is_seen: bool, create_graph: bool) -> Outcome<()> {
    if leaf.shape() != grad.shape() {
        return Err(lacks("a gradient of a leaf whose data have another shape now"));
    }
    let before = leaf.grad();
    let made = match before {
        Some(before) if create_graph => add(&before, &grad)?,
        Some(before) => {
            warn_of_layout(&before, leaf);
            let sum = add(&before, &grad)?;
            return before.write(&sum.values());
        }
        None => {
            let is_dense = leaf.is_dense();
            let (shape, own) = (grad.shape(), grad.strides());
            let strides = if is_dense { leaf.strides() } else { contiguous_strides(&shape) };
            // torch compares the stride of an expanded dimension of one element, too.
            let is_same = |i: usize| (shape[i] == 1 && own[i] != 0) || strides[i] == own[i];
            let fits = (0..shape.len()).all(is_same);
            let holders = if is_seen { 2 } else { 1 };
            if !create_graph && fits && grad.references() <= holders {
                grad.detached()
            } else if is_dense {
                // Allocated first, written then, which the version shows.
                let empty = vec![0.0; grad.count()];
                let made = Tensor::strided(&shape, strides, grad.dtype(), &empty)?;
                copy_into(&made, &grad)?
            } else {
                clone_strided(&grad, strides)?
            }
        }
    };
    leaf.autograd_mut().grad = Some(made);
    Ok(())
}

/// A gradient that a program has assigned may have another layout than its leaf.
fn warn_of_layout(grad: &Tensor, leaf: &Tensor) {
    let (shape, own, wanted) = (grad.shape(), grad.strides(), leaf.strides());
    if leaf.is_dense() && (0..shape.len()).any(|i| shape[i] != 1 && own[i] != wanted[i]) {
        let sizes = shown(&shape);
        let message = format!(
            "grad and param do not obey the gradient layout contract. This is not an error, but \
             may impair performance.\ngrad.sizes() = {sizes}, strides() = {}\nparam.sizes() = \
             {sizes}, strides() = {}",
            shown(&own),
            shown(&wanted)
        );
        warn("UserWarning", message);
    }
}
