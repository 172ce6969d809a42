// Keyboard shortcuts: each repeats a button or a link.

const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
    if (event.key === "Escape") return escape(event);
    if (isTyping(event.target) && event.target.type !== "checkbox") return;
    const action = { "/": search, "?": help, j: () => move(1), k: () => move(-1), c: press("copy-program"), r: press("copy-command"), f: press("full-precision") }[event.key];
    if (action && action() !== false) event.preventDefault();
  });
  document.getElementById("help-open").addEventListener("click", help);
  document.getElementById("search-open").addEventListener("click", search);
}

function help() {
  document.getElementById("help").showModal();
}

function search() {
  if (view.position !== null) location.hash = addressOf("", view.filter);
  const field = document.getElementById("filter-q");
  setTimeout(() => {
    field.focus();
    field.select();
  });
}

const press = (id) => () => {
  const found = document.getElementById(id);
  if (!found || view.position === null) return false;
  found.click();
};

function escape(event) {
  if (view.position !== null) {
    event.preventDefault();
    location.hash = addressOf("", view.filter);
  } else if (event.target.id === "filter-q") {
    event.preventDefault();
    changeFilter({ ...view.filter, q: "" });
    if (!event.target.value) event.target.blur();
  }
}

// Moves to the neighbouring page on a program's page, to the neighbouring row in the list.
function move(by) {
  if (view.position !== null) {
    const found = walked(view.position);
    const at = found.indexOf(view.position);
    const to = at < 0 ? undefined : found[at + by];
    if (to !== undefined) location.hash = addressOf(run.id[to], view.filter);
    return;
  }
  const rows = [...document.querySelectorAll("#urgent .row a, #groups .fold > summary, #groups .row a")]
    .filter((found) => found.checkVisibility?.() ?? found.offsetParent !== null);
  const at = rows.indexOf(document.activeElement);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
