// One program's page: its sentence, first divergences, source, and the two traces.

let full = false;
const LONG_LIST = 12;

async function showProgram(position) {
  const stored = await details(position);
  if (!sources) await readSources();
  const program = {
    ...stored,
    source: sources[position],
    divergences: run.levels.filter((level) => stored.divergences[level])
      .map((level) => ({ level, ...stored.divergences[level] }))
      .sort((one, other) => one.step - other.step), // of one statement in the order of the levels
  };
  const place = document.getElementById("program");
  const source = sourceBlock(program);
  place.replaceChildren(...[
    crumbs(position),
    title(position, program),
    levelStrip(position, program),
    reasons(position, program),
    divergenceTable(program),
    specificationTable(program),
    ruleProse(position),
    reproduce(position, program),
    source,
    drawingBlock(program, source.querySelector(".code")),
    traces(program),
  ].filter(Boolean));
}

// The programs that Previous and Next walk: those found; in a list of all, those of one verdict.
function walked(position) {
  const kind = categoryOf(position);
  if (isFiltered(view.filter) || kind === "conforms") return view.found;
  return view.found.filter((other) => categoryOf(other) === kind);
}

function crumbs(position) {
  const found = walked(position);
  const at = found.indexOf(position);
  const link = (to, word, rel) => to === undefined
    ? element("span", { class: "muted", "aria-disabled": "true" }, word)
    : element("a", { href: addressOf(run.id[to], view.filter), rel, class: "step-link", title: plain(run.id[to]) }, word);
  return element("nav", { class: "crumbs", "aria-label": "Programs" },
    element("a", { href: addressOf("", view.filter), id: "back" }, "← ", isFiltered(view.filter) ? `${counted(view.found.length, "program")} found` : "Overview"),
    element("span", { class: "around" },
      at >= 0 ? element("span", { class: "muted" }, `${number(at + 1)} of ${number(found.length)}`) : null,
      link(at > 0 ? found[at - 1] : undefined, "Previous", "prev"),
      link(at >= 0 ? found[at + 1] : undefined, "Next", "next")));
}

function title(position, program) {
  const kind = categoryOf(position);
  const rule = cell("rule", position);
  const operator = cell("operator", position);
  const filtered = (name, value) => value === null ? null
    : element("a", { href: addressOf("", { [name]: value }) }, element("span", { class: "muted" }, `${name} `), visible(value));
  const seconds = [["oracle", program.seconds.oracle], ["backend", program.seconds.backend]]
    .filter(([, value]) => typeof value === "number").map(([who, value]) => `${who} ${durationText(value)}`).join(", ");
  const ulp = Object.entries(program.ulp ?? {}).map(([dtype, error]) => `${dtype} ${typeof error === "number" ? error.toLocaleString("en", { maximumSignificantDigits: 4 }) : error} ULP`).join(", ");
  return element("header", { class: "program-title" },
    element("p", { class: "program-verdict" }, badge(kind)),
    element("h1", { tabindex: "-1", id: "program-id" }, visible(run.id[position])),
    element("p", { class: "sentence" }, briefSentence(cell("sentence", position) ?? "")),
    element("p", { class: "about" }, [
      filtered("area", cell("area", position)), filtered("rule", rule),
      rule && run.about.specification
        ? element("a", { href: ruleAddress(run.about.specification, cell("area", position), rule), "aria-label": `${plain(rule)} in the specification` }, "specification") : null,
      filtered("operator", operator),
      filtered("dtype", cell("dtype", position)),
      program.file ? element("span", {}, visible(program.file), program.line ? `:${program.line}` : "") : null,
      seconds ? element("span", {}, visible(seconds)) : null,
      ulp ? element("span", {}, "largest error ", visible(ulp)) : null,
    ]));
}

function levelStrip(position, program) {
  return element("ul", { class: "levels", "aria-label": "Verdict at each level" }, run.levels.map((level, at) => {
    const verdict = verdictAt(position, at);
    const first = program.divergences.find((one) => one.level === level);
    return element("li", { class: `is-${verdict ?? "none"}` },
      element("span", { class: "level-name" }, level),
      element("span", {}, verdict ? [symbol(verdict), " ", run.words[verdict]] : "· not compared",
        first?.line ? element("span", { class: "muted" }, ` line ${first.line}`) : null,
        run.counted.includes(level) ? null : element("span", { class: "muted" }, " (not counted)")));
  }));
}

