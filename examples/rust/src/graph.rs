//! The graph: nodes that record how a tensor was computed, and the tensors that they save.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::dtype::DType;
use crate::fault::{Outcome, runtime_error};
use crate::geometry::shown;
use crate::hooks::Hooks;
use crate::operation::{Keep, Operation};
use crate::state::{anomaly, next_id};
use crate::tensor::{Autograd, Body, Tensor};

/// The shape and dtype of a tensor that a node has seen.
#[derive(Clone)]
pub struct Meta {
    pub shape: Vec<usize>,
    pub dtype: DType,
}

impl Meta {
    pub fn of(tensor: &Tensor) -> Meta {
        Meta { shape: tensor.shape(), dtype: tensor.dtype() }
    }
}

/// An output of a node, to which a gradient goes.
#[derive(Clone)]
pub struct Edge {
    pub node: Rc<Node>,
    pub nr: usize,
}

/// What a node does with a gradient.
pub enum Work {
    /// Adds it to a leaf's `.grad`.
    Accumulate(Tensor),
    /// Computes the gradients of an operation's inputs.
    Operation { operation: Operation, inputs: Vec<Meta>, saved: RefCell<Vec<(Keep, Saved)>> },
    /// Passes the part that was written through a view to the node of the write.
    CopySlices { base: Geometry, view: Geometry, written: Rc<Node> },
}

#[derive(Clone)]
pub struct Geometry {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    pub offset: usize,
}

impl Geometry {
    pub fn of(tensor: &Tensor) -> Geometry {
        let layout = tensor.layout();
        Geometry {
            shape: layout.shape.clone(),
            strides: layout.strides.clone(),
            offset: layout.offset,
        }
    }
}

pub struct Node {
    /// Its place in the order of recording; the engine runs later nodes first.
    pub order: u64,
    pub id: u64,
    pub name: String,
    pub work: Work,
    pub edges: Vec<Option<Edge>>,
    pub outputs: RefCell<Vec<Meta>>,
    /// Hooks on the tensors that it made.
    pub tensor_hooks: Hooks,
    pub pre_hooks: Hooks,
    pub post_hooks: Hooks,
    /// The tensors with `retain_grad()`, by the number of the output.
    pub retained: RefCell<Vec<(usize, Weak<Body>)>>,
    pub released: Cell<bool>,
    /// Whether it was recorded in anomaly mode.
    pub is_traced: bool,
    /// The node in whose backward pass it was recorded, in anomaly mode.
    pub induced_by: Option<Rc<Node>>,
}

