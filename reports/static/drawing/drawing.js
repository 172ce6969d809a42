// The drawing of a program at a statement: its graph and its memory, before and after.

const MOMENTS = ["before", "after"];
let drawings = 0;

// Draws into a folded element whenever it is open. `code` is the list of the program's lines, which
// choose their statements; `sides` gives [{ word, trace }], one or two; `first` is the statement
// to begin with; `differ` says whether values of two sides differ after a statement.
function listenToDrawing(folded, code, sides, { first, differ } = {}) {
  let drawing = null;
  folded.addEventListener("toggle", async () => {
    code.classList.toggle("choosable", folded.open);
    if (!folded.open) return markLine(code, undefined);
    performance.mark("drawing-begin");
    if (!drawing) {
      drawing = drawingOf(await sides(), code, { first, differ });
      folded.append(drawing.body);
    }
    drawing.draw();
    performance.measure("drawing", "drawing-begin");
  });
  code.addEventListener("click", (event) => {
    const line = [...code.children].indexOf(event.target.closest("li")) + 1;
    if (folded.open && drawing && line && getSelection().isCollapsed) drawing.chooseLine(line);
  });
}

function markLine(code, line) {
  [...code.children].forEach((item, at) => {
    item.classList.toggle("drawn-line", at + 1 === line);
    if (at + 1 === line) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
}

// The first line of a statement, without its comment.
const statementText = (item) => [...item?.querySelector("code")?.childNodes ?? []]
  .filter((node) => !node.classList?.contains("py-comment")).map((node) => node.textContent).join("").trim();

function drawingOf(sides, code, { first, differ }) {
  const number = ++drawings;
  const moments = sides.map(({ trace }) => momentsOf(trace));
  const statements = [...new Set(moments.flatMap((side) => [...side.keys()]))].sort((one, two) => one - two);
  const lines = statements.map((statement) => moments.map((side) => side.get(statement)?.line).find((line) => line !== undefined));
  const state = { at: Math.max(0, statements.indexOf(first ?? usualStatement(statements, moments[0]))), name: null };
  const choose = (at) => {
    if (at < 0 || at >= statements.length) return;
    state.at = at;
    draw();
  };
  const { bar, show } = stepper(number, (by) => choose(state.at + by));
  const figures = element("div", { class: "drawing-figures" });
  const draw = () => {
    const line = lines[state.at];
    const text = statementText(code.children[line - 1]);
    show({ at: state.at, count: statements.length, line, text });
    markLine(code, line);
    const view = viewOf(moments, statements[state.at]);
    const sections = sectionsOf(view, sides, { state, text, prefix: `drawing-${number}`, redraw: draw, differ: (...of) => differ?.(statements[state.at], ...of) });
    figures.replaceChildren(...sections);
    figures.querySelectorAll(".drawing-scroll").forEach(fitted);
  };
  // A line inside a statement of several lines chooses that statement.
  const chooseLine = (line) => choose(lines.findLastIndex((one) => one <= line));
  return { body: element("div", { class: "drawing-body" }, bar, figures, legend(sides)), draw, chooseLine };
}

// A picture wider than its frame scrolls there, by the keyboard too, and begins at its root.
function fitted(frame) {
  if (frame.scrollWidth <= frame.clientWidth) return;
  frame.setAttribute("tabindex", "0");
  const root = frame.querySelector(".root rect")?.getBoundingClientRect();
  if (root) frame.scrollLeft = root.left + root.width / 2 - frame.getBoundingClientRect().left - frame.clientWidth / 2;
}

// The statement that raises, or the last one that changed a name.
function usualStatement(statements, moments) {
  const steps = statements.map((statement) => [statement, moments.get(statement)?.step]);
  const found = steps.find(([, step]) => step?.error) ?? steps.findLast(([, step]) => step?.changed);
  return found?.[0];
}

function stepper(number, go) {
  const label = element("p", { id: `drawing-at-${number}`, "aria-live": "polite" });
  const button = (by, word) => element("button", { type: "button", class: by < 0 ? "step-back" : "step-on", on: { click: () => go(by) } }, word);
  const [back, on] = [button(-1, "← Previous"), button(1, "Next →")];
  const bar = element("div", { class: "drawing-bar", role: "group", "aria-label": "Statement of the drawing" }, back, on, label);
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    go(by);
  });
  const show = ({ at, count, line, text }) => {
    back.setAttribute("aria-disabled", String(at === 0));
    on.setAttribute("aria-disabled", String(at === count - 1));
    label.replaceChildren(element("span", { class: "muted" }, `Statement ${at + 1} of ${count}${line ? `, line ${line}` : ""} `), element("code", {}, visible(text)));
  };
  return { bar, show };
}