function reasons(position, program) {
  const notes = [];
  if (program.known) {
    const { reason, link, stale } = program.known;
    notes.push(element("section", { class: "note is-known" },
      element("h2", {}, symbol("known"), " ", stale ? "Known divergence that is gone" : "Known divergence"),
      element("p", {}, longText(reason)),
      link ? element("p", {}, /^https?:\/\//i.test(link) ? element("a", { href: link, rel: "noreferrer noopener" }, visible(link)) : visible(link)) : null));
  }
  const versions = cell("versions", position);
  if (versions) {
    notes.push(element("section", { class: "note is-other_version" },
      element("h2", {}, symbol("other_version"), " ", "As another version of torch"),
      element("p", {}, "The backend shows what torch ", visible(versions), " shows: it neither conforms to the oracle nor diverges.")));
  }
  for (const [level, one] of Object.entries(program.permitted ?? {})) {
    notes.push(element("section", { class: "note" },
      element("h2", {}, "Permitted difference"),
      element("p", {}, `At ${level} the specification lets a port differ here: line ${one.line}, `, visible([one.name, one.field].filter(Boolean).join(".")),
        ": expected ", longText(JSON.stringify(one.expected)), ", got ", longText(JSON.stringify(one.got)), `. The comparison at ${level} ends there.`)));
  }
  if (program.since) {
    notes.push(element("section", { class: "note" },
      element("h2", {}, "Changed since torch ", visible(program.since.version)),
      element("p", {}, "The oracle is newer, and does something else at ", visible(program.since.levels.join(", ")), ".")));
  }
  if (program.reason) {
    const kind = categoryOf(position);
    notes.push(element("section", { class: `note is-${kind}` },
      element("h2", {}, symbol(kind), " ", `Why: ${run.words[kind]}`), element("pre", {}, longText(program.reason))));
  }
  return notes.length ? element("div", {}, notes) : null;
}

function comparisonTable(caption, heads, rows, classes = []) {
  return element("section", { class: "divergences" }, element("h2", {}, caption),
    element("table", { class: "stacking" },
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, visible(head))))),
      element("tbody", {}, rows.map((row, number) => element("tr", { class: classes[number] }, row.map((content, at) =>
        element("td", { "data-head": plain(heads[at]), class: at >= row.length - 2 ? "value" : null }, content)))))));
}

// The verdict at a level that has a first difference: it diverges, or another version shows it.
const differing = (program, level) => (program.levels[level] === "other_version" ? "other_version" : "diverges");
const isOther = (program, levels) => levels.length > 0 && levels.every((level) => differing(program, level) === "other_version");

function divergenceTable(program) {
  const { divergences, expected } = program;
  if (!divergences.length) return null;
  const word = isOther(program, divergences.map(({ level }) => level)) ? "difference" : "divergence";
  const [first] = divergences;
  const rows = divergences.map(({ level, line, step, name, field, index, expected: wanted, got }) => {
    const long = [wanted, got].every((side) => Array.isArray(side) && side.length > LONG_LIST && index < side.length);
    const [left, right] = long ? [[wanted[index]], [got[index]]] : [wanted, got];
    return [
      element("span", { class: `is-${differing(program, level)}` }, symbol(differing(program, level)), " ", level),
      [element("a", { href: `#step-${step}`, class: "to-step", "data-step": step }, line ? `line ${line}` : `statement ${step}`),
        step > first.step ? element("span", { class: "muted" }, ` follows from line ${first.line}`) : null],
      element("code", {}, visible(name ? `${name}${dotted(field)}` : field), long ? `[${index}]` : ""),
      ...pairNodes(...[left, right].map((side) => orNothing(side, field)), dtypeOf(expected, step, name)),
    ];
  });
  return comparisonTable(`First ${word}${divergences.length > 1 ? " at each level" : ""}`,
    ["Level", "Where", "What", `Expected: ${named(run.oracle)}`, `Got: ${named(run.backend)}`], rows,
    divergences.map(({ level, step }) => [differing(program, level) === "other_version" ? "as-other" : "", step > first.step ? "follows" : ""].join(" ").trim() || null));
}

// Text for a side without an error or a warning; several warnings are on separate lines.
function orNothing(side, field) {
  if (side === null || side?.length === 0) return run.nothing[field] ?? side;
  return field === "warnings" ? side.map(([category, message]) => `${category}: ${message}`).join("\n") : side;
}

// The dtype of a name at a step, for printing its values.
function dtypeOf(trace, step, name) {
  let found;
  for (const { statement, changed } of trace?.steps ?? []) {
    if (statement > step) break;
    if (name !== null && Object.hasOwn(changed ?? {}, name)) found = changed[name].dtype;
  }
  return typeof found === "string" ? found : "float64";
}

function pairNodes(wanted, got, dtype) {
  const numeric = (value) => Array.isArray(value) && value.every((item) => typeof item !== "string" || /^-?(nan|inf)$/.test(item));
  if (numeric(wanted) && numeric(got) && wanted.length) {
    const [left, right] = [wanted, got].map((values) => ({ values, shape: [values.length], dtype }));
    return [tensorNodes(left, full, right), tensorNodes(right, full, left)].map((nodes) => element("code", {}, nodes));
  }
  const [left, right] = [wanted, got].map((value) => valueText(value, full));
  const texts = left === right ? [valueText(wanted, true), valueText(got, true)] : [left, right];
  return texts.map((text) => element("code", {}, longText(text)));
}

