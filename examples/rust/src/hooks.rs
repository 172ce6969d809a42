//! Hooks: functions of the program that the engine calls, and handles that remove them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::fault::Outcome;
use crate::value::Value;

/// A function that a program can call.
pub type Callable = Rc<dyn Fn(&[Value]) -> Outcome<Value>>;

#[derive(Clone)]
struct Hook {
    /// Whether it is still there, shared by all copies.
    is_there: Rc<Cell<bool>>,
    /// The number of the output whose gradient it sees.
    nr: usize,
    call: Callable,
}

/// Hooks in the order in which they were registered. A clone shares them.
#[derive(Clone, Default)]
pub struct Hooks(Rc<RefCell<Vec<Hook>>>);

impl Hooks {
    pub fn add(&self, nr: usize, call: Callable) -> Handle {
        let is_there = Rc::new(Cell::new(true));
        self.0.borrow_mut().push(Hook { is_there: is_there.clone(), nr, call });
        Handle { is_there }
    }

    /// The hooks that are there now: one that runs may register others. Those of one tensor run
    /// one after the other, tensors in the order of their first hooks.
    pub fn list(&self) -> Vec<(usize, Callable)> {
        let own = self.0.borrow();
        let first = |nr: usize| own.iter().position(|hook| hook.nr == nr);
        let mut there: Vec<&Hook> = own.iter().filter(|hook| hook.is_there.get()).collect();
        there.sort_by_key(|hook| first(hook.nr));
        there.into_iter().map(|hook| (hook.nr, hook.call.clone())).collect()
    }

    /// The hooks on one output, as those of a tensor that is the only one.
    pub fn of_output(&self, nr: usize) -> Hooks {
        let own = self.0.borrow();
        let kept = own.iter().filter(|hook| hook.nr == nr);
        Hooks(Rc::new(RefCell::new(kept.map(|hook| Hook { nr: 0, ..hook.clone() }).collect())))
    }
}

/// What registering a hook returns.
pub struct Handle {
    is_there: Rc<Cell<bool>>,
}

impl Handle {
    pub fn remove(&self) {
        self.is_there.set(false);
    }
}
