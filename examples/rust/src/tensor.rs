//! Tensors: strided views on storages, with version counters and what autograd knows of them.
//!
//! A `Tensor` is a counted reference, as in torch, where the count can be seen: a gradient that
//! nothing else refers to becomes a leaf's `.grad` without a copy.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::{Rc, Weak};

use crate::dtype::DType;
use crate::fault::{Outcome, runtime_error};
use crate::geometry::{check_size, contiguous_strides, is_contiguous, is_dense, places, product};
use crate::graph::{Node, View};
use crate::hooks::Hooks;
use crate::state::next_id;

/// A buffer of elements, each a float that its dtype can hold.
pub struct Storage {
    pub id: u64,
    pub data: RefCell<Vec<f64>>,
}

/// Where a tensor's elements are.
#[derive(Clone)]
pub struct Layout {
    pub storage: Rc<Storage>,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    pub offset: usize,
}

/// What autograd knows of a tensor.
#[derive(Default)]
pub struct Autograd {
    /// The flag of a leaf.
    pub requires_grad: bool,
    pub node: Option<Rc<Node>>,
    pub output_nr: usize,
    pub grad: Option<Tensor>,
    pub retains_grad: bool,
    pub view: Option<View>,
    pub accumulator: Weak<Node>,
    /// The hooks of a leaf; those of other tensors are their node's.
    pub hooks: Hooks,
    /// Hooks that run when a gradient has been accumulated.
    pub accumulated: Hooks,
    /// The node whose hooks keep the gradient for `retain_grad()`.
    pub retained_by: Weak<Node>,
}

pub struct Body {
    layout: RefCell<Layout>,
    counter: RefCell<Rc<Cell<usize>>>,
    autograd: RefCell<Autograd>,
    /// Whether it stands for a Python number, which yields to tensors in promotion.
    pub is_number: bool,
}

#[derive(Clone)]
pub struct Tensor(Rc<Body>);

impl Tensor {
    fn with_layout(layout: Layout, counter: Rc<Cell<usize>>, is_number: bool) -> Tensor {
        Tensor(Rc::new(Body {
            layout: RefCell::new(layout),
            counter: RefCell::new(counter),
            autograd: RefCell::default(),
            is_number,
        }))
    }

    /// A new tensor with these elements, in row-major order, and these strides.
    pub fn strided(
        shape: &[usize],
        strides: Vec<usize>,
        dtype: DType,
        values: &[f64],
    ) -> Outcome<Tensor> {
        check_size(shape)?;
        let places = places(shape, &strides, 0);
        let size = places.iter().max().map_or(0, |last| last + 1);
        let mut data = vec![0.0; size];
        for (place, &value) in places.into_iter().zip(values) {
            data[place] = dtype.stored(value)?;
        }
        let storage = Rc::new(Storage { id: next_id(), data: RefCell::new(data) });
        let layout = Layout { storage, dtype, shape: shape.to_vec(), strides, offset: 0 };
        Ok(Tensor::with_layout(layout, Rc::default(), false))
    }

    pub fn new(shape: &[usize], dtype: DType, values: &[f64]) -> Outcome<Tensor> {
        Tensor::strided(shape, contiguous_strides(shape), dtype, values)
    }

    pub fn full(shape: &[usize], dtype: DType, value: f64) -> Outcome<Tensor> {
        check_size(shape)?;
        Tensor::new(shape, dtype, &vec![value; product(shape)])
    }

    /// A Python number. A float is kept as it is until the result is rounded.
    pub fn number(value: f64, dtype: DType) -> Tensor {
        let storage = Rc::new(Storage { id: next_id(), data: RefCell::new(vec![value]) });
        let layout = Layout { storage, dtype, shape: vec![], strides: vec![], offset: 0 };
        Tensor::with_layout(layout, Rc::default(), true)
    }

    /// Another tensor on the same storage, with the same version counter and no history.
    pub fn window(&self, shape: &[usize], strides: &[usize], offset: usize) -> Tensor {
        let layout = Layout {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset,
            ..self.layout().clone()
        };
        Tensor::with_layout(layout, self.0.counter.borrow().clone(), self.0.is_number)
    }

    /// The same elements and version counter, without history (`detach`).
    pub fn detached(&self) -> Tensor {
        let counter = self.0.counter.borrow().clone();
        Tensor::with_layout(self.layout().clone(), counter, self.0.is_number)
    }