function specificationTable({ specification }) {
  if (!specification?.length) return null;
  return comparisonTable("Comments of the specification that the oracle does not meet",
    ["Line", "The comment says", `${named(run.oracle)} gives`],
    specification.map(({ line, expected, got }) => [`line ${line ?? "?"}`, ...pairNodes(expected, got, "float64")]));
}

// The rule's prose, which the page has for rules that are not conformed to.
function ruleProse(position) {
  const rule = cell("rule", position);
  const kept = rule && document.querySelector(`#rules > [data-rule="${CSS.escape(rule)}"]`);
  return kept ? element("details", { class: "entries rule-prose", open: true }, element("summary", {}, "The rule ", visible(rule)), kept.cloneNode(true)) : null;
}

function showCommand(position) {
  const words = ["conform", "show", run.id[position], "--backend", run.backend.name, "--oracle", run.oracle.name];
  if (run.about.seed) words.push("--seed", String(run.about.seed));
  if (run.about.dtype !== "float32") words.push("--default-dtype", run.about.dtype);
  return words.map(shellQuoted).join(" ");
}

function reproduce(position, program) {
  const command = showCommand(position);
  const button = (id, word, text) => element("button", { type: "button", id, on: { click: ({ target }) => copy(text(), target) } }, word);
  return element("section", { class: "reproduce", "aria-label": "Reproduce" },
    element("code", { id: "command" }, visible(command)),
    element("span", {}, button("copy-command", "Copy command", () => command), " ",
      categoryOf(position) === "conforms" ? null : button("copy-issue", "Copy as an issue", () => issueText(position, program, command))));
}

function sourceBlock(program) {
  const marked = new Map();
  for (const { level, line } of program.divergences) if (line) marked.set(line, [...(marked.get(line) ?? []), level]);
  const button = element("button", { type: "button", id: "copy-program" }, "Copy program");
  button.addEventListener("click", () => copy(program.source, button));
  const lines = highlighted(program.source.replace(/\n+$/, ""));
  return element("section", { class: "source" },
    element("div", { class: "with-button" }, element("h2", {}, "Program"), button),
    element("ol", { class: "code", tabindex: "0", "aria-label": "Source with line numbers" }, lines.map((nodes, at) => {
      const levels = marked.get(at + 1);
      return element("li", { class: levels ? `marked${isOther(program, levels) ? " as-other" : ""}` : null },
        element("code", {}, nodes.length ? nodes : " "), levels ? markChips(levels, program) : null);
    })));
}

// The drawing begins at the first difference; narrow windows have it folded.
function drawingBlock(program, code) {
  const sides = [["expected", program.expected], ["got", program.got]].filter(([, trace]) => trace?.steps?.length)
    .map(([word, trace]) => ({ word, trace: { ...trace, saved: program.saved?.[word] } }));
  if (!sides.length) return null;
  const folded = element("details", { class: "drawing-of fold" },
    element("summary", {}, "Drawing ", element("span", { class: "muted" }, "graph and memory at each statement")));
  // Values differ from the first divergence of their level on: before it, they are accepted.
  const began = program.divergences.find(({ level }) => level === "values")?.step ?? Infinity;
  const differ = (statement, one, two, dtype) => statement >= began
    && (one.length !== two.length || one.some((value, at) => !sameScalar(value, two[at]) && !isNear(value, two[at], dtype)));
  listenToDrawing(folded, code, async () => sides, { first: program.divergences[0]?.step, differ });
  folded.open = matchMedia("(min-width: 761px)").matches;
  return element("section", { class: isOther(program, program.divergences.map(({ level }) => level)) ? "as-other" : null }, folded);
}

function traces(program) {
  if (!program.expected && !program.got) return element("p", { class: "note" }, "There is no trace of this program.");
  const holder = element("div", { class: "scroll-narrow" }, traceTable(program));
  const box = element("input", { type: "checkbox", id: "full-precision" });
  box.checked = full;
  box.addEventListener("change", () => {
    full = box.checked;
    holder.replaceChildren(traceTable(program));
  });
  const equal = program.got === undefined;
  return element("section", { class: "traces" },
    element("div", { class: "with-button" }, element("h2", {}, equal ? "Trace" : "Traces"),
      element("label", { class: "check" }, box, " full precision")),
    equal ? element("p", { class: "muted" }, "The two traces are equal, to the last bit.") : null,
    program.got === null ? element("p", { class: "muted" }, "The backend left no trace; this is the oracle’s.") : null,
    holder);
}
