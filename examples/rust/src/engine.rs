//! The way back: nodes in torch's order, gradients that wait for them, accumulation into leaves.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::binary::add;
use crate::copies::{cast, clone, clone_strided, copy_into, sum_to};
use crate::fault::{Outcome, runtime_error, type_error};
use crate::geometry::{contiguous_strides, shown};
use crate::graph::{Edge, Meta, Node, Work, edge_of};
use crate::operation::gradients;
use crate::state::in_grad_mode;
use crate::tensor::Tensor;
use crate::value::Value;

/// The options of a way back.
pub struct Options {
    pub keep_graph: bool,
    pub create_graph: bool,
    /// Whether leaves accumulate their gradients.
    pub accumulate: bool,
}

type Gradients = Vec<Option<Tensor>>;

/// Run the graph below the roots, and return the gradients at the targets. Without targets, all
/// leaves accumulate.
pub fn run(
    roots: &[Edge],
    seeds: Vec<Tensor>,
    targets: Option<&[Edge]>,
    options: &Options,
) -> Outcome<Gradients> {
    in_grad_mode(options.create_graph, || {
        let mut pass = Pass {
            waiting: dependencies(roots),
            buffers: HashMap::new(),
            ready: Vec::new(),
            wanted: None,
            targets: targets.unwrap_or_default(),
            captured: vec![None; targets.map_or(0, <[Edge]>::len)],
            options,
        };
        pass.wanted = targets.map(|targets| leading_to(targets, roots, options.accumulate));
        pass.seed(roots, seeds)?;
        while let Some(node) = pass.next() {
            pass.step(&node)?;
        }
        Ok(pass.captured)
    })
}

/// One run of the engine.
struct Pass<'a> {
    /// The number of gradients that each node still waits for.
    waiting: HashMap<u64, usize>,
    buffers: HashMap<u64, Gradients>,
    ready: Vec<Rc<Node>>,
    /// The nodes on a way to a target; `None` where all are wanted.
    wanted: Option<HashSet<u64>>,
    targets: &'a [Edge],
    captured: Gradients,
    options: &'a Options,
}

impl Pass<'_> {
    fn seed(&mut self, roots: &[Edge], seeds: Vec<Tensor>) -> Outcome<()> {
        for (root, seed) in roots.iter().zip(seeds) {
            let fitted = fitted(
                seed,
                &root.node.outputs.borrow()[root.nr],
                "Engine::execute",
                0,
            )?;
            self.add(root, fitted)?;
        }
        for root in roots {
            let is_new = !self.ready.iter().any(|node| node.id == root.node.id);
            if is_new && self.waiting.get(&root.node.id) == Some(&0) {
                self.ready.push(root.node.clone());
            }
        }
        Ok(())
    }

    /// The ready node that was recorded last; accumulators come first.
    fn next(&mut self) -> Option<Rc<Node>> {
        let mut best = 0;
        for (i, node) in self.ready.iter().enumerate() {
            if node.order > self.ready[best].order {
                best = i;
            }
        }
        if self.ready.is_empty() {
            None
        } else {
            Some(self.ready.remove(best))
        }
    }

    /// Add a gradient to those that wait for a node. torch adds in place where nothing else
    /// refers to the sum.
    fn add(&mut self, edge: &Edge, grad: Tensor) -> Outcome<()> {
        let count = edge.node.outputs.borrow().len();
        let buffer = self
            .buffers
            .entry(edge.node.id)
            .or_insert_with(|| vec![None; count]);
        let sum = match buffer[edge.nr].take() {
            None => grad,
            Some(before) if !self.options.create_graph && is_sole(&before) => {
                let sum = add(&before, &grad)?;
                before.write(&sum.values())?;
                before
            }
            Some(before) => add(&before, &grad)?,
        };
        buffer[edge.nr] = Some(sum);
        Ok(())
    }

    fn step(&mut self, node: &Rc<Node>) -> Outcome<()> {
        let grads = self.buffers.remove(&node.id);
        let grads = grads.unwrap_or_else(|| vec![None; node.outputs.borrow().len()]);
        let grads = hooked(node, grads)?;
        for (i, target) in self.targets.iter().enumerate() {
            if target.node.id == node.id {
                self.captured[i] = grads[target.nr].clone();
            }
        }
        if self
            .wanted
            .as_ref()
            .is_some_and(|wanted| !wanted.contains(&node.id))
        {
            return Ok(());
        }
        let results = self.called(node, grads)?;
        for (i, (edge, result)) in node.edges.iter().zip(results).enumerate() {
            let Some(edge) = edge else { continue };
            if !self.executes(&edge.node) {
                continue;
            }
            if let Some(result) = result {
                let meta = edge.node.outputs.borrow()[edge.nr].clone();
                let result = fitted(result, &meta, &node.name, i)?;
                self.add(edge, result)?;
            }
            if let Some(count) = self.waiting.get_mut(&edge.node.id) {
                *count -= 1;
                if *count == 0 {
                    self.ready.push(edge.node.clone());
                }
            }
        }
        Ok(())
    }

    fn executes(&self, node: &Rc<Node>) -> bool {
        let is_target = || self.targets.iter().any(|target| target.node.id == node.id);
        self.wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&node.id) || is_target())
    }

    /// Call a node, between its hooks.
    fn called(&self, node: &Rc<Node>, grads: Gradients) -> Outcome<Gradients> {
        let grads = pre_hooked(node, grads)?;
        if let Work::Accumulate(leaf) = &node.work {
            let post = node.post_hooks.list();
            let seen = if post.is_empty() {
                None
            } else {
                Some(values_of(&grads))
            };
            if let Some(grad) = grads.into_iter().next().flatten()
                && leaf.requires_grad()
            {
                accumulate(leaf, grad, seen.is_some(), self.options.create_graph)?;
                for (_, call) in leaf.autograd().accumulated.clone().list() {
                    let returned = call(&[Value::Tensor(leaf.clone())])?;
                    if !matches!(returned, Value::None) {
                        return Err(runtime_error(
                            "Tensor post accumulate grad hooks should return None.",
                        ));
                    }
                }
            }
            post_hooked(node, vec![], seen.unwrap_or_default())?;
            return Ok(vec![]);
        }
        let seen = values_of(&grads);
        let results = evaluated(node, grads)?;
        if !self.options.keep_graph {
            node.release();
        }
        post_hooked(node, results, seen)
    }
}

