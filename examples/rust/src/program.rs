//! The interpreter of programs in the neutral form: steps, their arguments, names.

use std::cell::RefCell;
use std::rc::Rc;

use crate::dtype::DType;
use crate::fault::{Fault, Outcome, lacks, raised, type_error, value_error};
use crate::json::Json;
use crate::library::{self, attributes};
use crate::python;
use crate::state::deeper;
use crate::value::Value;

/// Names in the order in which they were bound, and what they are bound to. A function's scope
/// reads from the one around it.
#[derive(Default)]
pub struct Scope {
    names: RefCell<Vec<(String, Value)>>,
    outer: Option<Rc<Scope>>,
}

impl Scope {
    pub fn names(&self) -> Vec<(String, Value)> {
        self.names.borrow().clone()
    }

    fn get(&self, name: &str) -> Option<Value> {
        let names = self.names.borrow();
        let own = names.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        own.or_else(|| self.outer.as_ref().and_then(|outer| outer.get(name)))
    }

    fn set(&self, name: &str, value: Value) {
        let mut names = self.names.borrow_mut();
        match names.iter_mut().find(|(own, _)| own == name) {
            Some((_, bound)) => *bound = value,
            None => names.push((name.to_string(), value)),
        }
    }

    /// Unbind a name, and say whether it was bound.
    fn delete(&self, name: &str) -> bool {
        let mut names = self.names.borrow_mut();
        let before = names.len();
        names.retain(|(own, _)| own != name);
        names.len() < before
    }

    /// Forget all names, and with them what refers to this scope.
    pub fn clear(&self) {
        self.names.borrow_mut().clear();
    }

    fn forget_temporaries(&self) {
        self.names.borrow_mut().retain(|(name, _)| !name.starts_with('%'));
    }
}

fn unbound(name: &str) -> Fault {
    raised("NameError", format!("name '{name}' is not defined"))
}

/// Run a statement, and return its value, if it is an expression.
pub fn run(statement: &Json, scope: &Rc<Scope>) -> Outcome<Option<Value>> {
    let made = (|| {
        steps(statement, "steps", scope)?;
        statement.get("result").map(|form| value(form, scope)).transpose()
    })();
    scope.forget_temporaries();
    made
}

fn steps(owner: &Json, key: &str, scope: &Rc<Scope>) -> Outcome<()> {
    let steps = owner.get(key).map(Json::items).unwrap_or_default();
    steps.iter().try_for_each(|one| step(one, scope))
}

fn step(step: &Json, scope: &Rc<Scope>) -> Outcome<()> {
    let op = step.get("op").and_then(Json::as_str).unwrap_or_default();
    let arguments = step.get("args").map(Json::items).unwrap_or_default();
    if op == "delete" {
        let name = arguments.first().and_then(Json::as_str).unwrap_or_default();
        return if scope.delete(name) { Ok(()) } else { Err(unbound(name)) };
    }
    let values = arguments.iter().map(|form| value(form, scope)).collect::<Outcome<Vec<_>>>()?;
    let named = step.get("kwargs").map(Json::members).unwrap_or_default();
    let named = named
        .iter()
        .map(|(key, form)| Ok((key.clone(), value(form, scope)?)))
        .collect::<Outcome<Vec<_>>>()?;
    let to = step.get("to");
    if op == "with" {
        return within(step, values.into_iter().next(), to, scope);
    }
    let made = operate(op, values, named)?;
    match to {
        Some(Json::Str(name)) => scope.set(name, made),
        Some(Json::Array(names)) => unpack(&made, names, scope)?,
        _ => {}
    }
    Ok(())
}

