//! The names that a program may use: functions of torch and methods of tensors, with their
//! parameters. Each file has the names of one subject.

mod activations;
pub mod attributes;
mod autograd;
mod copies;
mod factories;
mod functional;
mod in_place;
mod indices;
mod modes;
mod neural;
mod pointwise;
mod pooling;
mod queries;
mod reductions;
mod views;

pub use factories::python;

use crate::dtype::DType;
use crate::fault::{Outcome, lacks, type_error};
use crate::geometry::dimension;
use crate::in_place::apply_in_place;
use crate::pointwise::{UNARY, unary, unary_operation};
use crate::tensor::Tensor;
use crate::value::Value;

/// Where a name is found.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    Both,
    Torch,
    Tensor,
}

/// A name, its parameters, and what it does.
///
/// Parameters are words: `dim=None` is optional, `*shape` takes all further arguments, and those
/// behind a lone `*` are given by name only.
pub struct Entry {
    name: &'static str,
    found: Found,
    parameters: &'static str,
    call: fn(&Arguments) -> Outcome<Value>,
}

type Call = fn(&Arguments) -> Outcome<Value>;

const fn both(name: &'static str, parameters: &'static str, call: Call) -> Entry {
    Entry { name, found: Found::Both, parameters, call }
}

const fn function(name: &'static str, parameters: &'static str, call: Call) -> Entry {
    Entry { name, found: Found::Torch, parameters, call }
}

const fn method(name: &'static str, parameters: &'static str, call: Call) -> Entry {
    Entry { name, found: Found::Tensor, parameters, call }
}

const TABLES: &[&[Entry]] = &[
    pointwise::TABLE,
    activations::TABLE,
    reductions::TABLE,
    views::TABLE,
    copies::TABLE,
    factories::TABLE,
    autograd::TABLE,
    modes::TABLE,
    queries::TABLE,
    neural::TABLE,
    pooling::TABLE,
    functional::TABLE,
    in_place::TABLE,
    indices::TABLE,
];

fn entry(name: &str, not: Found) -> Option<&'static Entry> {
    let mut all = TABLES.iter().flat_map(|table| table.iter());
    all.find(|entry| entry.name == name && entry.found != not)
}

/// Arguments by name.
pub type Named = Vec<(String, Value)>;

/// Call a function of torch, by its name without `torch.`.
pub fn call_function(name: &str, values: Vec<Value>, named: Named) -> Outcome<Value> {
    let plain = match name.strip_prefix("special.") {
        Some("round") | None => name,
        Some(plain) => plain,
    };
    if let Some(entry) = entry(plain, Found::Tensor) {
        return (entry.call)(&Arguments::bound(entry, values, named)?);
    }
    match UNARY.iter().find(|row| row.name == plain) {
        Some(row) => {
            let arguments = Arguments::of(row.name, "input", values, named)?;
            unary(row.name, &arguments.tensor(0)?).map(Value::Tensor)
        }
        None => Err(lacks(format!("torch.{name}"))),
    }
}

pub fn has_function(name: &str) -> bool {
    entry(name, Found::Tensor).is_some() || UNARY.iter().any(|row| row.name == name)
}

/// Call a method of a tensor, which is the first of the values.
pub fn call_method(name: &str, values: Vec<Value>, named: Named) -> Outcome<Value> {
    if let Some(entry) = entry(name, Found::Torch) {
        return (entry.call)(&Arguments::bound(entry, values, named)?);
    }
    let stem = name.strip_suffix('_').unwrap_or(name);
    let Some(row) = UNARY.iter().find(|row| row.name == stem) else {
        return Err(lacks(format!("Tensor.{name}")));
    };
    let arguments = Arguments::of(row.name, "input", values, named)?;
    let x = arguments.tensor(0)?;
    let made =
        if stem == name { unary(stem, &x) } else { apply_in_place(unary_operation(stem)?, &[&x]) };
    made.map(Value::Tensor)
}

/// The arguments of a call, in the order of the parameters.
pub struct Arguments {
    pub name: &'static str,
    values: Vec<Value>,
    names: Vec<&'static str>,
    given: Vec<bool>,
}

impl Arguments {
    fn bound(entry: &Entry, values: Vec<Value>, named: Named) -> Outcome<Arguments> {
        Arguments::of(entry.name, entry.parameters, values, named)
    }