/// The gradients that a node computes of those it got.
pub fn evaluated(node: &Rc<Node>, grads: Gradients) -> Outcome<Gradients> {
    let Work::CopySlices {
        base,
        view,
        written,
    } = &node.work
    else {
        return gradients(node, &grads);
    };
    let Some(grad) = grads.into_iter().next().flatten() else {
        return Ok(vec![None; node.edges.len()]);
    };
    let whole = Tensor::strided(
        &base.shape,
        base.strides.clone(),
        grad.dtype(),
        &vec![0.0; grad.count()],
    );
    let whole = match whole {
        Ok(made) if crate::geometry::is_dense(&base.shape, &base.strides) => made,
        _ => Tensor::full(&base.shape, grad.dtype(), 0.0)?,
    };
    let whole = copy_into(&whole, &grad)?;
    let offset = view.offset - base.offset;
    let slice = crate::views::as_strided(&whole, &view.shape, &view.strides, offset)?;
    let mut results = evaluated(written, vec![Some(clone(&slice)?)])?;
    results[0] = match results[0].take() {
        Some(own) => {
            copy_into(&slice, &own)?;
            Some(whole)
        }
        None => None,
    };
    Ok(results)
}

fn values_of(grads: &[Option<Tensor>]) -> Vec<Value> {
    grads
        .iter()
        .map(|grad| grad.clone().map_or(Value::None, Value::Tensor))
        .collect()
}

