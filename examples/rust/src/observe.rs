//! Observations: what can be seen of the values that a program has bound.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::fault::{Fault, Outcome};
use crate::graph::{Edge, Node, Saved, Work, grad_fn};
use crate::json::{Json, float, object};
use crate::library::python;
use crate::operation::Keep;
use crate::tensor::Tensor;
use crate::value::Value;

/// The nodes of a graph that are told of.
const NODES: usize = 64;

/// Observer of one program; it remembers what it saw of each name.
#[derive(Default)]
pub struct Observer {
    seen: HashMap<String, Json>,
    grads: HashMap<String, Tensor>,
    live: Vec<(String, Value)>,
}

impl Observer {
    /// The names whose observation is another than before, and those that are gone.
    pub fn changes(&mut self, names: Vec<(String, Value)>) -> (Json, Json) {
        self.live = names;
        self.live.retain(|(_, value)| !matches!(value, Value::Module(_)));
        let mut changed = Vec::new();
        let mut seen = HashMap::new();
        for (name, value) in self.live.clone() {
            let now = self.value(&value, Some(&name));
            if self.seen.get(&name) != Some(&now) {
                changed.push((name.clone(), now.clone()));
            }
            seen.insert(name, now);
        }
        let gone = self.seen.keys().filter(|name| !seen.contains_key(*name));
        let deleted = Json::Array(gone.map(|name| Json::from(name.as_str())).collect());
        self.seen = seen;
        (Json::Object(changed), deleted)
    }

    pub fn value(&mut self, value: &Value, name: Option<&str>) -> Json {
        let plain =
            |kind: &str, value: Json| object([("kind", Json::from(kind)), ("value", value)]);
        match value {
            Value::None => object([("kind", Json::from("none"))]),
            Value::Tensor(tensor) => self.tensor(tensor, name),
            Value::Bool(value) => plain("bool", Json::Bool(*value)),
            Value::Int(value) => plain("int", Json::Int(*value)),
            Value::Float(value) => plain("float", float(*value)),
            Value::Str(value) => plain("str", Json::from(&**value)),
            Value::DType(dtype) => plain("dtype", Json::from(dtype.name())),
            Value::Node(node) => {
                object([("kind", Json::from("node")), ("name", Json::from(node.name.as_str()))])
            }
            Value::Tuple(tuple) if tuple.is_size => {
                let sizes = tuple.items.iter().map(|size| match size {
                    Value::Int(size) => Json::Int(*size),
                    _ => Json::Null,
                });
                plain("size", Json::Array(sizes.collect()))
            }
            Value::List(_) | Value::Tuple(_) => {
                let kind = if matches!(value, Value::List(_)) { "list" } else { "tuple" };
                let items = value.items().unwrap_or_default().into_iter().enumerate();
                let seen = items.map(|(i, item)| {
                    let part = name.map(|name| format!("{name}[{i}]"));
                    self.value(&item, part.as_deref())
                });
                let items = Json::Array(seen.collect());
                object([("kind", Json::from(kind)), ("items", items)])
            }
            _ => object([("kind", Json::from("object")), ("type", Json::from("object"))]),
        }
    }

    fn tensor(&mut self, tensor: &Tensor, name: Option<&str>) -> Json {
        let mut fields = vec![("kind".to_string(), Json::from("tensor"))];
        let mut tell = |name: &str, value: Json| fields.push((name.to_string(), value));
        for (name, value) in content(tensor) {
            tell(name, value);
        }
        tell("grad", self.grad(tensor, name));
        tell("requires_grad", Json::Bool(tensor.requires_grad()));
        let node = grad_fn(tensor);
        tell("is_leaf", field(&node, |node| Json::Bool(node.is_none())));
        tell("has_grad_fn", field(&node, |node| Json::Bool(node.is_some())));
        tell("retains_grad", Json::Bool(tensor.autograd().retains_grad));
        tell("output_nr", Json::from(tensor.autograd().output_nr));
        tell("offset", Json::from(tensor.offset()));
        tell("version", Json::from(tensor.version()));
        tell("is_view", Json::Bool(tensor.is_view()));
        tell("storage", Json::Int(tensor.layout().storage.id as i64));
        tell(
            "grad_fn",
            field(&node, |node| {
                node.as_ref().map_or(Json::Null, |node| Json::from(node.name.as_str()))
            }),
        );
        tell("graph", field(&node, |node| Json::Array(self.graph(node.as_ref()))));
        Json::Object(fields)
    }

    fn grad(&mut self, tensor: &Tensor, name: Option<&str>) -> Json {
        let grad = tensor.grad();
        let mut same = false;
        if let Some(name) = name {
            let before = self.grads.remove(name);
            if let Some(grad) = &grad {
                same = before.is_some_and(|before| before.is(grad));
                self.grads.insert(name.to_string(), grad.clone());
            }
        }
        let Some(grad) = grad else { return Json::Null };
        let mut fields: Vec<(String, Json)> =
            content(&grad).into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        fields.push(("same".to_string(), Json::Bool(same)));
        Json::Object(fields)
    }

    /// What the nodes of each live tensor's graph saved, by their numbers, for drawings.
    pub fn saved(&self) -> Json {
        let mut found = Vec::new();
        for (name, value) in &self.live {
            saved_below(name, value, &mut found);
        }
        Json::Object(found)
    }

