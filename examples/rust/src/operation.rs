//! Operations: what they compute, what they save, and the gradients of their inputs. Applying
//! one records it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::fault::{Outcome, runtime_error};
use crate::geometry::shown;
use crate::graph::{
    Creation, Geometry, Meta, Node, Saved, View, Work, check_creation, edge_of, grad_fn,
    set_history,
};
use crate::state::grad_mode;
use crate::tensor::Tensor;

/// A tensor that an operation saves.
#[derive(Clone, Copy, PartialEq)]
pub enum Keep {
    Input(usize),
    Output(usize),
}

type Compute = Box<dyn Fn(&[Tensor]) -> Outcome<Vec<Tensor>>>;
type Formula = Box<dyn Fn(&Tensor, &Context) -> Outcome<Option<Tensor>>>;
type Formulas = Box<dyn Fn(&Context) -> Outcome<Vec<Option<Tensor>>>>;
type Saves = Box<dyn Fn(&[bool]) -> Vec<Keep>>;

pub struct Operation {
    name: String,
    compute: Compute,
    saves: Saves,
    /// One for each input; none for what has no gradient.
    formulas: Vec<Option<Formula>>,
    /// In place of them, for operations with several outputs.
    together: Option<Formulas>,
    /// Whether it may write to elements that share memory.
    pub fills: bool,
}

impl Operation {
    /// `name` is that of the node without `Backward`, such as `Mul0`.
    pub fn new(name: &str, compute: impl Fn(&[Tensor]) -> Outcome<Tensor> + 'static) -> Operation {
        Operation::many(name, move |inputs| Ok(vec![compute(inputs)?]))
    }

    /// An operation with several outputs.
    pub fn many(
        name: &str,
        compute: impl Fn(&[Tensor]) -> Outcome<Vec<Tensor>> + 'static,
    ) -> Operation {
        let (stem, number) = name.split_at(name.len() - 1);
        Operation {
            name: format!("{stem}Backward{number}"),
            compute: Box::new(compute),
            saves: Box::new(|_| vec![]),
            formulas: vec![],
            together: None,
            fills: false,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn named(mut self, name: &str) -> Operation {
        self.name = name.to_string();
        self
    }

    pub fn filling(self) -> Operation {
        self.filling_if(true)
    }

    pub fn filling_if(mut self, fills: bool) -> Operation {
        self.fills = fills;
        self
    }

    pub fn saving(self, kept: &'static [Keep]) -> Operation {
        self.saving_by(move |_| kept.to_vec())
    }

    /// Save what depends on the inputs that need a gradient.
    pub fn saving_by(mut self, saves: impl Fn(&[bool]) -> Vec<Keep> + 'static) -> Operation {
        self.saves = Box::new(saves);
        self
    }

    /// Save each of two factors if the other one needs a gradient.
    pub fn saving_crosswise(self) -> Operation {
        self.saving_by(|needs| {
            let other = |i: usize| needs[1 - i];
            (0..2).filter(|&i| other(i)).map(Keep::Input).collect()
        })
    }

    /// The gradient of the next input.
    pub fn to(mut self, formula: impl Fn(&Tensor, &Context) -> Outcome<Tensor> + 'static) -> Self {
        self.formulas.push(Some(Box::new(move |g, c| formula(g, c).map(Some))));
        self
    }

    /// The gradient of the next input, where there is one.
    pub fn maybe_to(
        mut self,
        formula: impl Fn(&Tensor, &Context) -> Outcome<Option<Tensor>> + 'static,
    ) -> Self {
        self.formulas.push(Some(Box::new(formula)));
        self
    }

    /// The next input has no gradient.
    pub fn skip(mut self) -> Operation {
        self.formulas.push(None);
        self
    }

    pub fn is_differentiable(&self, i: usize) -> bool {
        self.together.is_some() || self.formulas.get(i).is_some_and(Option::is_some)
    }

    /// The gradients of all inputs.
    pub fn all_to(
        mut self,
        formulas: impl Fn(&Context) -> Outcome<Vec<Option<Tensor>>> + 'static,
    ) -> Operation {
        self.together = Some(Box::new(formulas));
        self
    }
}

/// What a formula sees: the gradients of the outputs, and what was saved.
pub struct Context<'a> {
    node: &'a Rc<Node>,
    needs: &'a [bool],
    pub inputs: &'a [Meta],
    saved: &'a [(Keep, Saved)],
    pub grads: &'a [Option<Tensor>],
}

impl Context<'_> {
    fn kept(&self, wanted: Keep) -> Outcome<Tensor> {
        let found = self.saved.iter().find(|(keep, _)| *keep == wanted);
        let (_, saved) = found.ok_or_else(|| runtime_error("a tensor was not saved"))?;
        saved.unpack(self.node)
    }

    pub fn input(&self, i: usize) -> Outcome<Tensor> {
        self.kept(Keep::Input(i))
    }

    pub fn output(&self, i: usize) -> Outcome<Tensor> {
        self.kept(Keep::Output(i))
    }

