// Aligned traces as one table with a group of rows for each statement.

const STATUS_WORDS = {
  first: ["✗", "first divergence"],
  differs: ["✗", "differs"],
  accepted: ["≈", "accepted"],
  uncompared: ["–", "not compared"],
};
// The same of a row that is as in another version of torch.
const OTHER_WORDS = { first: ["⇄", "first difference"], differs: ["⇄", "differs"] };
const STATUS_TITLES = {
  accepted: "within the tolerance of its dtype, or declared unspecified",
  uncompared: "one side has no such field, or the backend has no notion of this level",
};

function traceTable(program) {
  const two = program.got !== null && program.got !== undefined;
  const steps = aligned(program.expected, two ? program.got : null, program);
  const lines = highlighted(program.source);
  const heads = two
    ? [`Expected: ${named(run.oracle)}`, `Got: ${named(run.backend)}`]
    : [program.expected ? `Both: ${named(run.oracle)} and ${named(run.backend)}` : ""];
  const table = element("table", { class: `trace ${two ? "two" : "one"}` },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Observed"),
      heads.map((head) => element("th", { scope: "col" }, visible(head))))));
  steps.forEach((step, at) => table.append(stepBody(step, steps[at + 1], lines, two, program)));
  return table;
}

function stepBody(step, next, lines, two, program) {
  const levels = step.marks.map(({ level }) => level);
  const body = element("tbody", { id: `step-${step.statement}`, class: `step${levels.length ? " marked" : ""}${isOther(program, levels) ? " as-other" : ""}` });
  body.append(element("tr", { class: "statement" },
    element("th", { scope: "rowgroup", colspan: two ? 3 : 2 },
      element("span", { class: "line-number" }, String(step.line ?? "")),
      element("code", {}, statementNodes(step, next, lines)),
      levels.length ? markChips(levels, program) : null)));
  step.missing.forEach((missing, side) => {
    if (missing) body.append(spanning(two, `${side ? "The backend" : "The oracle"} has no observation of this statement.`));
  });
  const folded = step.rows.filter(({ shown }) => !shown);
  let name;
  for (const row of step.rows.filter(({ shown }) => shown)) {
    body.append(fieldRow(row, row.name === name, two));
    name = row.name;
  }
  if (folded.length) body.append(...foldedRows(folded, two));
  return body;
}

const spanning = (two, ...content) =>
  element("tr", { class: "spanning" }, element("td", { colspan: two ? 3 : 2 }, content));

const CHIPS = { diverges: ["✗ first divergence: ", "✗ follows: "], other_version: ["⇄ first difference: ", "⇄ follows: "] };

// A chip for the levels that diverge first here, and one for those as another version has them.
// Of a statement after the first that diverges it says that this follows.
const markChips = (levels, program) => Object.entries(CHIPS).map(([kind, texts]) => {
  const some = levels.filter((level) => differing(program, level) === kind);
  const earliest = program.divergences[0].step;
  const later = program.divergences.filter(({ level }) => some.includes(level)).every(({ step }) => step > earliest);
  return some.length ? element("span", { class: `chip${kind === "diverges" ? "" : " as-other"}` }, texts[Number(later)], some.join(", ")) : null;
});

// The source lines of a statement: up to the next one, without trailing blank and comment lines.
function statementNodes(step, next, lines) {
  const from = step.line - 1;
  if (!(from >= 0 && from < lines.length)) return [element("span", { class: "muted" }, `statement ${step.statement}`)];
  let to = next?.line > step.line ? next.line - 1 : next ? from + 1 : lines.length;
  const textOf = (line) => line.map((node) => node.textContent ?? node).join("").trim();
  while (to > from + 1 && /^(#|$)/.test(textOf(lines[to - 1]))) to--;
  return lines.slice(from, to).flatMap((line, at) => [at ? "\n" : "", ...line.map((node) => node.cloneNode?.(true) ?? node)]);
}

function fieldRow(row, repeated, two) {
  const name = row.name === RESULT ? "result" : row.name;
  const title = name === null ? row.key : `${name}${dotted(row.key)}`;
  const label = repeated && row.name !== null && row.key ? [element("span", { class: "off-screen" }, visible(name)), visible(dotted(row.key))] : visible(title);
  const [sign, word] = (row.other && OTHER_WORDS[row.status]) || STATUS_WORDS[row.status] || [];
  const head = element("th", { scope: "row", class: repeated ? "inner" : null }, element("div", { class: "field-head" }, element("span", { class: "field" }, label),
    sign && two ? element("span", { class: `status status-${row.status}`, title: STATUS_TITLES[row.status] },
      `${sign} ${word}`, row.firsts.length ? `: ${row.firsts.join(", ")}` : "") : null));
  const made = element("tr", { class: `field-row ${row.status}${row.other ? " as-other" : ""}` }, head,
    element("td", { "data-side": "expected" }, cellNodes(row.left, two && row.status !== "same" ? row.right : null, row.status)));
  if (two) made.append(element("td", { "data-side": "got" }, cellNodes(row.right, row.status !== "same" ? row.left : null, row.status)));
  return made;
}

const dotted = (key) => (key && !key.startsWith("[") ? `.${key}` : key);

function cellNodes(cell, other, status) {
  if (cell.type === "absent") return element("span", { class: "absent" }, "—", element("span", { class: "off-screen" }, "nothing"));
  if (cell.type === "nothing") return element("span", { class: "absent" }, cell.value);
  if (cell.type === "tensor") {
    const otherTensor = other?.type === "tensor" ? other.value : null;
    const { shape, dtype, kind } = cell.value;
    const about = `${kind === "array" ? "ndarray " : ""}${dtype}${sizeText(shape)}`;
    const differs = otherTensor && (otherTensor.dtype !== dtype || String(otherTensor.shape) !== String(shape));
    return element("div", { class: "tensor" }, element("span", { class: "dtype" }, differs ? element("mark", {}, visible(about)) : visible(about)),
      element("code", { class: "value" }, tensorNodes(cell.value, full, otherTensor, { accepted: status === "accepted" })));
  }
  const { value } = cell;
  if (value?.error && !value.kind) return element("code", { class: "value raised" }, "raises ", longText(valueText(value.error, full)));
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return graphNodes(value, other?.value);
  let text = valueText(value, full);
  if (other?.type === "text" && !full && text === valueText(other.value, false)) text = valueText(value, true);
  return element("code", { class: "value" }, longText(text));
}

// A graph in preorder, one node per line; lines missing on the other side are marked.
function graphNodes(nodes, other) {
  if (!nodes.length) return element("code", { class: "value" }, "[]");
  const others = Array.isArray(other) ? other : nodes;
  return element("code", { class: "value" }, nodes.map((node, at) => [
    at ? "\n" : "", element("span", { class: "muted" }, `#${at} `),
    node === others[at] ? visible(node) : element("mark", {}, visible(node))]));
}

function foldedRows(rows, two) {
  const button = element("button", { type: "button", class: "quiet small", "aria-expanded": "false" },
    counted(rows.length, "more field"));
  const holder = spanning(two, button);
  let made = null;
  button.addEventListener("click", () => {
    let name;
    made ??= rows.map((row) => {
      const built = fieldRow(row, row.name === name, two);
      name = row.name;
      return built;
    });
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) made.forEach((built) => built.remove());
    else holder.after(...made);
  });
  return [holder];
}
