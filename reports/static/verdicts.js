// Verdicts as symbols and words; colour only repeats them. `terms` has both for every kind.

let terms = { levels: [], words: {}, symbols: {} };

function symbol(kind) {
  return element("span", { class: "symbol", "aria-hidden": "true" }, terms.symbols[kind] ?? "");
}

function badge(kind, word = terms.words[kind]) {
  return element("span", { class: `badge is-${kind}` }, symbol(kind), " ", word);
}

// A verdict for each level; null is a level at which nothing was compared.
function glyphs(verdicts) {
  const spoken = verdicts.map((verdict, at) => `${terms.levels[at]} ${verdict ? terms.words[verdict] : "not compared"}`).join(", ");
  return element("span", { class: "glyphs", role: "img", "aria-label": spoken, title: spoken },
    verdicts.map((verdict, at) =>
      element("span", { class: `glyph is-${verdict ?? "none"}` },
        element("span", { class: "glyph-level" }, terms.levels[at][0].toUpperCase()), terms.symbols[verdict] ?? "·")));
}

// The first difference of a program, or the reason why it was not compared.
function briefNodes([where, expected, got, reason]) {
  if (!where && !reason) return null;
  const parts = [];
  if (where) {
    parts.push(visible(where), ": expected ", element("code", {}, visible(expected)), ", got ", element("code", {}, visible(got)));
  }
  if (reason) parts.push(where ? element("br") : null, visible(reason.length > 240 ? `${reason.slice(0, 239)}…` : reason));
  return element("span", { class: "row-brief" }, parts);
}