fn unpack(made: &Value, names: &[Json], scope: &Rc<Scope>) -> Outcome<()> {
    let items = match made {
        Value::Tensor(x) if x.dim() > 0 => {
            crate::views::unbind(x, 0)?.into_iter().map(Value::Tensor).collect()
        }
        other => other.items().ok_or_else(|| {
            type_error(format!("cannot unpack non-iterable {} object", other.type_name()))
        })?,
    };
    let (got, wanted) = (items.len(), names.len());
    if got < wanted {
        return Err(value_error(format!(
            "not enough values to unpack (expected {wanted}, got {got})"
        )));
    }
    if got > wanted {
        return Err(value_error(format!(
            "too many values to unpack (expected {wanted}, got {got})"
        )));
    }
    for (name, item) in names.iter().zip(items) {
        scope.set(name.as_str().unwrap_or_default(), item);
    }
    Ok(())
}

/// Do the body of `with`, and leave the context whatever happens.
fn within(
    step: &Json,
    manager: Option<Value>,
    to: Option<&Json>,
    scope: &Rc<Scope>,
) -> Outcome<()> {
    let Some(Value::Manager(manager)) = manager else {
        return Err(lacks("this context manager"));
    };
    (manager.enter)();
    if let Some(name) = to.and_then(Json::as_str) {
        scope.set(name, Value::None);
    }
    let done = steps(step, "body", scope);
    (manager.exit)();
    done
}

/// The value of an argument.
fn value(form: &Json, scope: &Rc<Scope>) -> Outcome<Value> {
    let (kind, content) = match form {
        Json::Null => return Ok(Value::None),
        Json::Bool(flag) => return Ok(Value::Bool(*flag)),
        Json::Str(text) => return Ok(Value::str(text)),
        Json::Object(members) => match members.first() {
            Some((kind, content)) => (kind.as_str(), content),
            None => return Err(lacks("a value without a kind")),
        },
        _ => return Err(lacks("a value without a kind")),
    };
    let all = || content.items().iter().map(|item| value(item, scope)).collect::<Outcome<Vec<_>>>();
    let text = content.as_str().unwrap_or_default();
    match kind {
        "ref" => scope.get(text).ok_or_else(|| unbound(text)),
        "int" => number(content, &|leaf| match leaf {
            Json::Int(value) => Some(Value::Int(*value)),
            Json::Str(text) => text.parse().ok().map(Value::Int),
            _ => None,
        }),
        "float" => number(content, &|leaf| match leaf {
            Json::Int(value) => Some(Value::Float(*value as f64)),
            Json::Float(value) => Some(Value::Float(*value)),
            Json::Str(text) => text.parse().ok().map(Value::Float),
            _ => None,
        }),
        "list" => all().map(Value::list),
        "tuple" => all().map(Value::tuple),
        "slice" => match <[Value; 3]>::try_from(all()?) {
            Ok(parts) => Ok(Value::Slice(parts.into())),
            Err(_) => Err(lacks("a slice of other than three parts")),
        },
        "ellipsis" => Ok(Value::Ellipsis),
        "torch" => of_torch(text),
        "function" => Ok(function(content, scope)),
        other => Err(lacks(format!("a value of kind {other}"))),
    }
}

/// A number, or nested lists of them.
fn number(content: &Json, read: &dyn Fn(&Json) -> Option<Value>) -> Outcome<Value> {
    match content {
        Json::Array(items) => items
            .iter()
            .map(|item| number(item, read))
            .collect::<Outcome<Vec<_>>>()
            .map(Value::list),
        leaf => read(leaf).ok_or_else(|| lacks(format!("the number {leaf}"))),
    }
}

/// Modules of torch that a program may bind to a name, which is not observed then.
const MODULES: &[&str] = &[
    "nn",
    "nn.functional",
    "autograd",
    "autograd.forward_ad",
    "autograd.functional",
    "autograd.graph",
    "linalg",
    "optim",
    "optim.lr_scheduler",
    "special",
];

/// Something of torch's that is no call.
pub fn of_torch(path: &str) -> Outcome<Value> {
    if let Some(dtype) = DType::named(path) {
        return Ok(Value::DType(dtype));
    }
    if library::has_function(path) {
        let name = path.to_string();
        return Ok(Value::Function(Rc::new(move |values| {
            library::call_function(&name, values.to_vec(), vec![])
        })));
    }
    match path {
        _ if MODULES.contains(&path) => Ok(Value::Module(path.into())),
        "contiguous_format" | "preserve_format" => Ok(Value::Named(path.into())),
        _ => Err(lacks(format!("torch.{path}"))),
    }
}

