// The index page: search over every rule, and redirection from a rule's ID to its chapter.

const SHOWN = 60;
const CONTEXT = 90;

const box = document.getElementById("q");
const rules = [];

// A rule's rank among what was found: its ID, its sentence, its prose; none if a word is missing.
function rank(rule, words) {
  const [id, sentence, prose] = rule.lower;
  if (!words.every((word) => id.includes(word) || sentence.includes(word) || prose.includes(word))) return null;
  if (words.every((word) => id.includes(word))) return id === words[0] ? 0 : 1;
  return words.every((word) => id.includes(word) || sentence.includes(word)) ? 2 : 3;
}

// Text as nodes, with every occurrence of the words marked.
function marked(text, words) {
  const lower = text.toLowerCase();
  const nodes = [];
  let from = 0;
  while (from < text.length) {
    let at = text.length;
    let length = 0;
    for (const word of words) {
      const found = lower.indexOf(word, from);
      if (found >= 0 && (found < at || (found === at && word.length > length))) [at, length] = [found, word.length];
    }
    nodes.push(...visible(text.slice(from, at)));
    if (length) nodes.push(element("mark", {}, visible(text.slice(at, at + length))));
    from = at + length;
    if (!length) break;
  }
  return nodes;
}

// The prose around the first word that occurs in the prose only.
function around(rule, words) {
  const [id, sentence, prose] = rule.lower;
  const word = words.find((one) => !id.includes(one) && !sentence.includes(one));
  if (word === undefined) return null;
  const at = prose.indexOf(word);
  // Whole words, and the word itself however long it is.
  const from = at > CONTEXT ? Math.min(at, prose.indexOf(" ", at - CONTEXT) + 1) : 0;
  const to = Math.min(rule.prose.length, at + word.length + CONTEXT);
  const text = `${from ? "… " : ""}${rule.prose.slice(from, to)}${to < rule.prose.length ? " …" : ""}`;
  return element("span", { class: "row-brief" }, marked(text, words));
}

function hit(rule, words) {
  const address = `${rule.page}#${quotedId(rule.id)}`;
  return element("li", {}, element("a", { href: address },
    element("span", { class: "row-id" }, marked(rule.id, words)),
    element("span", { class: "row-text" }, marked(rule.sentence.replaceAll("`", ""), words)),
    around(rule, words)));
}

function search() {
  const text = box.value.trim();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rules
    .map((rule) => [words.length ? rank(rule, words) : null, rule])
    .filter(([order]) => order !== null)
    .sort(([one], [other]) => one - other)
    .map(([, rule]) => rule);
  document.getElementById("results").hidden = !words.length;
  document.getElementById("hits").replaceChildren(...found.slice(0, SHOWN).map((rule) => hit(rule, words)));
  const rest = found.length > SHOWN ? `, the first ${SHOWN} are shown` : "";
  document.getElementById("found").textContent = `${counted(found.length, "rule")} found${rest}`;
  history.replaceState(null, "", words.length ? `#?${new URLSearchParams({ q: text })}` : location.pathname);
}

// `index.html#TIES-03` redirects to the rule in its current chapter; `#?q=` searches.
function open() {
  const fragment = location.hash.slice(1);
  if (fragment.startsWith("?")) {
    box.value = new URLSearchParams(fragment.slice(1)).get("q") ?? "";
    search();
    return;
  }
  const id = unquoted(fragment);
  const rule = rules.find((one) => id === one.id || id.startsWith(`${one.id}.`));
  if (rule) location.replace(`${rule.page}#${quotedId(id)}`);
}

async function start() {
  const chapters = await unpacked(document.querySelector("[data-blob=index]").textContent);
  for (const [page, , listed] of chapters) {
    for (const [id, sentence, prose] of listed) {
      const lower = [id, sentence, prose].map((text) => text.toLowerCase());
      rules.push({ page, id, sentence: sentence.replaceAll("`", ""), prose, lower });
    }
  }
  open();
  box.addEventListener("input", search);
  window.addEventListener("hashchange", open);
  performance.mark("site-ready");
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  document.querySelector("#hits a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  box.focus();
});
listenToTheme();
start();