// The moments around a statement, for each side; a side that has no observation of it has only
// what its names held last. The value of the statement is there on both sides or on none.
function viewOf(moments, statement) {
  const found = moments.map((side) => side.get(statement));
  const hasValue = found.some((side) => side && isFresh(side));
  return found.map((side, at) => {
    if (side) return { ...side, after: hasValue ? new Map([...side.held, ...side.value]) : side.held };
    const last = [...moments[at].keys()].findLast((one) => one < statement);
    return { before: moments[at].get(last)?.held ?? new Map(), after: null, step: null };
  });
}

function sectionsOf(view, sides, { state, text, prefix, redraw, differ }) {
  const names = graphNames(view);
  if (!names.includes(state.name)) state.name = null;
  const name = state.name ?? (names.length ? usualName(names, view, text) : null);
  const parts = [raisedText(view, sides)];
  if (name === null) parts.push(element("section", {}, element("h3", {}, "Graph"), element("p", { class: "muted" }, "No tensor has a grad_fn here.")));
  else parts.push(kindSection("Graph", graphChooser(names, name, `${prefix}-name`, (chosen) => {
    state.name = chosen;
    redraw();
  }), graphFigures(view, name), drawGraph, sides, `${prefix}-graph`));
  parts.push(kindSection("Memory", null, memoryFigures(view, differ), drawMemory, sides, `${prefix}-memory`));
  return parts.filter(Boolean);
}

// The errors of the statement, and the sides that have no observation of it.
function raisedText(view, sides) {
  const texts = view.map(({ step }) => (!step ? "no observation of this statement" : step.error ? `raises ${step.error.type}: ${step.error.message ?? ""}` : "no error"));
  if (texts.every((text) => text === "no error")) return null;
  const shown = texts.every((text) => text === texts[0]) ? texts.slice(0, 1) : texts;
  return element("div", { class: "drawing-raised" }, shown.map((text, side) =>
    element("p", {}, shown.length > 1 ? element("b", {}, `${sides[side].word}: `) : null, longText(text))));
}

// The names that have a graph at one of the moments, on one of the sides.
function graphNames(view) {
  const names = view.flatMap((side) => MOMENTS.flatMap((moment) => [...(side[moment] ?? [])].filter(([, one]) => listOf(one.graph)?.length).map(([name]) => name)));
  return [...new Set(names)];
}

// The name whose graph a statement changed, else one that it mentions; of several the largest.
function usualName(names, view, text) {
  const nodes = (name) => Math.max(...view.map((side) => listOf((side.after ?? side.before).get(name)?.graph)?.length ?? 0));
  const mentioned = new Set(text.match(/[\p{L}_][\p{L}\p{N}_]*/gu));
  const isChanged = (name) => view.some(({ before, after }) => after && JSON.stringify(before.get(name)?.graph) !== JSON.stringify(after.get(name)?.graph));
  const preferred = [names.filter(isChanged), names.filter((name) => mentioned.has(name)), names].find((some) => some.length);
  return preferred.reduce((one, two) => (nodes(two) > nodes(one) ? two : one));
}

// A name that is chosen stays chosen from statement to statement, as long as it has a graph.
function graphChooser(names, name, id, choose) {
  if (names.length === 1) return element("span", {}, " of ", element("code", {}, visible(name)));
  const select = element("select", { id }, names.map((one) => element("option", { value: one, selected: one === name }, plain(one))));
  select.addEventListener("change", () => {
    choose(select.value);
    document.getElementById(id)?.focus();
  });
  return element("label", {}, " of ", select);
}

// One model for each side and moment: what is drawn, the same in words, and a title.
function graphFigures(view, name) {
  const graphs = view.map((side) => MOMENTS.map((moment) => side[moment] && graphOf(side[moment].get(name))));
  const compared = MOMENTS.map((_, when) => {
    const pair = graphs.map((moments) => moments[when]);
    return pair.length > 1 && pair.every((one) => one?.isObserved) ? differentNodes(...pair) : null;
  });
  return view.map((side, at) => MOMENTS.map((moment, when) => {
    const graph = graphs[at][when];
    if (!graph) return null;
    const different = compared[when]?.marks[at] ?? new Set();
    // A side that tells what nodes saved may have none of this name; where one does not tell, nothing differs.
    const [own, other] = [side, view[1 - at]].map((one) => one?.saved?.[moment] && (one.saved[moment][name] ?? {}));
    const saved = savedOf(graph, own, other, compared[when]?.pairs[at]);
    const fresh = when ? newNodes(graph, side) : new Set();
    const model = { name, graph, shown: shownNodes(graph), fresh, different, saved, stale: when ? staleOf(side.step) : null };
    const marked = graph.nodes.filter((node) => different.has(node.at) || saved.get(node.at).some(({ isDifferent }) => isDifferent)).length;
    const counts = [counted(graph.nodes.length, "node"), fresh.size && `${fresh.size} new`, marked && `${marked} different`];
    return { model, empty: emptyText(graph, name, side[moment]), texts: graphTexts(model), title: `graph of ${name}, ${counts.filter(Boolean).join(", ")}` };
  }));
}

