//! Values of a program: what Python's names are bound to.

use std::cell::RefCell;
use std::rc::Rc;

use crate::dtype::DType;
use crate::fault::{Fault, Outcome, lacks, raised, type_error};
use crate::graph::Node;
use crate::hooks::{Callable, Handle};
use crate::tensor::Tensor;

#[derive(Clone)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Rc<str>),
    Tensor(Tensor),
    DType(DType),
    List(Rc<RefCell<Vec<Value>>>),
    Tuple(Rc<Tuple>),
    Node(Rc<Node>),
    Function(Callable),
    Handle(Rc<Handle>),
    Manager(Rc<Manager>),
    Slice(Rc<[Value; 3]>),
    Ellipsis,
    /// Something of torch's that is only passed on, by its name.
    Named(Rc<str>),
    /// A module of torch, by its path.
    Module(Rc<str>),
}

/// A tuple, or what torch makes of one: `torch.Size`, a tuple whose items have names.
pub struct Tuple {
    pub items: Vec<Value>,
    pub names: &'static [&'static str],
    pub is_size: bool,
}

/// A context manager: what entering and leaving do.
pub struct Manager {
    pub enter: Box<dyn Fn()>,
    pub exit: Box<dyn Fn()>,
}

impl Value {
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::named_tuple(items, &[])
    }

    pub fn named_tuple(items: Vec<Value>, names: &'static [&'static str]) -> Value {
        Value::Tuple(Rc::new(Tuple { items, names, is_size: false }))
    }

    pub fn tensors(tensors: Vec<Tensor>) -> Value {
        Value::tuple(tensors.into_iter().map(Value::Tensor).collect())
    }

    pub fn size(shape: &[usize]) -> Value {
        let items = shape.iter().map(|&size| Value::Int(size as i64)).collect();
        Value::Tuple(Rc::new(Tuple { items, names: &[], is_size: true }))
    }

    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(RefCell::new(items)))
    }

    pub fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    /// The items of a list or tuple.
    pub fn items(&self) -> Option<Vec<Value>> {
        match self {
            Value::List(items) => Some(items.borrow().clone()),
            Value::Tuple(tuple) => Some(tuple.items.clone()),
            _ => None,
        }
    }

    /// Whether it is a list, or holds it.
    pub fn holds(&self, list: &Rc<RefCell<Vec<Value>>>) -> bool {
        match self {
            Value::List(own) if Rc::ptr_eq(own, list) => true,
            other => other.items().unwrap_or_default().iter().any(|item| item.holds(list)),
        }
    }

    /// The name of its class in Python.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::Tensor(_) => "Tensor",
            Value::DType(_) => "torch.dtype",
            Value::List(_) => "list",
            Value::Tuple(tuple) if tuple.is_size => "torch.Size",
            Value::Tuple(_) => "tuple",
            Value::Function(_) => "function",
            Value::Slice(_) => "slice",
            Value::Ellipsis => "ellipsis",
            _ => "object",
        }
    }

    /// A Python number as a float, with the dtype that a tensor of it has.
    pub fn number(&self) -> Option<(f64, DType)> {
        match self {
            Value::Bool(value) => Some((f64::from(u8::from(*value)), DType::Bool)),
            Value::Int(value) => Some((*value as f64, DType::Int64)),
            Value::Float(value) => Some((*value, crate::state::default_dtype())),
            _ => None,
        }
    }

    pub fn is(&self, other: &Value) -> Outcome<bool> {
        Ok(match (self, other) {
            (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Tensor(a), Value::Tensor(b)) => a.is(b),
            (Value::DType(a), Value::DType(b)) => a == b,
            (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
            (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b),
            (Value::Node(a), Value::Node(b)) => Rc::ptr_eq(a, b),
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
            (
                Value::Int(_) | Value::Float(_) | Value::Str(_),
                Value::Int(_) | Value::Float(_) | Value::Str(_),
            ) => {
                return Err(lacks("the identity of numbers and strings"));
            }
            _ => false,
        })
    }

    /// Python's `==`, of what is no tensor.
    pub fn equals(&self, other: &Value) -> Outcome<bool> {
        if let (Some(mine), Some(theirs)) = (self.number(), other.number()) {
            return Ok(mine.0 == theirs.0);
        }
        match (self, other) {
            (Value::Str(a), Value::Str(b)) => Ok(a == b),
            (Value::List(_), Value::List(_)) | (Value::Tuple(_), Value::Tuple(_)) => {
                let (mine, theirs) =
                    (self.items().unwrap_or_default(), other.items().unwrap_or_default());
                if mine.len() != theirs.len() {
                    return Ok(false);
                }
                for (a, b) in mine.iter().zip(&theirs) {
                    if matches!(a, Value::Tensor(_)) || matches!(b, Value::Tensor(_)) {
                        return Err(lacks("== of containers of tensors"));
                    }
                    if !a.equals(b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => self.is(other),
        }
    }

    pub fn truth(&self) -> Outcome<bool> {
        match self {
            Value::None => Ok(false),
            Value::Str(text) => Ok(!text.is_empty()),
            Value::Tensor(tensor) => match tensor.values()[..] {
                [value] => Ok(value != 0.0),
                [] => Err(crate::fault::runtime_error(
                    "Boolean value of Tensor with no values is ambiguous",
                )),
                _ => Err(crate::fault::runtime_error(
                    "Boolean value of Tensor with more than one value is ambiguous",
                )),
            },
            other => match (other.number(), other.items()) {
                (Some((value, _)), _) => Ok(value != 0.0),
                (_, Some(items)) => Ok(!items.is_empty()),
                _ => Ok(true),
            },
        }
    }

    pub fn call(&self, arguments: &[Value]) -> Outcome<Value> {
        match self {
            Value::Function(call) => call(arguments),
            Value::Named(name) => Err(lacks(format!("calling {name}"))),
            other => Err(not_callable(other)),
        }
    }
}

pub fn not_callable(value: &Value) -> Fault {
    type_error(format!("'{}' object is not callable", value.type_name()))
}

pub fn no_attribute(owner: &Value, name: &str) -> Fault {
    raised("AttributeError", format!("'{}' object has no attribute '{name}'", owner.type_name()))
}
