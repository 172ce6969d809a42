// Alignment of two traces: for each statement, rows of one field of one name, left and right.

const FIELD_LEVELS = {
  requires_grad: "graph", is_leaf: "graph", has_grad_fn: "graph", retains_grad: "graph", output_nr: "graph",
  storage: "memory", version: "memory", strides: "memory", offset: "memory", is_view: "memory",
  "grad.strides": "memory", "grad.same": "memory",
  grad_fn: "diagnostics", graph: "diagnostics", warnings: "diagnostics",
};
// No Python name has a space: an expression's result cannot collide with a variable `result`.
const RESULT = "its value";
const SHOWN_FIRST = ["grad", "requires_grad", "is_leaf", "has_grad_fn", "grad_fn", "graph"];

// The steps of both traces in the program's order: [{ statement, line, rows, marks }].
function aligned(expected, got, program) {
  const sides = [new Map(stepsOf(expected)), new Map(stepsOf(got ?? expected))];
  const states = [new Map(), new Map()];
  const statements = [...new Set([...sides[0].keys(), ...sides[1].keys()])].sort((one, two) => one - two);
  return statements.map((statement) => {
    const steps = sides.map((side) => side.get(statement) ?? null);
    const before = states.map((state) => new Map(state));
    steps.forEach((step, side) => advance(states[side], step));
    const marks = program.divergences.filter(({ step }) => step === statement);
    const rows = [...nameRows(steps, before, states), ...statementRows(steps)];
    for (const row of rows) judge(row, statement, marks, program);
    return { statement, line: steps[0]?.line ?? steps[1]?.line ?? null, missing: steps.map((step) => !step), rows, marks };
  });
}

function nameRows(steps, before, states) {
  const names = new Set(steps.flatMap((step) => Object.keys(step?.changed ?? {})));
  // A name deleted on one side only is a difference; one deleted on both is in the row `deleted`.
  for (const name of steps.flatMap((step) => step?.deleted ?? [])) if (states.some((state) => state.has(name))) names.add(name);
  const rows = [];
  for (const name of names) {
    const now = states.map((state, side) => cells(settled(state.get(name), steps[side], name)));
    const then = before.map((state) => cells(state.get(name)));
    for (const key of orderedKeys(now)) {
      const [left, right] = now.map((side) => side.get(key) ?? ABSENT);
      const shown = now.some((side, at) => isNews(key, side, then[at], name));
      rows.push({ name, key, level: levelOf(key), left, right, shown, follows: followsFrom(key, now) });
    }
  }
  return rows;
}

// Whether a field is worth a row: it changed, or it is new and has an unusual value.
function isNews(key, side, before, name) {
  const cell = side.get(key) ?? ABSENT;
  const then = before.get(key) ?? ABSENT;
  if (then.type === "absent") return isNotable(key, cell, name, side);
  return cell.signature !== then.signature;
}

// Whether a field differs only because its value is missing or of another kind.
function followsFrom(key, sides) {
  if (key === "") return false;
  return sides.some((side) => !side.has(key) || (side.get("")?.type !== "tensor" && !side.get("")?.split));
}

// An observation unchanged since an earlier step implies that its gradient is unchanged.
function settled(observation, step, name) {
  if (!observation?.grad || observation.grad.same !== false || Object.hasOwn(step?.changed ?? {}, name)) return observation;
  return { ...observation, grad: { ...observation.grad, same: true } };
}

const levelOf = (key) => FIELD_LEVELS[fieldOf(key)] ?? "values";
const fieldOf = (key) => key.replace(/^.*\]\.?/, "");

const orderedKeys = (sides) => {
  const keys = [...new Set(sides.flatMap((side) => [...side.keys()]))];
  const rank = (key) => (key === "" ? -1 : SHOWN_FIRST.includes(key) ? SHOWN_FIRST.indexOf(key) : SHOWN_FIRST.length);
  return keys.sort((one, two) => rank(one) - rank(two));
};

// The statement's own effects: its result, deletions, error and warnings.
function statementRows(steps) {
  const rows = [];
  const add = (key, level, read) => {
    const [left, right] = steps.map((step) => (step ? read(step) : ABSENT));
    if (left !== ABSENT || right !== ABSENT) rows.push({ name: null, key, level, left, right, shown: true });
  };
  const results = steps.map((step) => cells(step?.result));
  const oneRaised = steps.filter((step) => step?.error).length === 1;
  for (const key of orderedKeys(results)) {
    const [left, right] = results.map((side) => side.get(key) ?? ABSENT);
    const shown = isNotable(key, left, null, results[0]) || isNotable(key, right, null, results[1]);
    rows.push({ name: RESULT, key, level: levelOf(key), left, right, shown, follows: oneRaised || followsFrom(key, results) });
  }
  add("deleted", "values", (step) => (step.deleted?.length ? textCell(step.deleted.join(", ")) : ABSENT));
  const raised = steps.some((step) => step?.error);
  add("raises", "values", (step) => (step.error ? textCell(step.error) : raised ? NO_ERROR : ABSENT));
  const most = Math.max(...steps.map((step) => step?.warnings?.length ?? 0));
  for (let at = 0; at < most; at++) {
    add("warns", "diagnostics", (step) => (step.warnings?.[at] ? textCell(step.warnings[at]) : NO_WARNING));
  }
  return rows;
}

