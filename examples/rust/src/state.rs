//! The state that a program can set: grad mode, the default dtype, warnings, numbers for names.

use std::cell::{Cell, RefCell};

use crate::dtype::DType;

thread_local! {
    static GRAD_MODE: Cell<bool> = const { Cell::new(true) };
    static DEFAULT_DTYPE: Cell<DType> = const { Cell::new(DType::Float32) };
    static ANOMALY: Cell<(bool, bool)> = const { Cell::new((false, true)) };
    static IDS: Cell<u64> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static WARNINGS: RefCell<Vec<(&'static str, String)>> = const { RefCell::new(Vec::new()) };
}

/// Begin a program.
pub fn reset(default_dtype: DType) {
    GRAD_MODE.set(true);
    ANOMALY.set((false, true));
    DEFAULT_DTYPE.set(default_dtype);
    DEPTH.set(0);
    warnings();
}

pub fn grad_mode() -> bool {
    GRAD_MODE.get()
}

pub fn set_grad_mode(mode: bool) {
    GRAD_MODE.set(mode);
}

/// Do something in a grad mode, and return to the former one.
pub fn in_grad_mode<T>(mode: bool, act: impl FnOnce() -> T) -> T {
    let before = GRAD_MODE.replace(mode);
    let result = act();
    GRAD_MODE.set(before);
    result
}

/// Whether anomaly mode is on, and whether it looks for NaN.
pub fn anomaly() -> (bool, bool) {
    ANOMALY.get()
}

pub fn set_anomaly(modes: (bool, bool)) {
    ANOMALY.set(modes);
}

pub fn default_dtype() -> DType {
    DEFAULT_DTYPE.get()
}

pub fn set_default_dtype(dtype: DType) {
    DEFAULT_DTYPE.set(dtype);
}

/// A number that no storage and no node had before.
pub fn next_id() -> u64 {
    IDS.set(IDS.get() + 1);
    IDS.get()
}

/// The deepest nesting of calls of a program's functions.
const DEEPEST: usize = 200;

/// Do something one call deeper; `None` where that is too deep.
pub fn deeper<T>(act: impl FnOnce() -> T) -> Option<T> {
    if DEPTH.get() >= DEEPEST {
        return None;
    }
    DEPTH.set(DEPTH.get() + 1);
    let result = act();
    DEPTH.set(DEPTH.get() - 1);
    Some(result)
}

pub fn warn(category: &'static str, message: impl Into<String>) {
    WARNINGS.with_borrow_mut(|all| all.push((category, message.into())));
}

/// Take the warnings since the last time.
pub fn warnings() -> Vec<(&'static str, String)> {
    WARNINGS.take()
}
