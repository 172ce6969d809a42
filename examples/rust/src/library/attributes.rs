//! Attributes of tensors and nodes: reading, assigning.

use std::rc::Rc;

use crate::fault::{Outcome, lacks, runtime_error, type_error};
use crate::geometry::shown;
use crate::graph::{Node, Work, grad_fn};
use crate::tensor::Tensor;
use crate::value::{Value, no_attribute};
use crate::views;

pub fn set_requires_grad(x: &Tensor, flag: bool) -> Outcome<()> {
    if x.autograd().node.is_some() {
        if flag {
            return Ok(());
        }
        return Err(runtime_error(
            "you can only change requires_grad flags of leaf variables. If you want to use a \
             computed variable in a subgraph that doesn't require differentiation use \
             var_no_grad = var.detach().",
        ));
    }
    if flag && !x.dtype().is_float() {
        return Err(runtime_error("only Tensors of floating point dtype can require gradients"));
    }
    x.autograd_mut().requires_grad = flag;
    Ok(())
}

fn warn_of_non_leaf(x: &Tensor) {
    let autograd = x.autograd();
    if autograd.node.is_some() && !autograd.retains_grad && autograd.grad.is_none() {
        crate::state::warn(
            "UserWarning",
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its \
             .grad attribute won't be populated during autograd.backward(). If you indeed want \
             the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the \
             non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access \
             the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more \
             information.",
        );
    }
}

fn node_or_none(node: Option<Rc<Node>>) -> Value {
    node.map_or(Value::None, Value::Node)
}

fn of_tensor(x: &Tensor, name: &str) -> Outcome<Value> {
    Ok(match name {
        "shape" => Value::size(&x.shape()),
        "dtype" => Value::DType(x.dtype()),
        "ndim" => Value::Int(x.dim() as i64),
        "requires_grad" => Value::Bool(x.requires_grad()),
        "is_leaf" => Value::Bool(grad_fn(x)?.is_none()),
        "grad" => {
            warn_of_non_leaf(x);
            x.grad().map_or(Value::None, Value::Tensor)
        }
        "grad_fn" => node_or_none(grad_fn(x)?),
        "retains_grad" => Value::Bool(x.autograd().retains_grad),
        "output_nr" => {
            grad_fn(x)?;
            Value::Int(x.autograd().output_nr as i64)
        }
        "_version" => Value::Int(x.version() as i64),
        "_base" => x.base().map_or(Value::None, Value::Tensor),
        "data" => Value::Tensor(x.data()),
        "T" if x.dim() == 2 => Value::Tensor(views::permute(x, &[1, 0])?),
        "mT" if x.dim() >= 2 => Value::Tensor(views::transpose(x, x.dim() - 2, x.dim() - 1)?),
        "is_sparse" | "is_cuda" | "is_quantized" => Value::Bool(false),
        "itemsize" => return Err(lacks("Tensor.itemsize")),
        _ => return Err(lacks(format!("Tensor.{name}"))),
    })
}

fn of_node(node: &Rc<Node>, name: &str) -> Outcome<Value> {
    match name {
        "next_functions" => {
            let pair = |edge: &Option<crate::graph::Edge>| match edge {
                Some(edge) => {
                    let items = vec![Value::Node(edge.node.clone()), Value::Int(edge.nr as i64)];
                    Value::tuple(items)
                }
                None => Value::tuple(vec![Value::None, Value::Int(0)]),
            };
            Ok(Value::tuple(node.shown_edges().iter().map(pair).collect()))
        }
        "variable" => match &node.work {
            Work::Accumulate(leaf) => Ok(Value::Tensor(leaf.clone())),
            _ => Err(lacks("the variable of a node that accumulates nothing")),
        },
        _ => Err(lacks(format!("the attribute {name} of a node"))),
    }
}

pub fn get(owner: &Value, name: &str) -> Outcome<Value> {
    match owner {
        Value::Tensor(x) => of_tensor(x, name),
        Value::Node(node) => of_node(node, name),
        Value::Tuple(tuple) => match tuple.names.iter().position(|&own| own == name) {
            Some(at) => Ok(tuple.items[at].clone()),
            None => Err(lacks(format!("the attribute {name} of a tuple"))),
        },
        Value::Module(path) => crate::program::of_torch(&format!("{path}.{name}")),
        Value::None => Err(no_attribute(owner, name)),
        other => Err(lacks(format!("the attribute {name} of a {}", other.type_name()))),
    }
}

pub fn set(owner: &Value, name: &str, value: &Value) -> Outcome<()> {
    let Value::Tensor(x) = owner else {
        return Err(lacks(format!("assigning {name} of a {}", owner.type_name())));
    };
    match name {
        "requires_grad" => match value {
            Value::Bool(true) if x.autograd().node.is_some() => {
                Err(runtime_error("you can only change requires_grad flags of leaf variables."))
            }
            Value::Bool(false) if x.autograd().node.is_some() => Err(runtime_error(
                "you can only change requires_grad flags of leaf variables. If you want to use a \
                 computed variable in a subgraph that doesn't require differentiation use \
                 var_no_grad = var.detach().",
            )),
            Value::Bool(true) if !x.dtype().is_float() => Err(runtime_error(
                "only Tensors of floating point and complex dtype can require gradients",
            )),
            Value::Bool(flag) => set_requires_grad(x, *flag),
            _ => Err(runtime_error("requires_grad must be a bool")),
        },
        "grad" => set_grad(x, value),
        "data" => set_data(x, value),
        _ => Err(lacks(format!("assigning Tensor.{name}"))),
    }
}

pub fn delete(owner: &Value, name: &str) -> Outcome<()> {
    match (owner, name) {
        (Value::Tensor(x), "grad") => {
            x.autograd_mut().grad = None;
            Ok(())
        }
        _ => Err(lacks(format!("deleting {name}"))),
    }
}

fn set_grad(x: &Tensor, value: &Value) -> Outcome<()> {
    let grad = match value {
        Value::None => {
            x.autograd_mut().grad = None;
            return Ok(());
        }
        Value::Tensor(grad) => grad,
        other => {
            return Err(type_error(format!(
                "assigned grad expected to be a Tensor or None but got grad of type {}",
                other.type_name()
            )));
        }
    };
    if grad.is(x) {
        return Err(runtime_error("can't assign Variable as its own grad"));
    }
    let (own, other) = (x.dtype(), grad.dtype());
    if own != other {
        return Err(runtime_error(format!(
            "attempting to assign a gradient with dtype '{}' to a tensor with grad_dtype '{}'. The \
             gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can \
             set the tensor's grad_dtype attribute with a specific dtype, or None to allow any \
             dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient \
             may break downstream systems that assume they match.",
            other.type_name(),
            own.scalar_type()
        )));
    }
    if grad.shape() != x.shape() {
        return Err(runtime_error(format!(
            "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure \
             that the gradient and the tensor are the same size",
            shown(&grad.shape()),
            shown(&x.shape())
        )));
    }
    x.autograd_mut().grad = Some(grad.clone());
    Ok(())
}

fn set_data(x: &Tensor, value: &Value) -> Outcome<()> {
    let Value::Tensor(other) = value else {
        return Err(type_error(format!(
            "Variable data has to be a tensor, but got {}",
            value.type_name()
        )));
    };
    if x.requires_grad() && !other.dtype().is_float() {
        return Err(runtime_error(
            "data set to a tensor that requires gradients must be floating point or complex dtype",
        ));
    }
    x.set_data(other);
    Ok(())
}