    /// The same elements with a version counter of its own (`.data`).
    pub fn data(&self) -> Tensor {
        Tensor::with_layout(self.layout().clone(), Rc::default(), false)
    }

    /// Take another tensor's storage and geometry (`x.data = y`).
    pub fn set_data(&self, other: &Tensor) {
        let layout = other.layout().clone();
        if layout.dtype != self.dtype() {
            // Its gradients have another dtype from here on.
            self.autograd_mut().accumulator = Weak::new();
        }
        *self.0.layout.borrow_mut() = layout;
    }

    pub fn layout(&self) -> Ref<'_, Layout> {
        self.0.layout.borrow()
    }

    pub fn autograd(&self) -> Ref<'_, Autograd> {
        self.0.autograd.borrow()
    }

    pub fn autograd_mut(&self) -> RefMut<'_, Autograd> {
        self.0.autograd.borrow_mut()
    }

    pub fn shape(&self) -> Vec<usize> {
        self.layout().shape.clone()
    }

    pub fn strides(&self) -> Vec<usize> {
        self.layout().strides.clone()
    }

    pub fn offset(&self) -> usize {
        self.layout().offset
    }

    pub fn dtype(&self) -> DType {
        self.layout().dtype
    }

    pub fn dim(&self) -> usize {
        self.layout().shape.len()
    }

    pub fn count(&self) -> usize {
        product(&self.layout().shape)
    }

    pub fn is_number(&self) -> bool {
        self.0.is_number
    }

    pub fn is(&self, other: &Tensor) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub fn references(&self) -> usize {
        Rc::strong_count(&self.0)
    }

    pub fn shares_storage(&self, other: &Tensor) -> bool {
        Rc::ptr_eq(&self.layout().storage, &other.layout().storage)
    }

    pub fn version(&self) -> usize {
        self.0.counter.borrow().get()
    }

    pub fn bump(&self) {
        let counter = self.0.counter.borrow();
        counter.set(counter.get() + 1);
    }

    pub fn places(&self) -> Vec<usize> {
        let layout = self.layout();
        places(&layout.shape, &layout.strides, layout.offset)
    }

    /// The elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        let layout = self.layout();
        let data = layout.storage.data.borrow();
        places(&layout.shape, &layout.strides, layout.offset).into_iter().map(|p| data[p]).collect()
    }

    /// Write elements, given in row-major order.
    pub fn write(&self, values: &[f64]) -> Outcome<()> {
        self.store(values)?;
        self.bump();
        Ok(())
    }

    /// As `write`, of a tensor that is being made: its version stays.
    pub fn store(&self, values: &[f64]) -> Outcome<()> {
        let layout = self.layout();
        let mut data = layout.storage.data.borrow_mut();
        for (place, &value) in self.places().into_iter().zip(values) {
            data[place] = layout.dtype.stored(value)?;
        }
        Ok(())
    }

    pub fn is_contiguous(&self) -> bool {
        let layout = self.layout();
        is_contiguous(&layout.shape, &layout.strides)
    }

    pub fn is_dense(&self) -> bool {
        let layout = self.layout();
        is_dense(&layout.shape, &layout.strides)
    }

    pub fn is_view(&self) -> bool {
        self.autograd().view.is_some()
    }

    pub fn grad(&self) -> Option<Tensor> {
        self.autograd().grad.clone()
    }

    /// The only element.
    pub fn item(&self) -> Outcome<f64> {
        match self.values()[..] {
            [value] => Ok(value),
            ref values => Err(runtime_error(format!(
                "a Tensor with {} elements cannot be converted to Scalar",
                values.len()
            ))),
        }
    }

    /// The base of a view.
    pub fn base(&self) -> Option<Tensor> {
        self.autograd().view.as_ref().map(|view| view.base.clone())
    }

    pub fn downgrade(&self) -> Weak<Body> {
        Rc::downgrade(&self.0)
    }

    pub fn upgraded(body: &Weak<Body>) -> Option<Tensor> {
        body.upgrade().map(Tensor)
    }

    pub fn is_body(&self, body: &Weak<Body>) -> bool {
        std::ptr::eq(Rc::as_ptr(&self.0), body.as_ptr())
    }

    /// Whether a gradient is wanted; a view wants one if its base does.
    pub fn requires_grad(&self) -> bool {
        let own = self.autograd().requires_grad || self.autograd().node.is_some();
        own || self.base().is_some_and(|base| base.requires_grad())
    }
}
