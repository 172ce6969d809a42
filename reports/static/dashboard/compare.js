// Comparison of any two runs, program by program. The address names both runs and is permanent.

const ALL = "changes";
let shown = { before: null, after: null, kind: ALL, q: "" };
let compared = null;

// `#BEFORE..AFTER?kind=diverges&q=amax`
function address() {
  const fragment = location.hash.slice(1);
  const at = fragment.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : fragment.slice(at + 1));
  const pair = at < 0 ? fragment : fragment.slice(0, at);
  const asked = { before: null, after: null, kind: query.get("kind") || ALL, q: query.get("q") ?? "" };
  for (let dots = pair.indexOf(".."); dots >= 0; dots = pair.indexOf("..", dots + 1)) {
    const [before, after] = [pair.slice(0, dots), pair.slice(dots + 2)].map((text) => site.run.get(unquoted(text)));
    if (before && after) return { ...asked, before, after };
  }
  return { ...asked, unknown: pair };
}

function addressFor({ before, after, kind, q }) {
  const query = new URLSearchParams([["kind", kind === ALL ? "" : kind], ["q", q]].filter(([, value]) => value));
  return `#${quotedId(before.id)}..${quotedId(after.id)}${query.size ? `?${query}` : ""}`;
}

// The newest run and the one before it in its series.
function newestPair() {
  const after = site.runs.findLast((run) => run.complete && run.position > 0) ?? site.runs.at(-1);
  return { after, before: site.series[after.series].runs[Math.max(0, after.position - 1)] };
}

const NOT_COMPARED = ["unsupported", "error", "not_run"];
const AT_FAULT = ["diverges", "specification"];

// The kind of change of a program, as in conformance/run_files/changes.py.
function kindOf([before], [after]) {
  if (AT_FAULT.includes(after) && !AT_FAULT.includes(before)) return "diverges";
  if (NOT_COMPARED.includes(after) && !NOT_COMPARED.includes(before)) return "lost";
  if (["other_version", "conforms"].includes(after) && before !== after) return after;
  return "otherwise";
}

async function comparison({ before, after }) {
  const kinds = Object.fromEntries([...Object.keys(site.kinds), "unchanged"].map((kind) => [kind, []]));
  for (const program of await allPrograms()) {
    const [one, two] = [before, after].map((run) => standingNumber(program, run));
    if (one === undefined && two === undefined) continue;
    const standings = [one, two].map((at) => (at === undefined ? null : program.standings[at]));
    const kind = one === undefined ? "added" : two === undefined ? "removed" : one === two ? "unchanged" : kindOf(...standings);
    kinds[kind].push(kind === "unchanged" ? { program, standing: standings[1] } : { program, before: standings[0], standing: standings[1] });
  }
  return { before, after, kinds };
}

async function follow() {
  shown = address();
  if (!shown.before) Object.assign(shown, newestPair());
  for (const side of ["before", "after"]) document.getElementById(side).value = shown[side].id;
  document.getElementById("filter-q").value = shown.q;
  await show();
}

async function show() {
  if (compared?.before !== shown.before || compared?.after !== shown.after) compared = await comparison(shown);
  const { kinds } = compared;
  document.title = `${plain(shown.before.label || shown.before.id)} to ${plain(shown.after.label || shown.after.id)} · autograd conformance`;
  document.getElementById("notes").replaceChildren(...notes());
  document.getElementById("kinds").replaceChildren(...kindLinks(kinds));
  const wanted = shown.kind === ALL ? Object.keys(site.kinds) : [shown.kind in kinds ? shown.kind : "unchanged"];
  const groups = wanted.map((kind) => [kind, kinds[kind].filter(({ program, standing, before }) =>
    !shown.q || matches(searchText(program, standing ?? before), shown.q))]).filter(([, members]) => members.length);
  const total = groups.reduce((sum, [, members]) => sum + members.length, 0);
  document.getElementById("found").textContent = `${counted(total, "program")} shown`;
  document.getElementById("results").replaceChildren(...(groups.length ? groups.map(([kind, members]) =>
    element("section", { class: "urgent", "aria-label": kindWord(kind) },
      element("h2", { class: `move-${kind}` }, kindSign(kind), " ", kindWord(kind), element("span", { class: "count" }, ` ${number(members.length)}`)),
      paged(members)))
    : [element("p", { class: "note" }, shown.q ? "No program matches." : shown.kind === ALL ? "No program changed, was added or was removed." : "None.")]));
  performance.mark("site-ready");
}

const kindWord = (kind) => site.kinds[kind]?.[1] ?? "unchanged";
const kindSign = (kind) => element("span", { class: "symbol", "aria-hidden": "true" }, site.kinds[kind]?.[0] ?? "=");

function kindLinks(kinds) {
  const all = Object.keys(site.kinds).reduce((sum, kind) => sum + kinds[kind].length, 0);
  const link = (kind, sign, word, size) => element("li", { class: `move-${kind}${size ? "" : " zero"}` },
    element("a", { href: addressFor({ ...shown, kind }), "aria-current": shown.kind === kind ? "true" : null }, sign, " ", element("b", {}, number(size)), ` ${word}`));
  return [link(ALL, "", "changes", all), ...Object.keys(kinds).map((kind) => link(kind, kindSign(kind), kindWord(kind), kinds[kind].length))];
}

function notes() {
  const { before, after, unknown } = shown;
  const [one, two] = [before, after].map((run) => site.series[run.series]);
  const texts = [];
  if (unknown) texts.push(["No two runs of this site are named ", element("code", {}, visible(unquoted(unknown))), "; these are the newest run and the one before it."]);
  if (one.name !== two.name) texts.push([`The runs are of different configurations: `, visible(one.name), " and ", visible(two.name), "."]);
  if (one.selected !== two.selected) texts.push(["The runs had different selections, so programs are missing from one that it was never asked for: ", visible(one.selected), "; ", visible(two.selected), "."]);
  for (const run of [before, after]) if (!run.complete) texts.push(["Run ", visible(run.label || run.id), " was interrupted; what it did not come to counts as missing."]);
  if (before.version !== after.version) texts.push(["Versions (backend / oracle): ", visible(before.version), " before, ", visible(after.version), " after."]);
  return texts.map((text) => element("p", { class: "note" }, text));
}

function listen() {
  for (const side of ["before", "after"]) {
    document.getElementById(side).append(...runChoices());
    document.getElementById(side).addEventListener("change", (event) => go({ [side]: site.run.get(event.target.value) }));
  }
  document.getElementById("swap").addEventListener("click", () => go({ before: shown.after, after: shown.before }));
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("filter-q").addEventListener("input", (event) => {
    shown.q = event.target.value;
    history.replaceState(null, "", addressFor(shown));
    show().catch(failed);
  });
}

function go(change) {
  location.hash = addressFor({ ...shown, ...change });
}

async function start() {
  listenToTheme();
  await readSite();
  listen();
  await follow();
  window.addEventListener("hashchange", () => follow().catch(failed));
  document.documentElement.classList.remove("opening");
}

start().catch(failed);
