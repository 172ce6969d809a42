// Moments of a trace: the tensors that its names hold before and after a statement.

// No name of a program has a space.
const VALUE = "its value";

// For each statement of a trace: its step, and the moments around it; `after` has the statement's
// value too, `held` has names only.
function momentsOf(trace) {
  const state = new Map();
  const found = new Map();
  let before = momentOf(state);
  for (const [statement, step] of stepsOf(trace)) {
    advance(state, step);
    const held = momentOf(state);
    found.set(statement, { line: step.line, step, before, held, after: withValue(held, step.result) });
    before = held;
  }
  return found;
}

// The tensors by the name that holds each, `xs[0]` for a part of a container.
function momentOf(state) {
  const tensors = new Map();
  for (const [name, observation] of state) collect(name, observation, tensors);
  return tensors;
}

function collect(name, observation, into) {
  if (observation?.kind === "tensor") into.set(name, observation);
  const { items } = observation ?? {};
  if (Array.isArray(items)) items.forEach((item, at) => collect(`${name}[${at}]`, item, into));
  else if (items && typeof items === "object") for (const [key, item] of Object.entries(items)) collect(`${name}['${key}']`, item, into);
}

// The value of an expression is no name's: it is drawn where no name holds a tensor like it.
function withValue(moment, result) {
  const parts = new Map();
  collect(VALUE, result, parts);
  if (!parts.size) return moment;
  const known = new Set([...moment.values()].map((one) => JSON.stringify(one)));
  const fresh = [...parts].filter(([, one]) => !known.has(JSON.stringify(one)));
  return fresh.length ? new Map([...moment, ...fresh]) : moment;
}

const listOf = (value) => (Array.isArray(value) ? value : null);
const tupleText = (sizes) => (listOf(sizes) ? `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})` : "?");

// What an error says of a saved tensor that was written since: { what, saved, now }.
const STALE = /modified by an inplace operation: \[(?<type>[^\]]*\]?)\](?:, which is (?<producer>output \d+ of [^,]+),)? is at version (?<now>\d+); expected version (?<saved>\d+)/;

function staleOf(step) {
  const found = STALE.exec(step?.error?.message ?? "")?.groups;
  return found ? { what: found.producer ?? found.type, saved: Number(found.saved), now: Number(found.now) } : null;
}

const staleText = ({ what, saved, now }) => `saved tensor (${what}): saved at version ${saved}, now ${now}: stale`;
