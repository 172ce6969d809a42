//! Hooks: functions of the program that the engine calls, and handles that remove them.

use std::cell::RefCell;
use std::rc::Rc;

use crate::fault::Outcome;
use crate::state::next_id;
use crate::value::Value;

/// A function that a program can call.
pub type Callable = Rc<dyn Fn(&[Value]) -> Outcome<Value>>;

struct Hook {
    id: u64,
    /// The number of the output whose gradient it sees.
    nr: usize,
    call: Callable,
}

/// Hooks in the order in which they were registered. A clone shares them.
#[derive(Clone, Default)]
pub struct Hooks(Rc<RefCell<Vec<Hook>>>);

impl Hooks {
    pub fn add(&self, nr: usize, call: Callable) -> Handle {
        let id = next_id();
        self.0.borrow_mut().push(Hook { id, nr, call });
        Handle {
            hooks: self.clone(),
            id,
        }
    }

    /// The hooks that are there now: one that runs may register others.
    pub fn list(&self) -> Vec<(usize, Callable)> {
        self.0
            .borrow()
            .iter()
            .map(|hook| (hook.nr, hook.call.clone()))
            .collect()
    }

    /// Copies of the hooks on one output, as those of a tensor that has only one. A handle of the
    /// former hooks removes the copy, too: both have one number.
    pub fn of_output(&self, nr: usize) -> Hooks {
        let own = self.0.borrow();
        let kept = own.iter().filter(|hook| hook.nr == nr);
        let copies = kept.map(|hook| Hook {
            id: hook.id,
            nr: 0,
            call: hook.call.clone(),
        });
        Hooks(Rc::new(RefCell::new(copies.collect())))
    }

    fn remove(&self, id: u64) {
        self.0.borrow_mut().retain(|hook| hook.id != id);
    }
}

/// What registering a hook returns.
pub struct Handle {
    hooks: Hooks,
    id: u64,
}

impl Handle {
    pub fn remove(&self) {
        self.hooks.remove(self.id);
    }
}