/// Run the hooks on the tensors that a node made, then those that keep gradients.
fn hooked(node: &Rc<Node>, mut grads: Gradients) -> Outcome<Gradients> {
    let hooks = match &node.work {
        Work::Accumulate(leaf) => leaf.autograd().hooks.clone(),
        _ => node.tensor_hooks.clone(),
    };
    for (nr, call) in hooks.list() {
        let Some(grad) = grads[nr].clone() else {
            continue;
        };
        match call(&[Value::Tensor(grad.clone())])? {
            Value::None => {}
            Value::Tensor(made) => grads[nr] = Some(checked(made, &grad)?),
            other => {
                return Err(type_error(format!(
                    "expected Variable, but hook returned '{}'",
                    other.type_name()
                )));
            }
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

/// A gradient that a hook made, if it can stand for the one it was given.
fn checked(made: Tensor, given: &Tensor) -> Outcome<Tensor> {
    if made.shape() != given.shape() {
        return Err(runtime_error(
            "hook '<lambda>' has changed the size of value",
        ));
    }
    if made.dtype() != given.dtype() {
        return Err(runtime_error(
            "hook '<lambda>' has changed the type of value",
        ));
    }
    Ok(made)
}

fn pre_hooked(node: &Rc<Node>, mut grads: Gradients) -> Outcome<Gradients> {
    for (_, call) in node.pre_hooks.list() {
        let returned = call(&[Value::tuple(values_of(&grads))])?;
        if !matches!(returned, Value::None) {
            grads = replaced(returned, &grads)?;
        }
    }
    Ok(grads)
}

/// Run a node's hooks after it, which see its results and what it was given.
fn post_hooked(node: &Rc<Node>, mut results: Gradients, given: Vec<Value>) -> Outcome<Gradients> {
    for (_, call) in node.post_hooks.list() {
        let arguments = [
            Value::tuple(values_of(&results)),
            Value::tuple(given.clone()),
        ];
        let returned = call(&arguments)?;
        if !matches!(returned, Value::None) {
            results = replaced(returned, &results)?;
        }
    }
    Ok(results)
}

/// The gradients that a node's hook returned in place of others.
fn replaced(returned: Value, before: &[Option<Tensor>]) -> Outcome<Gradients> {
    let items = match &returned {
        Value::Tuple(tuple) => tuple.items.clone(),
        Value::Tensor(_) if before.len() == 1 => vec![returned],
        other => {
            return Err(type_error(format!(
                "expected tuple, but hook returned '{}'",
                other.type_name()
            )));
        }
    };
    if items.len() != before.len() {
        return Err(runtime_error(format!(
            "hook '<lambda>' has returned an incorrect number of values (got {}, but expected {})",
            items.len(),
            before.len()
        )));
    }
    let each = items
        .into_iter()
        .zip(before)
        .map(|(item, before)| match (item, before) {
            (Value::None, None) => Ok(None),
            (Value::None, Some(_)) => Err(runtime_error(
                "can't replace a non-None gradient with a None value",
            )),
            (_, None) => Err(runtime_error(
                "can't replace a None gradient with a non-None value",
            )),
            (Value::Tensor(made), Some(before)) => checked(made, before).map(Some),
            (other, _) => Err(type_error(format!(
                "expected Variable, but hook returned '{}'",
                other.type_name()
            ))),
        });
    each.collect()
}

/// Whether nothing but this reference leads to a gradient or to its storage.
fn is_sole(grad: &Tensor) -> bool {
    grad.references() == 1 && Rc::strong_count(&grad.layout().storage) == 1 && grad.is_dense()
}

/// The number of gradients that each reachable node waits for.
fn dependencies(roots: &[Edge]) -> HashMap<u64, usize> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let mut open: Vec<Rc<Node>> = Vec::new();
    for root in roots {
        if counts.insert(root.node.id, 0).is_none() {
            open.push(root.node.clone());
        }
    }
    while let Some(node) = open.pop() {
        for edge in node.edges.iter().flatten() {
            let count = counts.entry(edge.node.id).or_insert_with(|| {
                open.push(edge.node.clone());
                0
            });
            *count += 1;
        }
    }
    counts
}

/// The nodes on a way from the roots to a target; with `accumulate` the targets, too.
fn leading_to(targets: &[Edge], roots: &[Edge], accumulate: bool) -> HashSet<u64> {
    let mut parents: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut seen: HashSet<u64> = HashSet::new();
    let mut open: Vec<Rc<Node>> = roots.iter().map(|root| root.node.clone()).collect();
    while let Some(node) = open.pop() {
        if !seen.insert(node.id) {
            continue;
        }
        for edge in node.edges.iter().flatten() {
            parents.entry(edge.node.id).or_default().push(node.id);
            open.push(edge.node.clone());
        }
    }
    let mut found: HashSet<u64> = HashSet::new();
    let mut below: Vec<u64> = targets.iter().map(|target| target.node.id).collect();
    while let Some(id) = below.pop() {
        for &parent in parents.get(&id).into_iter().flatten() {
            if found.insert(parent) {
                below.push(parent);
            }
        }
    }
    if accumulate {
        found.extend(targets.iter().map(|target| target.node.id));
    }
    found
}

/// A gradient in the shape and dtype that the tensor has to which it belongs.
fn fitted(grad: Tensor, meta: &Meta, name: &str, index: usize) -> Outcome<Tensor> {
    let mut grad = grad;
    if grad.shape() != meta.shape {
        grad = match sum_to(&grad, &meta.shape)? {
            Some(sum) => sum,
            None => {
                return Err(runtime_error(format!(
                    "Function {name} returned an invalid gradient at index {index} - got {} but \
                     expected shape compatible with {}",
                    shown(&grad.shape()),
                    shown(&meta.shape)
                )));
            }
        };
    }
    if grad.dtype() == meta.dtype {
        Ok(grad)
    } else {
        cast(&grad, meta.dtype)
    }
}

/// Add to a leaf's gradient: in place, unless the sum itself is to be differentiated.
fn accumulate(leaf: &Tensor, grad: Tensor, is_seen: bool, create_graph: bool) -> Outcome<()> {
    let made = match leaf.grad() {
        Some(before) if create_graph => add(&before, &grad)?,
        Some(before) => {
            let sum = add(&before, &grad)?;
            return before.write(&sum.values());
        }
        None => {
            let is_dense = leaf.is_dense();
            let strides = if is_dense {
                leaf.strides()
            } else {
                contiguous_strides(&leaf.shape())
            };
            let shape = grad.shape();
            let own = grad.strides();
            let fits = (0..shape.len()).all(|i| shape[i] == 1 || strides[i] == own[i]);
            let holders = if is_seen { 2 } else { 1 };
            if !create_graph && fits && grad.references() <= holders {
                grad.detached()
            } else if is_dense {
                // Allocated first, written then, which the version shows.
                let made =
                    Tensor::strided(&shape, strides, grad.dtype(), &vec![0.0; grad.count()])?;
                copy_into(&made, &grad)?
            } else {
                clone_strided(&grad, strides)?
            }
        }
    };
    leaf.autograd_mut().grad = Some(made);
    Ok(())
}

/// The edges of tensors that are to be differentiated.
pub fn edges(tensors: &[Tensor]) -> Outcome<Vec<Option<Edge>>> {
    tensors.iter().map(edge_of).collect()
}