    fn of(
        name: &'static str,
        parameters: &'static str,
        values: Vec<Value>,
        named: Named,
    ) -> Outcome<Arguments> {
        let mut bound = Vec::new();
        let mut names = Vec::new();
        let mut is_given = Vec::new();
        let mut given = values.into_iter();
        let mut named = named;
        let mut by_name_only = false;
        for word in parameters.split(' ').filter(|word| !word.is_empty()) {
            let (parameter, otherwise) = match word.split_once('=') {
                Some((parameter, otherwise)) => (parameter, Some(otherwise)),
                None => (word, None),
            };
            if word == "*" {
                by_name_only = true;
                continue;
            }
            if let Some(rest) = parameter.strip_prefix('*') {
                let all: Vec<Value> = given.by_ref().collect();
                names.push(rest);
                is_given.push(true);
                bound.push(match named.iter().position(|(key, _)| key == rest) {
                    Some(at) if all.is_empty() => Value::tuple(vec![named.remove(at).1]),
                    _ => Value::tuple(all),
                });
                continue;
            }
            let positional = if by_name_only { None } else { given.next() };
            let mut explicit = true;
            let value = match positional {
                Some(value) => value,
                None => match named.iter().position(|(key, _)| key == parameter) {
                    Some(at) => named.remove(at).1,
                    None => {
                        explicit = false;
                        default(otherwise, name, parameter)?
                    }
                },
            };
            names.push(parameter);
            is_given.push(explicit);
            bound.push(value);
        }
        if let Some((key, _)) = named.first() {
            return Err(lacks(format!("{name} with {key}=")));
        }
        if given.next().is_some() {
            return Err(lacks(format!("{name} with so many arguments")));
        }
        Ok(Arguments { name, values: bound, names, given: is_given })
    }

    pub fn at(&self, i: usize) -> &Value {
        &self.values[i]
    }

    /// Whether the program gave an argument, be it None.
    pub fn is_given(&self, i: usize) -> bool {
        self.given[i]
    }

    fn wrong(&self, i: usize, wanted: &str) -> crate::fault::Fault {
        let (name, parameter) = (self.name, self.names[i]);
        lacks(format!(
            "{name} with a {} for {parameter}, where {wanted} is",
            self.values[i].type_name()
        ))
    }

    pub fn tensor(&self, i: usize) -> Outcome<Tensor> {
        match &self.values[i] {
            Value::Tensor(tensor) => Ok(tensor.clone()),
            other if i == 0 && self.names[0] == "input" => Err(type_error(format!(
                "{}(): argument 'input' (position 1) must be Tensor, not {}",
                self.name,
                other.type_name()
            ))),
            _ => Err(self.wrong(i, "a tensor")),
        }
    }

    /// A tensor, also of a Python number.
    pub fn operand(&self, i: usize) -> Outcome<Tensor> {
        match self.values[i].number() {
            Some((value, dtype)) => Ok(Tensor::number(value, dtype)),
            None => self.tensor(i),
        }
    }

    pub fn int(&self, i: usize) -> Outcome<i64> {
        match &self.values[i] {
            Value::Int(value) => Ok(*value),
            _ => Err(self.wrong(i, "an int")),
        }
    }

    pub fn float(&self, i: usize) -> Outcome<f64> {
        self.values[i].number().map(|(value, _)| value).ok_or_else(|| self.wrong(i, "a number"))
    }

    pub fn flag(&self, i: usize) -> Outcome<bool> {
        match &self.values[i] {
            Value::Bool(value) => Ok(*value),
            _ => Err(self.wrong(i, "a bool")),
        }
    }

    pub fn text(&self, i: usize) -> Outcome<String> {
        match &self.values[i] {
            Value::Str(value) => Ok(value.to_string()),
            _ => Err(self.wrong(i, "a string")),
        }
    }

    pub fn is_none(&self, i: usize) -> bool {
        matches!(self.values[i], Value::None)
    }

    pub fn dtype(&self, i: usize) -> Outcome<Option<DType>> {
        match &self.values[i] {
            Value::None => Ok(None),
            Value::DType(dtype) => Ok(Some(*dtype)),
            _ => Err(self.wrong(i, "a dtype")),
        }
    }

    /// Ints in a list or tuple, or as arguments of their own.
    pub fn ints(&self, i: usize) -> Outcome<Vec<i64>> {
        let mut items = self.values[i].items();
        if let Some([only]) = items.as_deref()
            && let Some(inner) = only.items()
        {
            items = Some(inner);
        }
        let items = items.unwrap_or_else(|| vec![self.values[i].clone()]);
        let ints = items.iter().map(|item| match item {
            Value::Int(value) => Ok(*value),
            _ => Err(self.wrong(i, "an int")),
        });
        ints.collect()
    }

    /// A dimension of a tensor, counted from the front.
    pub fn dim(&self, i: usize, count: usize) -> Outcome<usize> {
        dimension(self.int(i)?, count)
    }

    /// Tensors in a list or tuple, or one alone.
    pub fn tensors(&self, i: usize) -> Outcome<Vec<Tensor>> {
        let items = self.values[i].items().unwrap_or_else(|| vec![self.values[i].clone()]);
        let tensors = items.iter().map(|item| match item {
            Value::Tensor(tensor) => Ok(tensor.clone()),
            _ => Err(self.wrong(i, "tensors")),
        });
        tensors.collect()
    }
}

fn default(otherwise: Option<&str>, name: &str, parameter: &str) -> Outcome<Value> {
    match otherwise {
        None => Err(lacks(format!("{name} without {parameter}"))),
        Some("None") => Ok(Value::None),
        Some("True") => Ok(Value::Bool(true)),
        Some("False") => Ok(Value::Bool(false)),
        Some(text) => Ok(match text.parse::<i64>() {
            Ok(whole) => Value::Int(whole),
            Err(_) => text.parse().map(Value::Float).unwrap_or_else(|_| Value::str(text)),
        }),
    }
}
