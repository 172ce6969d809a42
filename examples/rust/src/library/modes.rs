//! Context managers: grad mode and anomaly mode.

use std::cell::Cell;
use std::rc::Rc;

use super::{Arguments, Entry, function};
use crate::fault::{Outcome, type_error};
use crate::state::{anomaly, grad_mode, set_anomaly, set_grad_mode, warn};
use crate::value::{Manager, Value};

fn managed(enter: impl Fn() + 'static, exit: impl Fn() + 'static) -> Value {
    Value::Manager(Rc::new(Manager { enter: Box::new(enter), exit: Box::new(exit) }))
}

/// A block in a grad mode. One block entered twice forgets the mode before the first entry.
fn block(mode: bool) -> Value {
    let before = Rc::new(Cell::new(grad_mode()));
    let after = before.clone();
    let enter = move || {
        before.set(grad_mode());
        set_grad_mode(mode);
    };
    managed(enter, move || set_grad_mode(after.get()))
}

/// Sets the mode at once; as a context manager it returns to the former one.
fn set_mode(a: &Arguments) -> Outcome<Value> {
    let Value::Bool(mode) = *a.at(0) else {
        return Err(type_error(format!(
            "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {}",
            a.at(0).type_name()
        )));
    };
    let before = grad_mode();
    set_grad_mode(mode);
    Ok(managed(move || set_grad_mode(mode), move || set_grad_mode(before)))
}

/// Sets anomaly mode at once; leaving a block returns to the former one.
fn set_anomaly_mode(a: &Arguments) -> Outcome<Value> {
    let before = anomaly();
    set_anomaly((a.flag(0)?, a.flag(1)?));
    Ok(managed(|| {}, move || set_anomaly(before)))
}

/// A block in anomaly mode, which warns when it is made.
fn anomaly_block(a: &Arguments) -> Outcome<Value> {
    warn(
        "UserWarning",
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only \
         be enabled for debugging.",
    );
    let (before, checks) = (anomaly(), a.flag(0)?);
    Ok(managed(move || set_anomaly((true, checks)), move || set_anomaly(before)))
}

pub const TABLE: &[Entry] = &[
    function("no_grad", "", |_| Ok(block(false))),
    function("autograd.no_grad", "", |_| Ok(block(false))),
    function("enable_grad", "", |_| Ok(block(true))),
    function("autograd.enable_grad", "", |_| Ok(block(true))),
    function("set_grad_enabled", "mode", set_mode),
    function("autograd.set_grad_enabled", "mode", set_mode),
    function("autograd.set_detect_anomaly", "mode check_nan=True", set_anomaly_mode),
    function("autograd.detect_anomaly", "check_nan=True", anomaly_block),
    function("is_anomaly_enabled", "", |_| Ok(Value::Bool(anomaly().0))),
    function("is_anomaly_check_nan_enabled", "", |_| Ok(Value::Bool(anomaly().1))),
];
