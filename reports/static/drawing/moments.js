// Moments of a trace: the tensors that its names hold before and after a statement.

// No name of a program has a space.
const VALUE = "its value";

// For each statement of a trace: its step, the tensors of its names before it (`before`) and after
// it (`held`), those in its value, and the saved tensors at both moments, where they are recorded.
function momentsOf(trace) {
  const state = new Map();
  const found = new Map();
  let before = momentOf(state);
  let savedBefore = null;
  for (const [number, [statement, step]] of stepsOf(trace).entries()) {
    advance(state, step);
    const held = momentOf(state);
    const saved = { before: savedBefore, after: trace.saved?.[number] ?? null };
    const value = new Map();
    collect(VALUE, step.result, value);
    found.set(statement, { line: step.line, step, before, held, value, saved });
    [before, savedBefore] = [held, saved.after];
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
function isFresh({ held, value }) {
  const known = new Set([...held.values()].map((one) => JSON.stringify(one)));
  return [...value.values()].some((one) => !known.has(JSON.stringify(one)));
}

const listOf = (value) => (Array.isArray(value) ? value : null);
const tupleText = (sizes) => (listOf(sizes) ? `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})` : "?");

// What an error says of a saved tensor that was written since: { what, saved, now }.
const STALE = /modified by an inplace operation: \[(?<type>[^\]]*\]?)\](?:, which is (?<producer>output \d+ of [^,]+),)? is at version (?<now>\d+); expected version (?<saved>\d+)/;

function staleOf(step) {
  const found = STALE.exec(step?.error?.message ?? "")?.groups;
  return found ? { what: found.producer ?? found.type, saved: Number(found.saved), now: Number(found.now) } : null;
}

// The saved tensors of a node in words: null stands for freed ones.
function savedTexts(rows) {
  if (rows === undefined) return [];
  if (rows === null) return [{ text: "saved tensors freed" }];
  return rows.map(([attribute, label, saved, now]) => {
    // A stale one cannot be read, so its storage is not known; another's is that of some name, or of none.
    const isStale = saved !== now;
    const place = label !== null ? `storage ${label}` : isStale ? null : "unnamed";
    const parts = [place, saved !== null && `version ${saved}`, isStale && `now ${now}: stale`];
    // Backends may name attributes otherwise; of a stale one only some know the storage.
    const where = isStale ? parts.slice(1).join() : parts.join();
    return { isStale, where, text: `${attribute.startsWith("saved_") ? "" : "saved "}${attribute}: ${parts.filter(Boolean).join(", ")}` };
  });
}

const staleText = ({ what, saved, now }) => `saved tensor (${what}): saved at version ${saved}, now ${now}: stale`;