/// A function of the program: names that it binds are its own.
fn function(form: &Json, scope: &Rc<Scope>) -> Value {
    let (form, outer) = (Rc::new(form.clone()), scope.clone());
    Value::Function(Rc::new(move |values| {
        let called = deeper(|| call(&form, &outer, values));
        called.unwrap_or_else(|| Err(lacks("so deep a recursion")))
    }))
}

fn call(form: &Json, outer: &Rc<Scope>, values: &[Value]) -> Outcome<Value> {
    let parameters = form.get("parameters").map(Json::items).unwrap_or_default();
    let rest = form.get("rest").and_then(Json::as_str);
    let (wanted, got) = (parameters.len(), values.len());
    if got < wanted || (got > wanted && rest.is_none()) {
        return Err(lacks(format!("a call of a function of {wanted} with {got} arguments")));
    }
    let scope = Rc::new(Scope { names: RefCell::default(), outer: Some(outer.clone()) });
    for (name, value) in parameters.iter().zip(values) {
        scope.set(name.as_str().unwrap_or_default(), value.clone());
    }
    if let Some(rest) = rest {
        scope.set(rest, Value::tuple(values[wanted..].to_vec()));
    }
    steps(form, "steps", &scope)?;
    form.get("result").map_or(Ok(Value::None), |result| value(result, &scope))
}

fn operate(op: &str, values: Vec<Value>, named: library::Named) -> Outcome<Value> {
    let (kind, name) = op.split_once('.').unwrap_or((op, ""));
    let first = || values.first().cloned().unwrap_or(Value::None);
    match kind {
        "bind" | "unpack" => Ok(first()),
        "torch" => library::call_function(name, values, named),
        "method" => method(name, values, named),
        "call" if named.is_empty() => call_value(&values),
        "get" => attributes::get(&first(), name),
        "set" => match &values[..] {
            [owner, value] => attributes::set(owner, name, value).map(|()| Value::None),
            _ => Err(lacks(op)),
        },
        "delete" => attributes::delete(&first(), name).map(|()| Value::None),
        "operator" if named.is_empty() => python::operator(name, &values),
        "builtin" if named.is_empty() => python::builtin(name, &values),
        _ => Err(lacks(format!("the operation {op}"))),
    }
}

fn call_value(values: &[Value]) -> Outcome<Value> {
    match values.split_first() {
        Some((function, rest)) => function.call(rest),
        None => Err(lacks("a call of nothing")),
    }
}

fn method(name: &str, values: Vec<Value>, named: library::Named) -> Outcome<Value> {
    let Some((owner, rest)) = values.split_first() else {
        return Err(lacks(format!("the method {name}")));
    };
    match (owner, name, rest) {
        (Value::Tensor(_), ..) => library::call_method(name, values, named),
        (Value::Module(path), ..) => {
            library::call_function(&format!("{path}.{name}"), rest.to_vec(), named)
        }
        (Value::List(items), "append", [item]) => {
            if item.holds(items) {
                return Err(lacks("a list that holds itself"));
            }
            items.borrow_mut().push(item.clone());
            Ok(Value::None)
        }
        (Value::List(items), "clear", []) => {
            items.borrow_mut().clear();
            Ok(Value::None)
        }
        (Value::Handle(handle), "remove", []) => {
            handle.remove();
            Ok(Value::None)
        }
        (Value::Node(node), "name", []) => Ok(Value::str(&node.full_name())),
        (Value::Node(node), "register_hook", [Value::Function(call)]) => {
            Ok(Value::Handle(Rc::new(node.post_hooks.add(0, call.clone()))))
        }
        (Value::Node(node), "register_prehook", [Value::Function(call)]) => {
            Ok(Value::Handle(Rc::new(node.pre_hooks.add(0, call.clone()))))
        }
        _ => Err(lacks(format!("the method {name} of a {}", owner.type_name()))),
    }
}
