//! Operations: what they compute, what they save, and the gradients of their inputs. Applying
//! one records it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::fault::{Outcome, runtime_error};
use crate::graph::{Creation, Meta, Node, Saved, View, Work, edge_of};
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
    pub compute: Compute,
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

    /// The last input has no gradient after all, being a number.
    pub fn without_last(mut self) -> Operation {
        self.formulas.pop();
        self.skip()
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

pub fn is_recorded(inputs: &[Tensor]) -> bool {
    grad_mode() && inputs.iter().any(Tensor::requires_grad)
}

/// A node for an operation on inputs that are as they were before it.
pub fn prepared(
    operation: Operation,
    inputs: &[Tensor],
    in_place: bool,
) -> Outcome<(Node, Vec<Keep>)> {
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
pub fn finished(node: Node, kept: &[Keep], outputs: &[Tensor]) -> Rc<Node> {
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
