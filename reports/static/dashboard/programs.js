// The programs of a run as a list, or one program or rule through all runs, by the address.

const FILTERS = ["run", "area", "level", "verdict", "q"];
let filter = {};

function address() {
  const fragment = location.hash.slice(1);
  const at = fragment.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : fragment.slice(at + 1));
  return {
    name: unquoted(at < 0 ? fragment : fragment.slice(0, at)),
    filter: Object.fromEntries(FILTERS.map((field) => [field, query.get(field) ?? ""])),
  };
}

function addressFor(wanted) {
  const query = new URLSearchParams(FILTERS.filter((field) => wanted[field]).map((field) => [field, wanted[field]]));
  return `#?${query}`;
}

async function follow() {
  const { name, filter: wanted } = address();
  document.getElementById("list").hidden = Boolean(name);
  document.getElementById("program").hidden = !name;
  if (name) return showNamed(name);
  filter = { ...wanted, run: site.run.has(wanted.run) ? wanted.run : site.runs.at(-1).id };
  for (const field of FILTERS) document.getElementById(`filter-${field}`).value = filter[field];
  await showList(wanted.run);
}

async function showList(asked) {
  const run = site.run.get(filter.run);
  const level = site.levels.indexOf(filter.level);
  const inRun = (await allPrograms())
    .map((program) => ({ program, standing: standingIn(program, run) }))
    .filter(({ standing }) => standing);
  const found = inRun.filter(({ program, standing }) =>
    (!filter.area || program.area === filter.area) && hasVerdict(standing, level, filter.verdict) &&
    (!filter.q || matches(searchText(program, standing), filter.q)));
  const unknown = asked && asked !== filter.run ? [element("strong", { class: "is-error" }, "There is no run ", visible(asked), " here; this is the newest. ")] : [];
  document.getElementById("found").replaceChildren(...unknown,
    `${counted(found.length, "program")}${found.length < inRun.length ? ` of ${number(inRun.length)}` : ""} in run `, runLink(run),
    run.complete ? "" : ", which was interrupted");
  document.getElementById("results").replaceChildren(found.length ? paged(found) : element("p", { class: "note" }, "No program matches."));
  document.title = "Programs · autograd conformance";
  performance.mark("site-ready");
}

// A program not compared matches its own category only, never `diverges`.
function hasVerdict([category, verdicts], level, verdict) {
  if (["unsupported", "error", "not_run", "specification"].includes(verdict)) return category === verdict;
  if (level < 0) return !verdict || (verdict === "not_applicable" ? verdicts.includes(verdict) : category === verdict);
  if (!verdict) return verdicts[level] !== null;
  if (verdict === "known") return verdicts[level] === "diverges" && category === "known";
  return verdicts[level] === verdict && !(verdict === "diverges" && category === "known");
}

async function showNamed(name) {
  const place = document.getElementById("program");
  const found = await programsNamed(name);
  const title = element("h1", { id: "program-title", tabindex: "-1" }, visible(name));
  const back = element("nav", { class: "crumbs", "aria-label": "Programs" }, element("a", { href: "#?" }, "← all programs"));
  document.title = `${plain(name)} · autograd conformance`;
  if (!found.length) {
    place.replaceChildren(back, title, element("p", { class: "note", role: "alert" }, "No run has a program or a rule of this name."));
  } else if (found[0].id === name) {
    place.replaceChildren(back, title, ...(await programNodes(found[0])));
  } else {
    place.replaceChildren(back, title, ...ruleNodes(found));
  }
  window.scrollTo(0, 0);
  title.focus({ preventScroll: true });
  performance.mark("site-ready");
}

async function programNodes(program) {
  const sources = await loaded(site.sources[program.place]);
  const about = [["rule", program.rule], ["area", program.area], ["operator", program.operator], ["dtype", program.dtype]]
    .filter(([, text]) => text)
    .map(([word, text]) => element("span", {}, element("span", { class: "muted" }, `${word} `), word === "rule" ? element("a", { href: `#${quotedId(text)}` }, visible(text)) : visible(text)));
  if (program.rule && site.specification) {
    const label = `${plain(program.rule)} in the specification`;
    about.push(element("a", { href: ruleAddress(site.specification, program.area, program.rule), "aria-label": label }, "specification"));
  }
  return [
    element("p", { class: "sentence" }, sentenceNodes(program.sentence ?? "")),
    element("p", { class: "about" }, about),
    element("h2", {}, "History"),
    ...seriesOf([program]).map((series) => historyOf(program, series)),
    sourceNodes(program, sources[program.at]),
  ];
}