    /// The nodes below a gradient function in preorder, each with its edges.
    fn graph(&self, root: Option<&Rc<Node>>) -> Vec<Json> {
        let order = preorder(root);
        let numbers: HashMap<u64, usize> =
            order.iter().enumerate().map(|(number, node)| (node.id, number)).collect();
        let edge = |edge: &Option<Edge>| match edge {
            None => "-".to_string(),
            Some(edge) => match numbers.get(&edge.node.id) {
                Some(&number) if number < NODES && edge.nr > 0 => format!("#{number}:{}", edge.nr),
                Some(&number) if number < NODES => format!("#{number}"),
                _ => "...".to_string(),
            },
        };
        let line = |node: &Rc<Node>| match &node.work {
            Work::Accumulate(leaf) => {
                format!("AccumulateGrad {}", self.name_of(leaf)).trim_end().to_string()
            }
            _ => {
                let edges: Vec<String> = node.shown_edges().iter().map(edge).collect();
                format!("{}({})", node.name, edges.join(", "))
            }
        };
        let mut lines: Vec<Json> =
            order.iter().take(NODES).map(|node| Json::Str(line(node))).collect();
        if order.len() > NODES {
            lines.push(Json::from("..."));
        }
        lines
    }

    fn name_of(&self, leaf: &Tensor) -> &str {
        let named = |value: &Value| matches!(value, Value::Tensor(tensor) if tensor.is(leaf));
        self.live.iter().find(|(_, value)| named(value)).map_or("", |(name, _)| name)
    }
}

/// The nodes below a gradient function in preorder, one more than are told of.
fn preorder(root: Option<&Rc<Node>>) -> Vec<Rc<Node>> {
    let mut order: Vec<Rc<Node>> = Vec::new();
    let mut known: HashSet<u64> = HashSet::new();
    let mut open: Vec<Rc<Node>> = root.into_iter().cloned().collect();
    while let Some(node) = open.pop() {
        if order.len() > NODES {
            break;
        }
        if known.insert(node.id) {
            open.extend(node.shown_edges().iter().rev().flatten().map(|edge| edge.node.clone()));
            order.push(node);
        }
    }
    order
}

/// What the graph of a value saved, and of the parts of a container.
fn saved_below(name: &str, value: &Value, found: &mut Vec<(String, Json)>) {
    match value {
        Value::Tensor(tensor) => {
            let Ok(root) = grad_fn(tensor) else { return };
            let order = preorder(root.as_ref());
            let numbered = order.iter().take(NODES).enumerate();
            let nodes: Vec<(String, Json)> = numbered
                .filter_map(|(number, node)| Some((number.to_string(), saved_by(node)?)))
                .collect();
            if !nodes.is_empty() {
                found.push((name.to_string(), Json::Object(nodes)));
            }
        }
        Value::List(_) | Value::Tuple(_) => {
            for (i, item) in value.items().unwrap_or_default().into_iter().enumerate() {
                saved_below(&format!("{name}[{i}]"), &item, found);
            }
        }
        _ => {}
    }
}

/// A row for each tensor that a node saved, null where they are freed; None if it saves none.
fn saved_by(node: &Node) -> Option<Json> {
    let Work::Operation { saved, .. } = &node.work else { return None };
    let saved = saved.borrow();
    let row = |(keep, one): &(Keep, Saved)| {
        let (storage, then, now) = one.place()?;
        let what = match keep {
            Keep::Input(i) => format!("input {i}"),
            Keep::Output(nr) => format!("output {nr}"),
        };
        let numbers = [Json::Int(storage as i64), Json::from(then), Json::from(now)];
        Some(Json::Array([Json::Str(what)].into_iter().chain(numbers).collect()))
    };
    let rows: Option<Vec<Json>> = saved.iter().map(row).collect();
    (!saved.is_empty()).then(|| rows.map_or(Json::Null, Json::Array))
}

/// The fields that a tensor and a gradient have in common.
fn content(tensor: &Tensor) -> [(&'static str, Json); 4] {
    let dtype = tensor.dtype();
    let elements = tensor.values().into_iter().map(|value| match python(dtype, value) {
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => Json::Int(value),
        _ => float(value),
    });
    [
        ("shape", Json::from(&tensor.shape()[..])),
        ("dtype", Json::from(dtype.name())),
        ("values", Json::Array(elements.collect())),
        ("strides", Json::from(&tensor.strides()[..])),
    ]
}

/// A field that may raise when it is read.
fn field(read: &Outcome<Option<Rc<Node>>>, tell: impl FnOnce(&Option<Rc<Node>>) -> Json) -> Json {
    match read {
        Ok(node) => tell(node),
        Err(fault) => object([("error", described(fault))]),
    }
}

/// An error as a trace has it.
pub fn described(fault: &Fault) -> Json {
    match fault {
        Fault::Raised { class, message } => {
            object([("type", Json::from(*class)), ("message", Json::from(message.as_str()))])
        }
        Fault::Lacks(what) => object([
            ("type", Json::from("NotImplementedError")),
            ("lacks", Json::from(what.as_str())),
        ]),
    }
}