const ABSENT = { type: "absent", signature: "absent" };
const NO_ERROR = { type: "nothing", signature: "nothing", value: "no error" };
const NO_WARNING = { type: "nothing", signature: "nothing", value: "no warning" };
const textCell = (value, split = false) => ({ type: "text", value, split, signature: JSON.stringify(value) });
const tensorCell = (value) => ({ type: "tensor", value, signature: JSON.stringify([value.kind, value.shape, value.dtype, value.values]) });

// An observation as a map from field to cell; the key "" is the value itself.
function cells(observation, prefix = "", into = new Map()) {
  if (!observation) return into;
  const items = observation.items && typeof observation.items === "object" ? Object.entries(observation.items) : [];
  if (items.some(([, item]) => holdsTensor(item))) {
    const isList = Array.isArray(observation.items);
    into.set(prefix, textCell(`${observation.kind} of ${items.length}`, true));
    for (const [key, item] of items) cells(item, `${prefix}[${isList ? key : `'${key}'`}]`, into);
  } else if (observation.kind === "tensor" || observation.kind === "array") {
    tensorCells(observation, prefix, into);
  } else {
    into.set(prefix, textCell(observation));
  }
  return into;
}

const holdsTensor = (item) =>
  item.kind === "tensor" || (item.items && typeof item.items === "object" && Object.values(item.items).some(holdsTensor));

function tensorCells(observation, prefix, into) {
  const { kind, shape, dtype, values, grad, ...others } = observation;
  const dotted = prefix ? `${prefix}.` : "";
  const broken = [shape, dtype, values].find((field) => field?.error);
  into.set(prefix, broken ? textCell(broken) : tensorCell({ kind, shape, dtype, values }));
  if (grad !== undefined) {
    const { strides, same, ...gradient } = grad ?? {};
    into.set(`${dotted}grad`, grad?.values ? tensorCell(gradient) : textCell(grad));
    if (strides !== undefined) into.set(`${dotted}grad.strides`, textCell(strides));
    if (same !== undefined) into.set(`${dotted}grad.same`, textCell(same));
  }
  for (const [key, value] of Object.entries(others)) into.set(`${dotted}${key}`, textCell(value));
}

// Whether a field of a name seen for the first time has an unusual value.
function isNotable(key, cell, name, side) {
  const { type, value } = cell;
  if (type === "absent") return false;
  if (value?.error) return true;
  switch (fieldOf(key)) {
    case "": return true;
    case "grad": return type === "tensor";
    case "grad_fn": return value !== null;
    case "requires_grad": return value === true && !side.get("grad_fn")?.value;
    case "is_view":
    case "retains_grad": return value === true;
    case "version":
    case "offset":
    case "output_nr": return value > 0;
    case "storage": return name !== null && value !== name;
    case "grad.same": return value === true;
    case "grad.strides":
    case "strides": return !isContiguous(side.get(key.replace(/\.?strides$/, ""))?.value?.shape, value);
    default: return false;
  }
}

function isContiguous(shape, strides) {
  if (!Array.isArray(shape) || !Array.isArray(strides) || shape.includes(0)) return true;
  let step = 1;
  for (let at = shape.length - 1; at >= 0; at--) {
    if (shape[at] !== 1 && strides[at] !== step) return false;
    step *= shape[at];
  }
  return true;
}

// The status of a row: same, first (first divergence of a level), differs, accepted, uncompared.
function judge(row, statement, marks, program) {
  row.firsts = marks.filter((mark) => isAbout(mark, row)).map(({ level }) => level);
  const same = row.left.signature === row.right.signature;
  row.other = isOther(program, row.firsts.length ? row.firsts : [row.level]);
  if (row.firsts.length) row.status = "first";
  else if (same) row.status = "same";
  else row.status = judged(row, statement, program);
  row.shown = row.status === "first" || (row.follows ? row.shown && row.status === "same" : row.shown || row.status !== "same");
}

function judged(row, statement, program) {
  if (row.follows) return "uncompared";
  const levels = row.key === "raises" ? ["values", "diagnostics"] : [row.level];
  const started = program.divergences.some(({ level, step }) => levels.includes(level) && step <= statement);
  if (started) return "differs";
  return levels.some((level) => program.levels[level] === "not_applicable") ? "uncompared" : "accepted";
}

// Fields shown in the row of the value itself; for a container without tensors also its items'.
const VALUE_FIELDS = new Set(["", "kind", "shape", "dtype", "values", "value", "length", "keys", "name"]);
const STATEMENT_FIELDS = { raises: /^error/, warns: /^warnings/, deleted: /^deleted/ };

// Whether a row shows the given divergence.
function isAbout({ name, field }, row) {
  if (row.name === null) return name === null && STATEMENT_FIELDS[row.key].test(field);
  if (row.name === RESULT) return name === null && /^result\b/.test(field) && sameField(field.replace(/^result\.?/, ""), row);
  return name === row.name && sameField(field, row);
}

function sameField(divergent, row) {
  const field = divergent.replace(/ error$/, "");
  if (field === row.key) return true;
  if (!field.startsWith(row.key)) return false;
  const rest = field.slice(row.key.length).replace(/^\./, "");
  const whole = [row.left, row.right].every((side) => side.type !== "tensor" && !side.split);
  return VALUE_FIELDS.has(rest) || (whole && rest.startsWith("["));
}
