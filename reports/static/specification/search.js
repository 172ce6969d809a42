// The index page: search over every rule, its programs and their errors; and redirection from a
// rule's ID to its chapter.

const SHOWN = 60;
const CONTEXT = 90;

const box = document.getElementById("q");
const rules = [];

// Words that nearly every question has.
const STOP = new Set(
  ("a an and are as at be but by can do does for from get give has have how i in into is it its my not of on or so than that the "
    + "their them then there these they this to was were what when where which while who why will with you your").split(" "),
);
// What a word is worth in a rule's ID, sentence, prose, and programs with their errors.
const WORTH = [8, 4, 2, 1.5];
const PHRASE = 40;
// The part of the words' worth that a rule needs to be shown.
const LEAST = 0.5;

// The words of a question; an ID may be typed without its hyphen.
function asked(text) {
  const all = text.toLowerCase().split(/[^\p{L}\p{N}_.'-]+/u).map((word) => word.replace(/^[.'-]+|[.'-]+$/g, "")).filter(Boolean);
  const words = all.filter((word) => !STOP.has(word)).map((word) => word.replace(/^([a-z]+)(\d{2}(?:\.\d+)?)$/, "$1-$2"));
  return [...new Set(words.length ? words : all)];
}

// A message without its numbers: those of a pasted one are seldom the recorded ones.
const numberless = (text) => squeezed(text).replace(/\d+(, \d+)*/g, "#");

// Whether one of a rule's texts has the phrase.
function says(rule, phrase) {
  rule.numberless ??= rule.lower.map(numberless);
  return rule.numberless.some((part) => part.includes(phrase));
}

// Rules by their worth for the words: rarer words count for more, and so does the whole phrase.
function ranked(text, words) {
  const places = words.map((word) => rules.map((rule) => rule.lower.map((part) => part.includes(word))));
  const weights = places.map((found) => Math.log(1 + rules.length / (1 + found.filter((parts) => parts.some(Boolean)).length)));
  const total = weights.reduce((one, other) => one + other, 0);
  const phrase = numberless(text);
  return rules
    .map((rule, at) => {
      const parts = words.map((_, word) => places[word][at]);
      const met = weights.reduce((sum, weight, word) => sum + (parts[word].some(Boolean) ? weight : 0), 0);
      const worth = weights.reduce((sum, weight, word) => sum + weight * Math.max(0, ...WORTH.filter((_, part) => parts[word][part])), 0);
      const whole = words.length > 2 && says(rule, phrase);
      return { rule, met, worth: worth + (whole ? PHRASE : 0) + (rule.lower[0] === words[0] ? PHRASE : 0) };
    })
    .filter(({ met }) => met > 0 && met >= LEAST * total)
    .sort((one, other) => other.worth - one.worth)
    .map(({ rule }) => rule);
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

// The text around the first word that occurs in the prose, or in a program, only.
function around(rule, words) {
  const [id, sentence, prose, programs] = rule.lower;
  const missing = words.filter((one) => !id.includes(one) && !sentence.includes(one));
  const inProse = missing.find((one) => prose.includes(one));
  const word = inProse ?? missing.find((one) => programs.includes(one));
  if (word === undefined) return null;
  const [whole, lower] = inProse === undefined ? [rule.programs, programs] : [rule.prose, prose];
  const at = lower.indexOf(word);
  // Whole words, and the word itself however long it is.
  const from = at > CONTEXT ? Math.min(at, lower.indexOf(" ", at - CONTEXT) + 1) : 0;
  const to = Math.min(whole.length, at + word.length + CONTEXT);
  const text = `${from ? "… " : ""}${whole.slice(from, to)}${to < whole.length ? " …" : ""}`;
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
  const words = asked(text);
  const found = words.length ? ranked(text, words) : [];
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
    for (const [id, sentence, prose, programs] of listed) {
      const lower = [id, sentence, prose, squeezed(programs)].map((text) => text.toLowerCase());
      rules.push({ page, id, sentence: sentence.replaceAll("`", ""), prose, programs: programs.replace(/\s+/g, " ").trim(), lower });
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