thread_local! {
    static RUNNING: RefCell<Vec<Rc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Do something for a node whose gradients are being computed.
pub fn running<T>(node: &Rc<Node>, act: impl FnOnce() -> T) -> T {
    RUNNING.with_borrow_mut(|nodes| nodes.push(node.clone()));
    let result = act();
    RUNNING.with_borrow_mut(|nodes| nodes.pop());
    result
}

impl Node {
    pub fn new(name: &str, work: Work, edges: Vec<Option<Edge>>, outputs: Vec<Meta>) -> Node {
        let id = next_id();
        let is_traced = anomaly().0;
        let accumulates = matches!(work, Work::Accumulate(_));
        Node {
            order: if accumulates { u64::MAX } else { id },
            id,
            name: name.to_string(),
            work,
            edges,
            outputs: RefCell::new(outputs),
            tensor_hooks: Hooks::default(),
            pre_hooks: Hooks::default(),
            post_hooks: Hooks::default(),
            retained: RefCell::default(),
            released: Cell::new(false),
            is_traced,
            induced_by: RUNNING.with_borrow(|nodes| nodes.last().filter(|_| is_traced).cloned()),
        }
    }

    /// Its name in messages, which is that of the operation.
    pub fn short_name(&self) -> String {
        match self.name.strip_suffix("Backward0") {
            Some(stem) => stem.to_string(),
            None if self.name.contains("Backward") && !self.name.ends_with("Backwards") => {
                self.name.replace("Backward", "")
            }
            None => self.full_name(),
        }
    }

    /// What its method `name()` returns: nodes that are written by hand have a namespace.
    pub fn full_name(&self) -> String {
        match self.name.as_str() {
            "AccumulateGrad" | "CopySlices" | "CopyBackwards" => {
                format!("torch::autograd::{}", self.name)
            }
            name => name.to_string(),
        }
    }

    /// The edges that a program sees: what has no gradient, such as a mask, has none.
    pub fn shown_edges(&self) -> Vec<Option<Edge>> {
        let is_shown = |i: &usize| match &self.work {
            Work::Operation { operation, .. } => operation.is_differentiable(*i),
            _ => true,
        };
        let shown = (0..self.edges.len()).filter(is_shown);
        shown.map(|i| self.edges[i].clone()).collect()
    }

    /// Free the saved tensors.
    pub fn release(&self) {
        self.released.set(true);
        match &self.work {
            Work::Accumulate(_) => {}
            Work::Operation { saved, .. } => {
                saved.borrow_mut().iter_mut().for_each(|(_, saved)| saved.data = None);
            }
            Work::CopySlices { written, .. } => written.release(),
        }
    }
}

/// A saved tensor, with the version that it had then.
pub struct Saved {
    data: Option<Tensor>,
    version: usize,
    /// An output is saved without its history, which would be this node again.
    output_nr: Option<usize>,
    had_history: bool,
}

impl Saved {
    pub fn input(tensor: &Tensor) -> Saved {
        let had_history = tensor.autograd().node.is_some();
        let version = tensor.version();
        Saved { version, data: Some(tensor.clone()), output_nr: None, had_history }
    }

    pub fn output(tensor: &Tensor, nr: usize) -> Saved {
        if !tensor.dtype().is_float() {
            return Saved::input(tensor);
        }
        let data = Some(tensor.detached());
        Saved { version: tensor.version(), data, output_nr: Some(nr), had_history: true }
    }

    /// Its storage, the version that was saved and the one of now; None where it is freed.
    pub fn place(&self) -> Option<(u64, usize, usize)> {
        let data = self.data.as_ref()?;
        Some((data.layout().storage.id, self.version, data.version()))
    }

    /// The tensor, unless it was freed or written to; `node` is the one that saved it.
    pub fn unpack(&self, node: &Rc<Node>) -> Outcome<Tensor> {
        let Some(data) = &self.data else {
            return Err(runtime_error(
                "Trying to backward through the graph a second time (or directly access saved \
                 tensors after they have already been freed). Saved intermediate values of the \
                 graph are freed when you call .backward() or autograd.grad(). Specify \
                 retain_graph=True if you need to backward through the graph a second time or if \
                 you need to access saved tensors after calling backward.",
            ));
        };
        let maker = match self.output_nr {
            Some(nr) => Some((node.clone(), nr)),
            None => grad_fn(data)?.map(|maker| (maker, data.autograd().output_nr)),
        };
        if self.had_history && maker.is_none() {
            return Err(runtime_error(
                "Trying to use a saved tensor that has been detached in-place, i.e. with \
                 .detach_().This is not supported, please use out-of-place `.detach()` instead",
            ));
        }
        if data.version() != self.version {
            return Err(runtime_error(self.modified(data, maker)));
        }
        let Some(nr) = self.output_nr else {
            return Ok(data.clone());
        };
        let again = data.detached();
        let mut autograd = again.autograd_mut();
        (autograd.node, autograd.output_nr) = (Some(node.clone()), nr);
        drop(autograd);
        Ok(again)
    }

    fn modified(&self, data: &Tensor, maker: Option<(Rc<Node>, usize)>) -> String {
        let made_by = maker
            .map(|(maker, nr)| format!(", which is output {nr} of {},", maker.short_name()))
            .unwrap_or_default();
        let hint = if anomaly().0 {
            "the backtrace further above shows the operation that failed to compute its gradient. \
             The variable in question was changed in there or anywhere later. Good luck!"
        } else {
            "enable anomaly detection to find the operation that failed to compute its gradient, \
             with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        };
        format!(
            "one of the variables needed for gradient computation has been modified by an inplace \
             operation: [{} {}]{made_by} is at version {}; expected version {} instead. \
             Hint: {hint}",
            data.dtype().legacy_name(),
            shown(&data.shape()),
            data.version(),
            self.version,
        )
    }
}

/// How a view was made, where that forbids to write through it with grad mode on.
#[derive(Clone, Copy, PartialEq)]
pub enum Creation {
    Default,
    NoGrad,
    MultiOutput,
}

/// What a view knows of its base.
pub struct View {
    pub base: Tensor,
    /// The version that its history belongs to.
    pub version: usize,
    pub creation: Creation,
}

/// The node that gradients of a tensor go to, with its output's number.
pub fn edge_of(tensor: &Tensor) -> Outcome<Option<Edge>> {
    if let Some(node) = grad_fn(tensor)? {
        return Ok(Some(Edge { node, nr: tensor.autograd().output_nr }));
    }
    Ok(accumulator(tensor).map(|node| Edge { node, nr: 0 }))
}

/// The node that accumulates a leaf's gradient, one as long as something refers to it.
pub fn accumulator(tensor: &Tensor) -> Option<Rc<Node>> {
    if !tensor.autograd().requires_grad {
        return None;
    }
    if let Some(node) = tensor.autograd().accumulator.upgrade() {
        return Some(node);
    }
    let work = Work::Accumulate(tensor.clone());
    let node = Rc::new(Node::new("AccumulateGrad", work, vec![], vec![Meta::of(tensor)]));
    tensor.autograd_mut().accumulator = Rc::downgrade(&node);
    Some(node)
}

/// The gradient function. A view's is made anew after its base was written to: it is a view of
/// what the base is now.
pub fn grad_fn(tensor: &Tensor) -> Outcome<Option<Rc<Node>>> {
    let autograd = tensor.autograd();
    let Some(view) = &autograd.view else {
        return Ok(autograd.node.clone());
    };
    let has_history = autograd.node.is_some() || view.base.requires_grad();
    if !has_history || view.version == tensor.version() {
        return Ok(autograd.node.clone());
    }
    check_creation(&autograd, true)?;
    let base = view.base.clone();
    drop(autograd);
    let node = crate::views::strided_node(&base, tensor)?;
    set_history(tensor, &node, 0);
    Ok(Some(node))
}

/// Raise where a view may not be written to, or, `indirect`, its base.
pub fn check_creation(autograd: &Autograd, indirect: bool) -> Outcome<()> {
    let creation = autograd.view.as_ref().map_or(Creation::Default, |view| view.creation);
    if creation == Creation::Default {
        return Ok(());
    }
    let modified =
        if indirect { "its base or another view of its base has been" } else { "is being" };
    let head = match &autograd.node {
        Some(node) if creation == Creation::MultiOutput => format!(
            "Output {} of {} is a view and {modified} modified inplace.",
            autograd.output_nr,
            node.short_name()
        ),
        node => {
            let of_view = node.as_ref().map_or("A view was created in".to_string(), |node| {
                let nr = autograd.output_nr;
                let name = node.short_name();
                format!("Output {nr} of {name} is a view of a view which was created in")
            });
            format!(
                "{of_view} no_grad mode and {modified} modified inplace with grad mode enabled."
            )
        }
    };
    let reason = match creation {
        Creation::MultiOutput => {
            "This view is the output of a function that returns multiple views. Such functions do \
             not allow the output views to be modified inplace. You should replace the inplace \
             operation by an out-of-place one."
        }
        _ => {
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can \
             clarify your code by moving both the view and the inplace either both inside the \
             no_grad block (if you don't want the inplace to be tracked) or both outside (if you \
             want the inplace to be tracked)."
        }
    };
    Err(runtime_error(format!("{head} {reason}")))
}

/// Replace a tensor's history. Its `retain_grad()` moves to the new node; its hooks stay.
pub fn set_history(tensor: &Tensor, node: &Rc<Node>, nr: usize) {
    let retained = tensor.autograd().retains_grad;
    let version = tensor.version();
    let mut autograd = tensor.autograd_mut();
    if let Some(before) = autograd.retained_by.upgrade() {
        before.retained.borrow_mut().retain(|(_, kept)| !tensor.is_body(kept));
    }
    if retained {
        node.retained.borrow_mut().push((nr, tensor.downgrade()));
        autograd.retained_by = Rc::downgrade(node);
    }
    (autograd.node, autograd.output_nr) = (Some(node.clone()), nr);
    autograd.hooks = Hooks::default();
    if let Some(view) = &mut autograd.view {
        view.version = version;
    }
}