function ruleNodes(found) {
  return [
    element("p", { class: "sentence" }, sentenceNodes(found[0].sentence ?? "")),
    element("h2", {}, counted(found.length, "program"), " of this rule, by configuration"),
    ...seriesOf(found).map((series) => element("section", { class: "history" },
      seriesTitle(series),
      element("ul", { class: "strips" }, found.filter((program) => stretches(program, series).length).map((program) => {
        // Runs without the program are skipped.
        const stood = stretches(program, series).filter(({ standing }) => standing);
        const last = stood.at(-1);
        const changes = stood.filter(({ standing }, at) => at && standing !== stood[at - 1].standing).length;
        return element("li", {},
          element("a", { class: "row-id", href: `#${quotedId(program.id)}` }, visible(program.id)),
          strip(program, series),
          element("span", {}, last ? badge(last.standing[0]) : null, " ", element("span", { class: "muted" }, changes ? counted(changes, "change") : "never changed")));
      })), edges(series))),
  ];
}

// The series with any of the programs, ordered by their newest runs.
function seriesOf(found) {
  return site.series
    .filter((series) => found.some((program) => stretches(program, series).length))
    .sort((one, two) => (one.runs.at(-1).moment < two.runs.at(-1).moment ? 1 : -1));
}

const seriesTitle = (series) => element("h3", {}, visible(series.name), " ", element("small", { class: "muted" }, visible(series.selected)));

const edges = (series) => element("p", { class: "axis" },
  element("span", {}, edge(series, series.runs[0])),
  element("span", {}, counted(series.runs.length, "run")),
  element("span", {}, edge(series, series.runs.at(-1))));

// The end of a strip: a time, or the version of torch where that orders the runs.
const edge = (series, run) => visible(series.torch ? `torch ${run.version.split(" / ")[0]}` : run.moment);

function historyOf(program, series) {
  const parts = stretches(program, series);
  const command = ["conform", "show", program.id, ...series.backend].map(shellQuoted).join(" ");
  const button = element("button", { type: "button" }, "Copy command");
  button.addEventListener("click", () => copy(command, button));
  return element("section", { class: "history" }, seriesTitle(series), strip(program, series), edges(series),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `History, ${plain(series.name)}` },
      element("table", { class: "matrix" },
        element("thead", {}, element("tr", {}, ["From", "Ended as", "Levels", "Runs", "Backend / oracle", "What changed"].map((text) => element("th", { scope: "col" }, text)))),
        element("tbody", {}, parts.toReversed().map((part) => {
          const run = series.runs[part.from];
          const before = series.runs[part.from - 1];
          return element("tr", {},
            element("th", { scope: "row" }, runLink(run)),
            element("td", { class: "wrap" }, standingNodes(part.standing)),
            element("td", {}, part.standing ? glyphs(part.standing[1]) : null),
            element("td", { class: "number" }, number(part.to - part.from + 1)),
            element("td", {}, visible(versionsOf(series, part))),
            element("td", {}, before ? element("a", { href: compareAddress(before, run) }, "compare") : element("span", { class: "muted" }, "first run"),
              run.url ? [" ", element("a", { href: `${run.url}#${quotedId(program.id)}` }, "report")] : null));
        })))),
    element("div", { class: "reproduce" }, element("code", {}, visible(command)), button));
}

function versionsOf(series, { from, to }) {
  const [first, last] = [series.runs[from].version, series.runs[to].version];
  return first === last ? first : `${first} to ${last}`;
}

function sourceNodes(program, source) {
  const button = element("button", { type: "button", id: "copy-program" }, "Copy program");
  button.addEventListener("click", () => copy(source, button));
  return element("section", { class: "source" },
    element("div", { class: "with-button" }, element("h2", {}, "Program ", element("small", {}, "as the newest run has it")), button),
    element("ol", { class: "code", tabindex: "0", "aria-label": "Source with line numbers" },
      highlighted(source.replace(/\n+$/, "")).map((nodes) => element("li", {}, element("code", {}, nodes.length ? nodes : " ")))));
}

function offer() {
  document.getElementById("filter-run").append(...runChoices());
  const choices = {
    area: site.areas.map((area) => [area, area]),
    level: site.levels.map((level) => [level, level]),
    verdict: Object.entries(site.words),
  };
  for (const [field, pairs] of Object.entries(choices)) {
    document.getElementById(`filter-${field}`).append(...pairs.map(([value, word]) => element("option", { value }, plain(word))));
  }
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    for (const field of FILTERS) filter[field] = document.getElementById(`filter-${field}`).value;
    history.replaceState(null, "", addressFor(filter));
    showList("").catch(failed);
  });
}

async function start() {
  listenToTheme();
  await readSite();
  offer();
  await follow();
  window.addEventListener("hashchange", () => follow().catch(failed));
  document.documentElement.classList.remove("opening");
}

start().catch(failed);
