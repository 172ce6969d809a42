//! `torch.autograd.functional`: Jacobians and their products, by the way back.

use super::attributes::set_requires_grad;
use super::{Arguments, Entry, function};
use crate::engine::{Options, edges, run};
use crate::fault::{Outcome, lacks, runtime_error, type_error};
use crate::graph::Edge;
use crate::state::in_grad_mode;
use crate::tensor::Tensor;
use crate::value::Value;
use crate::views::{reshape, select, view};

/// A tensor or a tuple of some, and whether it was a tuple.
fn several(value: &Value, what: &str, name: &str) -> Outcome<(Vec<Tensor>, bool)> {
    let one = |i: usize, value: &Value| match value {
        Value::Tensor(x) => Ok(x.clone()),
        other => Err(type_error(format!(
            "The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value \
             at index {i} has type <class '{}'>.",
            other.type_name()
        ))),
    };
    match value {
        Value::Tuple(tuple) => {
            let all = tuple.items.iter().enumerate().map(|(i, value)| one(i, value));
            Ok((all.collect::<Outcome<Vec<_>>>()?, true))
        }
        other => {
            if !matches!(other, Value::Tensor(_)) {
                return Err(lacks(format!("{what} of {name} that are no tensors")));
            }
            Ok((vec![one(0, other)?], false))
        }
    }
}

/// Inputs of which a derivative is asked: views where it is itself to be differentiated.
fn prepared(inputs: &[Tensor], create_graph: bool) -> Outcome<Vec<Tensor>> {
    let one = |x: &Tensor| {
        if create_graph {
            return view(x, &x.shape());
        }
        let copy = x.detached();
        set_requires_grad(&copy, true)?;
        Ok(copy)
    };
    inputs.iter().map(one).collect()
}

/// The gradients of some inputs; none where a root does not depend on one.
fn grads(
    root: &Tensor,
    inputs: &[Tensor],
    seed: Option<&Tensor>,
    create_graph: bool,
) -> Outcome<Vec<Option<Tensor>>> {
    if !root.requires_grad() {
        return Ok(vec![None; inputs.len()]);
    }
    let seed = match seed {
        Some(seed) => seed.clone(),
        None => crate::copies::filled_like(root, 1.0, root.dtype())?,
    };
    let roots: Vec<Edge> = edges(std::slice::from_ref(root))?.into_iter().flatten().collect();
    let found = edges(inputs)?;
    let targets: Vec<Edge> = found.iter().flatten().cloned().collect();
    if targets.len() < inputs.len() || roots.is_empty() {
        return Err(lacks("a derivative by what requires no gradient"));
    }
    let options = Options { keep_graph: true, create_graph, accumulate: false };
    run(&roots, vec![seed.clone()], Some(&targets), &options)
}

fn detached(x: Tensor, create_graph: bool) -> Tensor {
    if create_graph { x } else { x.detached() }
}

fn packed(items: Vec<Value>, is_tuple: bool) -> Value {
    match <[Value; 1]>::try_from(items) {
        Ok([only]) if !is_tuple => only,
        Ok(all) => Value::tuple(all.into()),
        Err(all) => Value::tuple(all),
    }
}

/// `jacobian(func, inputs, create_graph, strict)`.
fn jacobian(a: &Arguments) -> Outcome<Value> {
    if a.flag(4)? || a.text(5)? != "reverse-mode" {
        return Err(lacks("jacobian by vmap or forward mode"));
    }
    let (create_graph, strict) = (a.flag(2)?, a.flag(3)?);
    in_grad_mode(true, || jacobian_of(a, create_graph, strict))
}

fn jacobian_of(a: &Arguments, create_graph: bool, strict: bool) -> Outcome<Value> {
    let (inputs, is_tuple) = several(a.at(1), "inputs", "jacobian")?;
    let inputs = prepared(&inputs, create_graph)?;
    let arguments: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
    let returned = a.at(0).call(&arguments)?;
    let name = "outputs of the user-provided function";
    let (outputs, is_tuple_out) = several(&returned, name, "jacobian")?;
    let mut rows = Vec::new();
    for (i, output) in outputs.iter().enumerate() {
        if strict {
            check_depends(output, i)?;
        }
        let flat = reshape(output, &[output.count()])?;
        let mut parts: Vec<Vec<Tensor>> = vec![Vec::new(); inputs.len()];
        for j in 0..output.count() {
            let found = grads(&select(&flat, 0, j)?, &inputs, None, create_graph)?;
            for (k, (found, input)) in found.into_iter().zip(&inputs).enumerate() {
                parts[k].push(entry(found, input, (i, k), create_graph, strict)?);
            }
        }
        let mut blocks = Vec::new();
        for (parts, input) in parts.into_iter().zip(&inputs) {
            let mut shape = output.shape();
            shape.extend(input.shape());
            let block = if parts.is_empty() {
                Tensor::full(&shape, input.dtype(), 0.0)?
            } else {
                view(&crate::joining::stack(&parts, 0)?, &shape)?
            };
            blocks.push(Value::Tensor(detached(block, create_graph)));
        }
        rows.push(blocks);
    }
    let rows = rows.into_iter().map(|blocks| packed(blocks, is_tuple)).collect();
    Ok(packed(rows, is_tuple_out))
}

