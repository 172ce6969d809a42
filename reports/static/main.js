// The page's router: shows the overview or a program, by the address.

const view = { filter: null, found: [], position: null, shownFilter: null, scroll: 0, title: document.title };

async function follow() {
  const { id, filter } = readAddress();
  const position = id ? run.position.get(id) : undefined;
  if (id && position === undefined) {
    const asFilter = { rule: run.rule.texts.includes(id), operator: run.operator.texts.includes(id.replace(/^op\//, "")) };
    if (asFilter.rule) return go({ ...filter, rule: id });
    if (asFilter.operator) return go({ ...filter, operator: id.replace(/^op\//, "") });
  }
  view.filter = filter;
  if (position !== undefined) return openProgram(position);
  openOverview();
  if (id) document.getElementById("found").prepend(notFound(id), " ");
}

function go(filter) {
  history.replaceState(null, "", addressOf("", filter));
  return follow();
}

const notFound = (id) => element("strong", { class: "is-error", role: "alert" }, "This run has no program ", element("code", {}, visible(id)), ".");

function listAgain() {
  const key = JSON.stringify(view.filter);
  if (view.shownFilter === key) return;
  view.shownFilter = key;
  showInForm(view.filter);
  showList(view.filter);
}

async function openProgram(position) {
  if (view.position === null) view.scroll = window.scrollY;
  view.position = position;
  if (view.shownFilter !== JSON.stringify(view.filter)) view.found = matching(view.filter);
  await showProgram(position);
  if (view.position !== position) return;
  document.getElementById("overview").hidden = true;
  document.getElementById("program").hidden = false;
  document.documentElement.classList.remove("opening");
  document.title = `${plain(run.id[position])} · ${view.title}`;
  window.scrollTo(0, 0);
  document.getElementById("program-id").focus({ preventScroll: true });
  performance.mark("program-shown");
}

function openOverview() {
  const left = view.position;
  view.position = null;
  document.getElementById("program").hidden = true;
  document.getElementById("program").replaceChildren();
  document.getElementById("overview").hidden = false;
  document.documentElement.classList.remove("opening");
  document.title = view.title;
  listAgain();
  if (left === null) return;
  window.scrollTo(0, view.scroll);
  document.querySelector(`.row a[data-position="${left}"]`)?.focus({ preventScroll: true });
}

function changeFilter(filter) {
  view.filter = filter;
  history.replaceState(null, "", addressOf("", filter));
  listAgain();
}

function listenToForm() {
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  // Some browsers fire `input` for a choice, all fire `change`.
  for (const event of ["input", "change"]) form.addEventListener(event, () => changeFilter(readForm(view.filter)));
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    changeFilter(Object.fromEntries(FILTERS.map((name) => [name, ""])));
    document.getElementById("filter-q").focus();
  });
}

// Links inside the page that are neither a program nor a list.
function listenToLinks() {
  for (const button of document.querySelectorAll(".copy-source")) {
    button.addEventListener("click", async () => {
      if (!sources) await readSources();
      copy(sources[run.position.get(button.dataset.program)], button);
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (!link) return;
    if (link.id === "skip") {
      event.preventDefault();
      document.querySelector(view.position === null ? "#main" : "#program-id").focus();
    } else if (link.classList.contains("to-step")) {
      event.preventDefault();
      const step = document.getElementById(`step-${link.dataset.step}`);
      step?.scrollIntoView({ block: "center" });
    } else if (link.closest(".matrix, .tally, .cause h3")) {
      // The list is below these; a filter applied out of sight would look like a dead link.
      setTimeout(() => {
        const title = document.getElementById("programs-title");
        title.scrollIntoView({ block: "start" });
        title.focus({ preventScroll: true });
      });
    }
  });
}

async function start() {
  listenToTheme();
  try {
    await readIndex();
    offerChoices();
    listenToForm();
    listenToLinks();
    listenToKeys();
    await follow();
    window.addEventListener("hashchange", () => follow().catch(fail));
    performance.mark("report-ready");
    await readSources();
    haystack();
    performance.mark("search-ready");
    if (view.position === null && view.filter.q) {
      view.shownFilter = null;
      listAgain();
    }
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  const text = typeof DecompressionStream === "undefined"
    ? "This browser cannot unpack the report’s data (it lacks DecompressionStream). The verdict and the matrix above are complete."
    : `The report cannot be shown: ${plain(error.message ?? error)}`;
  document.getElementById("found").replaceChildren(element("strong", { class: "is-error", role: "alert" }, text));
  document.getElementById("overview").hidden = false;
  document.documentElement.classList.remove("opening");
  throw error;
}

start();
