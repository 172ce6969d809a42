// The indices: shows the entries that have the words asked for, those that fit best first. A message
// that is pasted may have other numbers and names than the recorded one, so most words are enough.

listenToTheme();

const ENOUGH = 0.6;

const box = document.getElementById("q");
const list = document.querySelector(".index-list");
const entries = [...list.querySelectorAll("[data-entry]")].map((row, place) => {
  const heading = row.querySelector("dt");
  return { row, place, text: squeezed(heading.textContent), name: squeezed(heading.querySelector("code")?.textContent ?? "") };
});

// How well an entry fits: the share of the words that it has; an exact name comes before all others.
function worth({ text, name }, words) {
  if (!words.length) return 1;
  if (name === words.join(" ")) return 2;
  return words.filter((word) => text.includes(word)).length / words.length;
}

function filter() {
  const words = squeezed(box.value).split(" ").filter(Boolean);
  const found = entries.map((entry) => ({ ...entry, worth: worth(entry, words) }));
  found.sort((one, other) => other.worth - one.worth || one.place - other.place);
  for (const { row, worth } of found) row.hidden = worth < ENOUGH;
  list.append(...found.map(({ row }) => row));
  const shown = found.filter(({ worth }) => worth >= ENOUGH).length;
  document.getElementById("found").textContent = counted(shown, "entry", "entries");
  history.replaceState(null, "", box.value ? `#?q=${encodeURIComponent(box.value)}` : location.pathname);
}

box.addEventListener("input", filter);
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
if (location.hash.startsWith("#?")) {
  box.value = new URLSearchParams(location.hash.slice(2)).get("q") ?? "";
  filter();
}
performance.mark("site-ready");