    pub fn shape(&self, i: usize) -> &[usize] {
        &self.inputs[i].shape
    }

    pub fn needs(&self, i: usize) -> bool {
        self.needs[i]
    }
}

/// The gradients of a node's inputs, as far as they are needed.
pub fn gradients(
    node: &Rc<Node>,
    grads: &[Option<Tensor>],
    needs: &[bool],
) -> Outcome<Vec<Option<Tensor>>> {
    let Work::Operation { operation, inputs, saved } = &node.work else {
        return Ok(vec![]);
    };
    if grads.iter().all(Option::is_none) {
        return Ok(vec![None; inputs.len()]);
    }
    let saved = saved.borrow();
    // torch looks at all that was saved, whatever is needed of it.
    for (_, one) in saved.iter() {
        one.unpack(node)?;
    }
    let context = Context { node, needs, inputs, saved: &saved, grads };
    if let Some(together) = &operation.together {
        return together(&context);
    }
    let Some(grad) = grads[0].as_ref() else {
        return Ok(vec![None; inputs.len()]);
    };
    let each = operation.formulas.iter().enumerate().map(|(i, formula)| match formula {
        Some(formula) if context.needs(i) => formula(grad, &context),
        _ => Ok(None),
    });
    each.collect()
}

fn is_recorded(inputs: &[Tensor]) -> bool {
    grad_mode() && inputs.iter().any(Tensor::requires_grad)
}

/// A node for an operation on inputs that are as they were before it.
fn prepared(operation: Operation, inputs: &[Tensor], in_place: bool) -> Outcome<(Node, Vec<Keep>)> {
    let mut edges = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        edges.push(if operation.is_differentiable(i) { edge_of(input)? } else { None });
    }
    let needs: Vec<bool> = edges.iter().map(Option::is_some).collect();
    let kept = (operation.saves)(&needs);
    let mut saved = Vec::new();
    for &keep in &kept {
        match keep {
            // What is about to be overwritten is copied.
            Keep::Input(0) if in_place => {
                let copy = crate::copies::clone(&inputs[0])?;
                saved.push((keep, Saved::input(&copy)));
            }
            Keep::Input(i) => saved.push((keep, Saved::input(&inputs[i]))),
            Keep::Output(_) => {}
        }
    }
    let name = operation.name.clone();
    let inputs = inputs.iter().map(Meta::of).collect();
    let work = Work::Operation { operation, inputs, saved: RefCell::new(saved) };
    Ok((Node::new(&name, work, edges, vec![]), kept))
}

/// Complete a node with the outputs that it saves.
fn finished(node: Node, kept: &[Keep], outputs: &[Tensor]) -> Rc<Node> {
    *node.outputs.borrow_mut() = outputs.iter().map(Meta::of).collect();
    if let Work::Operation { saved, .. } = &node.work {
        for &keep in kept {
            if let Keep::Output(nr) = keep {
                saved.borrow_mut().push((keep, Saved::output(&outputs[nr], nr)));
            }
        }
    }
    Rc::new(node)
}

/// Run an operation, and record it if an input requires grad.
pub fn apply_many(operation: Operation, inputs: &[Tensor]) -> Outcome<Vec<Tensor>> {
    let outputs = (operation.compute)(inputs)?;
    if is_recorded(inputs) && outputs.iter().any(|output| output.dtype().is_float()) {
        let (node, kept) = prepared(operation, inputs, false)?;
        let node = finished(node, &kept, &outputs);
        for (nr, output) in outputs.iter().enumerate() {
            if output.dtype().is_float() {
                let mut autograd = output.autograd_mut();
                (autograd.node, autograd.output_nr) = (Some(node.clone()), nr);
            }
        }
    }
    Ok(outputs)
}

pub fn apply(operation: Operation, inputs: &[&Tensor]) -> Outcome<Tensor> {
    let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
    apply_many(operation, &inputs).map(|mut outputs| outputs.swap_remove(0))
}

/// As `apply`, for an output that is a view of the input.
pub fn apply_view(operation: Operation, source: &Tensor) -> Outcome<Tensor> {
    let view = apply(operation, &[source])?;
    mark_view(&view, source, if grad_mode() { Creation::Default } else { Creation::NoGrad });
    Ok(view)
}

/// As `apply_view`, for several views.
pub fn apply_views(operation: Operation, source: &Tensor) -> Outcome<Vec<Tensor>> {
    let views = apply_many(operation, std::slice::from_ref(source))?;
    for view in &views {
        mark_view(view, source, Creation::MultiOutput);
    }
    Ok(views)
}

fn mark_view(view: &Tensor, source: &Tensor, creation: Creation) {
    let above = source.autograd();
    let (base, creation) = match &above.view {
        None => (source.clone(), creation),
        Some(own) if creation == Creation::Default => (own.base.clone(), own.creation),
        Some(own) => (own.base.clone(), creation),
    };
    drop(above);
    let version = view.version();
    view.autograd_mut().view = Some(View { base, version, creation });
}

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
    if others.iter().any(|other| overlaps(other, target)) {
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
