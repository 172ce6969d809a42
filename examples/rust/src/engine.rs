//! The way back: nodes in torch's order, and the gradients that wait for them.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::binary::add;
use crate::copies::{cast, clone, copy_into, sum_to};
use crate::fault::{Outcome, runtime_error};
use crate::geometry::shown;
use crate::graph::{Edge, Meta, Node, Work, edge_of, running};
use crate::hooking::{accumulated, hooked, post_hooked, pre_hooked, values_of};
use crate::operation::gradients;
use crate::state::{anomaly, in_grad_mode, warn};
use crate::tensor::Tensor;
use crate::views::as_strided;

/// The options of a way back.
pub struct Options {
    pub keep_graph: bool,
    pub create_graph: bool,
    /// Whether leaves accumulate their gradients.
    pub accumulate: bool,
}

/// A gradient for each output or input of a node.
pub type Gradients = Vec<Option<Tensor>>;

/// Run the graph below the roots, and return the gradients at the targets. Without targets, all
/// leaves accumulate.
pub fn run(
    roots: &[Edge],
    seeds: Vec<Tensor>,
    targets: Option<&[Edge]>,
    options: &Options,
) -> Outcome<Gradients> {
    // Referred to from here, so that no leaf takes them over.
    let mut fitted_seeds = Vec::new();
    for (root, seed) in roots.iter().zip(seeds) {
        let meta = root.node.outputs.borrow()[root.nr].clone();
        fitted_seeds.push(fitted(seed, &meta, "", 0)?);
    }
    in_grad_mode(options.create_graph, || {
        let mut pass = Pass {
            waiting: dependencies(roots),
            buffers: HashMap::new(),
            ready: Vec::new(),
            wanted: targets.map(|targets| leading_to(targets, roots, options.accumulate)),
            targets: targets.unwrap_or_default(),
            captured: vec![None; targets.map_or(0, <[Edge]>::len)],
            options,
        };
        pass.seed(roots, &fitted_seeds)?;
        while let Some(node) = pass.next() {
            running(&node, || pass.step(&node)).inspect_err(|_| report(&node))?;
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
    fn seed(&mut self, roots: &[Edge], seeds: &[Tensor]) -> Outcome<()> {
        for (root, seed) in roots.iter().zip(seeds) {
            // Several roots are below a node of their own, which skips those that lead nowhere.
            if roots.len() > 1 && !self.executes(&root.node) {
                continue;
            }
            self.add(root, seed.clone())?;
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
        if self.ready.is_empty() { None } else { Some(self.ready.remove(best)) }
    }

    /// Add a gradient to those that wait for a node. torch adds in place where nothing else
    /// refers to the sum.
    fn add(&mut self, edge: &Edge, grad: Tensor) -> Outcome<()> {
        let count = edge.node.outputs.borrow().len();
        let buffer = self.buffers.entry(edge.node.id).or_insert_with(|| vec![None; count]);
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
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&node.id));
        // A node that goes on has its hooks run when it is called, after the capture.
        let grads = if is_wanted { grads } else { hooked(node, grads)? };
        if !self.options.accumulate {
            self.capture(node, &grads);
        }
        if !is_wanted {
            return Ok(());
        }
        let results = self.called(node, grads)?;
        for (edge, result) in node.edges.iter().zip(results) {
            let Some(edge) = edge else { continue };
            if !self.executes(&edge.node) {
                continue;
            }
            if let Some(result) = result {
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

    fn capture(&mut self, node: &Rc<Node>, grads: &[Option<Tensor>]) {
        for (i, target) in self.targets.iter().enumerate() {
            if target.node.id == node.id {
                self.captured[i] = grads[target.nr].clone();
            }
        }
    }

    fn executes(&self, node: &Rc<Node>) -> bool {
        let is_target = || self.targets.iter().any(|target| target.node.id == node.id);
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&node.id) || is_target())
    }

    /// Call a node, between its hooks.
    fn called(&self, node: &Rc<Node>, grads: Gradients) -> Outcome<Gradients> {
        let grads = pre_hooked(node, hooked(node, grads)?)?;
        if let Work::Accumulate(leaf) = &node.work {
            return accumulated(node, leaf, grads, self.options.create_graph);
        }
        let is_needed =
            |edge: &Option<Edge>| edge.as_ref().is_some_and(|edge| self.executes(&edge.node));
        let needs: Vec<bool> = node.edges.iter().map(is_needed).collect();
        let seen = values_of(&grads);
        let results = evaluated(node, grads, &needs)?;
        if !self.options.keep_graph {
            node.release();
        }
        let mut fits = Vec::new();
        for (i, (edge, result)) in node.edges.iter().zip(results).enumerate() {
            fits.push(match (edge, result) {
                (Some(edge), Some(result)) => {
                    let meta = edge.node.outputs.borrow()[edge.nr].clone();
                    Some(fitted(result, &meta, &node.name, i)?)
                }
                _ => None,
            });
        }
        let results = post_hooked(node, fits, seen)?;
        if anomaly() == (true, true) {
            check_numbers(node, &results)?;
        }
        Ok(results)
    }
}

/// In anomaly mode no gradient may be NaN.
fn check_numbers(node: &Rc<Node>, results: &[Option<Tensor>]) -> Outcome<()> {
    let is_nan = |result: &Option<Tensor>| {
        result.as_ref().is_some_and(|grad| grad.values().iter().any(|value| value.is_nan()))
    };
    match results.iter().position(is_nan) {
        None => Ok(()),
        Some(i) => Err(runtime_error(format!(
            "Function '{}' returned nan values in its {i}th output.",
            node.full_name()
        ))),
    }
}

/// In anomaly mode, warn of the node that failed, and of those in whose passes it was recorded.
fn report(node: &Rc<Node>) {
    if !anomaly().0 {
        return;
    }
    let missing = "No forward pass information available. Enable detect anomaly during forward \
                   pass for more information.";
    let trace =
        if node.is_traced { "Traceback of forward call that caused the error:" } else { missing };
    warn("UserWarning", format!("Error detected in {}. {trace}", node.full_name()));
    let mut above = node.induced_by.clone();
    while let Some(node) = above {
        let trace = if node.is_traced {
            "Traceback of forward call that induced the previous calculation:"
        } else {
            missing
        };
        warn(
            "UserWarning",
            format!("\n\nPrevious calculation was induced by {}. {trace}", node.full_name()),
        );
        above = node.induced_by.clone();
    }
}

/// The gradients that a node computes of those it got.
fn evaluated(node: &Rc<Node>, grads: Gradients, needs: &[bool]) -> Outcome<Gradients> {
    let Work::CopySlices { base, view, written } = &node.work else {
        return gradients(node, &grads, needs);
    };
    let Some(grad) = grads.into_iter().next().flatten() else {
        return Ok(vec![None; node.edges.len()]);
    };
    let empty = vec![0.0; grad.count()];
    let whole = Tensor::strided(&base.shape, base.strides.clone(), grad.dtype(), &empty)?;
    let whole = copy_into(&whole, &grad)?;
    let slice = as_strided(&whole, &view.shape, &view.strides, view.offset - base.offset)?;
    let mut results = evaluated(written, vec![Some(clone(&slice)?)], needs)?;
    if let Some(own) = results[0].take() {
        copy_into(&slice, &own)?;
        results[0] = Some(whole);
    }
    Ok(results)
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
                let subject = match name {
                    "" => String::new(),
                    name => format!("Function {name} returned an "),
                };
                return Err(runtime_error(format!(
                    "{subject}invalid gradient at index {index} - got {} but expected shape \
                     compatible with {}",
                    shown(&grad.shape()),
                    shown(&meta.shape)
                )));
            }
        };
    }
    if grad.dtype() == meta.dtype { Ok(grad) } else { cast(&grad, meta.dtype) }
}

/// The edges of tensors that are to be differentiated.
pub fn edges(tensors: &[Tensor]) -> Outcome<Vec<Option<Edge>>> {
    tensors.iter().map(edge_of).collect()
}
