//! Failures of a program: exceptions that torch raises too, and what this port lacks.

/// Why a step was not done.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A Python exception, by the name of its class.
    Raised { class: &'static str, message: String },
    /// The program asks for something that this port does not support.
    Lacks(String),
}

pub type Outcome<T> = Result<T, Fault>;

pub fn raised(class: &'static str, message: impl Into<String>) -> Fault {
    let message = message.into();
    Fault::Raised { class, message }
}

pub fn runtime_error(message: impl Into<String>) -> Fault {
    raised("RuntimeError", message)
}

pub fn type_error(message: impl Into<String>) -> Fault {
    raised("TypeError", message)
}

pub fn value_error(message: impl Into<String>) -> Fault {
    raised("ValueError", message)
}

pub fn index_error(message: impl Into<String>) -> Fault {
    raised("IndexError", message)
}

pub fn lacks(what: impl Into<String>) -> Fault {
    Fault::Lacks(what.into())
}