function emptyText(graph, name, moment) {
  if (graph.nodes.length) return null;
  if (!moment.has(name)) return `${name} is not there.`;
  return graph.isObserved ? `${name} has no grad_fn.` : `The graph of ${name} is not observed.`;
}

function memoryFigures(view, differ) {
  const memories = view.map((side) => MOMENTS.map((moment, when) => side[moment] && memoryOf(side[moment], when ? side.step : null)));
  return view.map((side, at) => MOMENTS.map((moment, when) => {
    const memory = memories[at][when];
    if (!memory) return null;
    const other = view.length > 1 ? memories[1 - at][when] : null;
    const news = when ? memoryNews(memory, memories[at][0]) : new Map();
    const differences = other ? memoryDifferences(...memories.map((moments) => moments[when]), differ) : new Map();
    const model = { memory, news, differences };
    const counts = [counted(memory.storages.length, "storage"), counted(tensorsIn(memory).size, "tensor"),
      news.size && `${news.size} new or changed`, differences.size && `${differences.size} different`];
    return { model, empty: memory.storages.length ? null : "No name holds a tensor.", texts: memoryTexts(model), title: counts.filter(Boolean).join(", ") };
  }));
}

// The figures of a kind; those that would be equal are one, which says what it stands for.
function kindSection(word, chooser, figures, draw, sides, prefix) {
  const groups = new Map();
  figures.forEach((moments, side) => moments.forEach((figure, when) => {
    if (!figure) return;
    const key = JSON.stringify([figure.texts, figure.empty]);
    if (!groups.has(key)) groups.set(key, { figure, of: [] });
    groups.get(key).of.push([when, side]);
  }));
  const ordered = [...groups.values()].sort((one, two) => one.of[0][0] - two.of[0][0]);
  const made = ordered.map(({ figure, of }, at) => figureOf(figure, whereText(of, sides), draw, `${prefix}-${at}`));
  return element("section", {}, element("h3", {}, word, chooser),
    made.filter((_, at) => ordered[at].figure.empty),
    element("div", { class: "drawing-grid" }, made.filter((_, at) => !ordered[at].figure.empty)));
}

function whereText(of, sides) {
  const moments = MOMENTS.map((_, when) => of.filter(([one]) => one === when).map(([, side]) => side));
  const who = (some) => (sides.length === 1 ? "" : some.length === sides.length ? "both sides" : sides[some[0]].word);
  const [before, after] = moments.map((some) => (some.length ? who(some) : null));
  const text = (word, side) => (side ? `${word}, ${side}` : word);
  if (before !== null && before === after) return text("Before and after", before);
  if (before === null) return text("After", after);
  return [text("Before", before), after !== null && text("after", after)].filter(Boolean).join("; ");
}

function figureOf({ model, empty, texts, title }, where, draw, id) {
  if (empty) return element("figure", { class: "is-empty" }, element("figcaption", {}, element("b", {}, visible(where))), element("p", { class: "muted" }, visible(empty)));
  return element("figure", {},
    element("figcaption", { id }, element("b", {}, visible(where)), element("span", { class: "muted" }, ": ", visible(title))),
    element("div", { class: "drawing-scroll", role: "group", "aria-labelledby": id }, draw(model, id)),
    element("details", { class: "drawing-text" }, element("summary", {}, "As text", element("span", { class: "off-screen" }, ": ", visible(where), " ", visible(title))),
      element("ul", {}, texts.map((text) => element("li", {}, visible(text))))));
}

function legend(sides) {
  const known = sides.filter(({ trace }) => trace.saved);
  const unknown = sides.filter(({ trace }) => !trace.saved).map(({ word }) => word);
  return element("p", { class: "muted drawing-legend" },
    "+ new or changed by this statement", sides.length > 1 ? "; ≠ differs between the two sides" : null,
    ". A graph is that of one name: traces do not say which nodes graphs of several names share. ",
    "A storage has the name under which it was seen first.",
    !known.length ? " What nodes saved is not known here; an error may tell." : null,
    known.length && unknown.length ? ` What nodes saved is not known of the side ${unknown[0]}.` : null);
}
