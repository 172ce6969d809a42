//! Operations in place: what they may write to, and the histories that they leave.

use std::rc::Rc;

use crate::fault::{Outcome, lacks, runtime_error};
use crate::geometry::shown;
use crate::graph::{Geometry, Meta, Node, Work, check_creation, edge_of, grad_fn, set_history};
use crate::operation::{Operation, finished, is_recorded, prepared};
use crate::tensor::Tensor;

/// Run an operation in place: its output is written to the first input, which is returned.
pub fn apply_in_place(operation: Operation, inputs: &[&Tensor]) -> Outcome<Tensor> {
    let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    let target = &inputs[0];
    let recorded = is_recorded(&inputs);
    if recorded {
        check_writable(target)?;
    }
    check_overlap(target, &inputs[1..], operation.fills)?;
    let result = (operation.compute)(&inputs)?.swap_remove(0);
    check_fits(&result, target)?;
    let values = result.values();
    if !recorded || !target.dtype().is_float() {
        target.write(&values)?;
        return Ok(target.clone());
    }
    let (node, kept) = prepared(operation, &inputs, true)?;
    target.write(&values)?;
    if target.is_view() {
        rebase_view(target, finished(node, &kept, std::slice::from_ref(target)))?;
    } else {
        let node = finished(node, &kept, std::slice::from_ref(target));
        set_history(target, &node, 0);
    }
    Ok(target.clone())
}

/// Record a change of the input itself, which `change` does.
pub fn record_in_place(
    operation: Operation,
    target: &Tensor,
    change: impl FnOnce() -> Outcome<()>,
) -> Outcome<Tensor> {
    let inputs = std::slice::from_ref(target);
    if !is_recorded(inputs) {
        change()?;
        return Ok(target.clone());
    }
    check_writable(target)?;
    let (node, kept) = prepared(operation, inputs, true)?;
    change()?;
    set_history(target, &finished(node, &kept, inputs), 0);
    Ok(target.clone())
}

fn check_writable(target: &Tensor) -> Outcome<()> {
    let is_leaf = |tensor: &Tensor| tensor.autograd().node.is_none();
    let what = match target.base() {
        Some(base) => {
            check_creation(&target.autograd(), false)?;
            if target.requires_grad() && is_leaf(&base) { "a view of a leaf Variable" } else { "" }
        }
        None => "",
    };
    let what = match what {
        "" if target.requires_grad() && is_leaf(target) => "a leaf Variable",
        found => found,
    };
    match what {
        "" => Ok(()),
        what => Err(runtime_error(format!(
            "{what} that requires grad is being used in an in-place operation."
        ))),
    }
}

/// Raise where elements of the target share memory among each other, or partly with an operand.
fn check_overlap(target: &Tensor, others: &[Tensor], fills: bool) -> Outcome<()> {
    let layout = target.layout();
    let twice =
        layout.shape.iter().zip(&layout.strides).any(|(&size, &stride)| size > 1 && stride == 0);
    if twice && !fills {
        return Err(runtime_error(
            "unsupported operation: more than one element of the written-to tensor refers to a \
             single memory location. Please clone() the tensor before performing the operation.",
        ));
    }
    if let Some(other) = others.iter().find(|other| overlaps(other, target)) {
        // torch compares only what is dense in memory.
        if !other.is_dense() || !target.is_dense() {
            return Err(lacks("writing over elements that are being read"));
        }
        return Err(runtime_error(
            "unsupported operation: some elements of the input tensor and the written-to tensor \
             refer to a single memory location. Please clone() the tensor before performing the \
             operation.",
        ));
    }
    Ok(())
}

/// Whether two tensors share some elements, but at different positions.
fn overlaps(one: &Tensor, other: &Tensor) -> bool {
    if !one.shares_storage(other) {
        return false;
    }
    let (own, theirs) = (one.places(), other.places());
    own != theirs && own.iter().any(|place| theirs.contains(place))
}

fn check_fits(result: &Tensor, target: &Tensor) -> Outcome<()> {
    let (from, to) = (result.dtype(), target.dtype());
    if from.category() > to.category() {
        return Err(runtime_error(format!(
            "result type {} can't be cast to the desired output type {}",
            from.scalar_type(),
            to.scalar_type()
        )));
    }
    if result.shape() != target.shape() {
        return Err(runtime_error(format!(
            "output with shape {} doesn't match the broadcast shape {}",
            shown(&target.shape()),
            shown(&result.shape())
        )));
    }
    Ok(())
}

/// The history of a view's base after a write through the view.
fn rebase_view(target: &Tensor, written: Rc<Node>) -> Outcome<()> {
    let Some(base) = target.base() else {
        return Ok(());
    };
    let mut edges = vec![edge_of(&base)?];
    edges.extend(written.edges.iter().skip(1).cloned());
    let work = Work::CopySlices { base: Geometry::of(&base), view: Geometry::of(target), written };
    let node = Rc::new(Node::new("CopySlices", work, edges, vec![Meta::of(&base)]));
    set_history(&base, &node, 0);
    grad_fn(target).map(|_| ())
}
