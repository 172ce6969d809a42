//! A port of torch's autograd in Rust, for the conformance suite: JSON lines on standard input and
//! output, a program in and its trace out. docs/porting.md specifies the messages.

mod advanced;
mod binary;
mod copies;
mod dtype;
mod engine;
mod factories;
mod fault;
mod gathering;
mod geometry;
mod graph;
mod hooking;
mod hooks;
mod in_place;
mod indexing;
mod joining;
mod json;
mod library;
mod norms;
mod observe;
mod operation;
mod order;
mod pointwise;
mod pooling;
mod products;
mod program;
mod python;
mod reductions;
mod softmax;
mod state;
mod tensor;
mod value;
mod views;

use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::rc::Rc;
use std::thread;

use dtype::DType;
use fault::Fault;
use json::{Json, object};
use observe::{Observer, described};
use program::Scope;

const PROTOCOL: i64 = 1;

/// Long graphs are freed node by node, one call below the other.
const STACK: usize = 512 << 20;

fn start() -> Json {
    let levels = ["values", "graph", "memory", "diagnostics"];
    object([
        ("type", Json::from("ready")),
        ("protocol", Json::Int(PROTOCOL)),
        ("name", Json::from("rust-example")),
        ("version", Json::from(env!("CARGO_PKG_VERSION"))),
        ("device", Json::from("cpu")),
        ("levels", Json::Array(levels.into_iter().map(Json::from).collect())),
        ("saved", Json::Bool(true)),
    ])
}

fn run(request: &Json, id: Json) -> Json {
    let dtype = request.get("default_dtype").and_then(Json::as_str).unwrap_or("float32");
    let Some(default_dtype) = DType::named(dtype) else {
        return answer("unsupported", id, dtype);
    };
    state::reset(default_dtype);
    let scope = Rc::new(Scope::default());
    let mut observer = Observer::default();
    let statements = request.get("program").and_then(|program| program.get("statements"));
    let mut steps = Vec::new();
    let mut saved = request.get("saved").map(|_| Vec::new());
    for statement in statements.map(Json::items).unwrap_or_default() {
        let (step, goes_on) = traced(statement, &scope, &mut observer);
        steps.push(step);
        if let Some(saved) = &mut saved {
            saved.push(observer.saved());
        }
        if !goes_on {
            break;
        }
    }
    scope.clear();
    let (kind, steps) = (("type", Json::from("trace")), ("steps", Json::Array(steps)));
    match saved {
        None => object([kind, ("id", id), steps]),
        Some(saved) => object([kind, ("id", id), steps, ("saved", Json::Array(saved))]),
    }
}

/// One statement's step of the trace, and whether the port can go on.
fn traced(statement: &Json, scope: &Rc<Scope>, observer: &mut Observer) -> (Json, bool) {
    let made = program::run(statement, scope);
    let warnings = state::warnings().into_iter().map(|(category, message)| {
        object([("category", Json::from(category)), ("message", Json::from(message))])
    });
    let warnings = Json::Array(warnings.collect());
    let (changed, deleted) = observer.changes(scope.names());
    let mut step = vec![
        ("changed".to_string(), changed),
        ("deleted".to_string(), deleted),
        ("warnings".to_string(), warnings),
    ];
    let mut goes_on = true;
    match made {
        Ok(None) => {}
        Ok(Some(result)) => step.push(("result".to_string(), observer.value(&result, None))),
        Err(fault) => {
            goes_on = !matches!(fault, Fault::Lacks(_));
            step.push(("error".to_string(), described(&fault)));
        }
    }
    state::warnings();
    (Json::Object(step), goes_on)
}

fn answer(kind: &str, id: Json, reason: &str) -> Json {
    object([("type", Json::from(kind)), ("id", id), ("reason", Json::from(reason))])
}

/// The answer to a request; a panic is the port's own fault, and costs this program only.
fn answered(request: &Json) -> Json {
    if request.get("type").and_then(Json::as_str) == Some("start") {
        return start();
    }
    let id = request.get("id").cloned().unwrap_or(Json::Null);
    match catch_unwind(AssertUnwindSafe(|| run(request, id.clone()))) {
        Ok(trace) => trace,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            answer("failed", id, &text.unwrap_or_else(|| "a panic".to_string()))
        }
    }
}

fn serve() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let reply = match Json::parse(&line?) {
            Ok(request) if request.get("type").and_then(Json::as_str) == Some("stop") => break,
            Ok(request) => answered(&request),
            Err(reason) => answer("failed", Json::Null, &format!("not JSON: {reason}")),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let served = thread::Builder::new().stack_size(STACK).spawn(serve).map(|thread| thread.join());
    match served {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