fn check_depends(output: &Tensor, i: usize) -> Outcome<()> {
    if output.requires_grad() {
        return Ok(());
    }
    Err(runtime_error(format!(
        "Output {i} of the user-provided function does not require gradients. The outputs must be \
         computed in a differentiable manner from the input when running in strict mode."
    )))
}

/// One row of a block; zeros where the output does not depend on the input.
fn entry(
    found: Option<Tensor>,
    input: &Tensor,
    (i, k): (usize, usize),
    create_graph: bool,
    strict: bool,
) -> Outcome<Tensor> {
    match found {
        Some(found) if strict && create_graph && !found.requires_grad() => {
            Err(runtime_error(format!(
                "The jacobian of the user-provided function is independent of input {i}. This is \
                 not allowed in strict mode when create_graph=True."
            )))
        }
        Some(found) => Ok(found),
        None if strict => Err(runtime_error(format!(
            "Output {i} of the user-provided function is independent of input {k}. This is not \
             allowed in strict mode."
        ))),
        None => crate::copies::zeros_like(input),
    }
}

/// `vjp(func, inputs, v, create_graph, strict)`.
fn vjp(a: &Arguments) -> Outcome<Value> {
    let (create_graph, strict) = (a.flag(3)?, a.flag(4)?);
    if strict {
        return Err(lacks("vjp in strict mode"));
    }
    in_grad_mode(true, || {
        let (inputs, is_tuple) = several(a.at(1), "inputs", "vjp")?;
        let inputs = prepared(&inputs, create_graph)?;
        let arguments: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
        let returned = a.at(0).call(&arguments)?;
        let name = "outputs of the user-provided function";
        let (outputs, is_tuple_out) = several(&returned, name, "vjp")?;
        let [output] = &outputs[..] else { return Err(lacks("vjp of several outputs")) };
        let seed = match a.at(2) {
            Value::None if output.count() == 1 => None,
            Value::None => {
                return Err(runtime_error(
                    "The vector v can only be None if the user-provided function returns a single \
                     Tensor with a single element.",
                ));
            }
            given => Some(seed_of(given, output, create_graph)?),
        };
        let found = grads(output, &inputs, seed.as_ref(), create_graph)?;
        let products = found.into_iter().zip(&inputs).map(|(found, input)| match found {
            Some(found) => Ok(Value::Tensor(detached(found, create_graph))),
            None => crate::copies::zeros_like(input).map(Value::Tensor),
        });
        let products = products.collect::<Outcome<Vec<_>>>()?;
        let shown = Value::Tensor(detached(output.clone(), create_graph));
        let outputs = packed(vec![shown], is_tuple_out);
        Ok(Value::tuple(vec![outputs, packed(products, is_tuple)]))
    })
}

fn seed_of(given: &Value, output: &Tensor, create_graph: bool) -> Outcome<Tensor> {
    let (seeds, _) = several(given, "v", "vjp")?;
    let [seed] = &seeds[..] else {
        return Err(runtime_error(format!(
            "v is a tuple of invalid length: should be 1 but got {}.",
            seeds.len()
        )));
    };
    if seed.shape() != output.shape() {
        let shown = crate::geometry::shown;
        return Err(runtime_error(format!(
            "v has invalid size: should be torch.Size({}) but got torch.Size({}).",
            shown(&output.shape()),
            shown(&seed.shape())
        )));
    }
    Ok(if create_graph { view(seed, &seed.shape())? } else { seed.detached() })
}

pub const TABLE: &[Entry] = &[
    function(
        "autograd.functional.jacobian",
        "func inputs create_graph=False strict=False vectorize=False strategy=reverse-mode",
        jacobian,
    ),
    function("autograd.functional.vjp", "func inputs v=None create_graph=False strict=False", vjp),
];
