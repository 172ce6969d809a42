// The site's data: `site` is in the page, the rest in files loaded on demand.
// A page from disk cannot fetch, so a data file is a script that passes its text to `shard`.

let site = null;
const arrivals = new Map();
const FILE = /^data\/[a-z]+-[0-9a-f]{16}\.js$/;
const trusted = globalThis.trustedTypes?.createPolicy("shard", {
  createScriptURL: (name) => {
    if (!FILE.test(name)) throw new TypeError(`not a data file of this site: ${name}`);
    return name;
  },
});

globalThis.shard = (name, text) => arrivals.get(name)?.(text);

function arrived(name) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    arrivals.set(name, resolve);
    script.addEventListener("load", () => {
      arrivals.delete(name);
      script.remove();
      reject(new Error(`${name} is damaged. Build the site again.`));
    });
    script.addEventListener("error", () => reject(new Error(`${name} is missing. Build the site again, or copy all of it.`)));
    script.src = trusted ? trusted.createScriptURL(name) : name;
    document.head.append(script);
  });
}

const loading = new Map();
function loaded(name) {
  if (!loading.has(name)) loading.set(name, arrived(name).then(unpacked));
  return loading.get(name);
}

async function readSite() {
  site = await unpacked(document.querySelector('script[data-blob="index"]').textContent);
  terms = site;
  const fields = ["id", "series", "position", "moment", "version", "complete", "file", "label", "url"];
  site.runs = site.runs.map((cells) => Object.fromEntries(cells.map((cell, at) => [fields[at], cell])));
  site.run = new Map(site.runs.map((run) => [run.id, run]));
  site.series.forEach((series, number) => {
    series.number = number;
    series.runs = site.runs.filter((run) => run.series === number).sort((one, two) => one.position - two.position);
  });
}

// The file of a key: FNV-1a over its UTF-8 bytes, as in ledger.py.
function placeOf(key) {
  let found = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(key)) found = Math.imul(found ^ byte, 0x01000193) >>> 0;
  return found % site.histories.length;
}

const columnText = ({ texts, cells }, at) => (cells[at] < 0 ? null : texts[cells[at]]);

const programLists = new Map();
async function programsOf(place) {
  if (!programLists.has(place)) {
    programLists.set(place, loaded(site.histories[place]).then((shard) => shard.id.map((id, at) => ({
      id, place, at,
      ...Object.fromEntries(["area", "rule", "operator", "dtype", "sentence"].map((name) => [name, columnText(shard[name], at)])),
      standings: shard.standings,
      history: shard.histories[shard.history[at]],
    }))));
  }
  return programLists.get(place);
}

let everything = null;
function allPrograms() {
  everything ??= Promise.all(site.histories.map((_, place) => programsOf(place))).then((lists) => {
    const areas = new Map(site.areas.map((area, at) => [area, at]));
    const names = new Intl.Collator("en", { numeric: true });
    return lists.flat().sort((one, two) => areas.get(one.area) - areas.get(two.area) || names.compare(one.id, two.id));
  });
  return everything;
}

// The program with an ID, or all of a rule; an ID under a rule is in the file of its rule.
async function programsNamed(name) {
  for (const key of [name, name.replace(/\.[^.]*$/, "")]) {
    const found = (await programsOf(placeOf(key))).filter(({ id, rule }) => id === name || rule === name);
    if (found.length) return found;
  }
  return [];
}

function failed(error) {
  const text = typeof DecompressionStream === "undefined"
    ? "This browser cannot unpack the site’s data (it lacks DecompressionStream). The overview is complete."
    : `This page cannot be shown: ${plain(error.message ?? error)}`;
  document.getElementById("found").replaceChildren(element("strong", { class: "is-error", role: "alert" }, text));
  throw error;
}
