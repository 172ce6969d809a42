// A program's standing, run by run. A history lists its changes by series.

// The index of a program's standing in a run; undefined if the run does not have the program.
function standingNumber(program, { series, position }) {
  const found = program.history.find(([number]) => number === series);
  if (!found) return undefined;
  for (let at = found.length - 2; at > 0; at -= 2) {
    if (found[at] <= position) return found[at + 1] < 0 ? undefined : found[at + 1];
  }
  return undefined;
}

// [category, verdicts by level, [where, expected, got, reason]]
const standingIn = (program, run) => program.standings[standingNumber(program, run)];

// The stretches of a series with the same standing.
function stretches(program, series) {
  const found = program.history.find(([number]) => number === series.number);
  if (!found) return [];
  const made = [];
  for (let at = 1; at < found.length; at += 2) {
    const end = at + 2 < found.length ? found[at + 2] : series.runs.length;
    made.push({ from: found[at], to: end - 1, standing: program.standings[found[at + 1]] ?? null });
  }
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const HEIGHTS = { conforms: 0.45, known: 0.7, other_version: 0.7, not_run: 0.2, unsupported: 0.2, error: 0.3, diverges: 1, specification: 1 };

// A strip of all runs of a series: colour and height show the standing, as the table does.
function strip(program, series) {
  const count = series.runs.length;
  const bars = stretches(program, series).filter(({ standing }) => standing).map(({ from, to, standing: [category] }) =>
    drawn("rect", { class: `fill-${category}`, x: from, width: to - from + 1, y: 1 - HEIGHTS[category], height: HEIGHTS[category] }));
  const versions = series.runs.flatMap((run, at) => at && run.version !== series.runs[at - 1].version
    ? [drawn("line", { class: "boundary", x1: at, x2: at, y1: 0, y2: 1 })] : []);
  return drawn("svg", { class: "strip", viewBox: `0 0 ${Math.max(count, 1)} 1`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }, ...bars, ...versions);
}

const runText = (run) => `${run.moment}, ${run.label || run.id}`;

const runLink = (run) => element("a", { href: `programs.html#?run=${encodeURIComponent(run.id)}` }, visible(runText(run)));

const compareAddress = (before, after) => `compare.html#${quotedId(before.id)}..${quotedId(after.id)}`;

function standingNodes(standing) {
  if (!standing) return element("span", { class: "muted" }, "not in the run");
  return [badge(standing[0]), " ", briefNodes(standing[2] ?? [])];
}

// Choices of a run, the newest first, by configuration and selection.
function runChoices() {
  return site.series.toSorted((one, two) => (one.runs.at(-1).moment < two.runs.at(-1).moment ? 1 : -1)).map((series) =>
    element("optgroup", { label: plain(`${series.name}: ${series.selected}`) }, series.runs.toReversed().map((run) =>
      element("option", { value: run.id }, plain(`${runText(run)} (${run.version})${run.complete ? "" : " interrupted"}`)))));
}

const searchText = (program, standing) =>
  [program.id, program.rule, program.operator, program.sentence, ...(standing?.[2] ?? [])].filter(Boolean).join("\n").toLowerCase();

function matches(text, query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean).every((term) => text.includes(term));
}
