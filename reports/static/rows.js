// Rows of the lists: one program each, a link to its page.

const PAGE = 60;

function levelGlyphs(position) {
  const verdicts = run.levels.map((level, at) => [level, verdictAt(position, at)]);
  const spoken = verdicts.map(([level, verdict]) => `${level} ${verdict ? run.words[verdict] : "not compared"}`).join(", ");
  return element("span", { class: "glyphs", role: "img", "aria-label": spoken, title: spoken },
    verdicts.map(([level, verdict]) =>
      element("span", { class: `glyph is-${verdict ?? "none"}` },
        element("span", { class: "glyph-level" }, level[0].toUpperCase()), run.symbols[verdict] ?? "·")));
}

function row(position, text) {
  const kind = categoryOf(position);
  const id = run.id[position];
  return element("li", { class: `row is-${kind}` },
    element("a", { href: addressOf(id, view.filter), "data-position": position },
      symbol(kind),
      element("span", { class: "off-screen" }, `${run.words[kind]}: `),
      element("span", { class: "row-id" }, visible(id)),
      element("span", { class: "row-text" }, text ?? sentenceNodes(cell("sentence", position) ?? ""), brief(position)),
      levelGlyphs(position)));
}

// Where a program differs first, or why it was not compared.
function brief(position) {
  const [where, expected, got, reason] = run.briefs[position] ?? [];
  if (!where && !reason) return null;
  const parts = [];
  if (where) {
    parts.push(visible(where), ": expected ", element("code", {}, visible(expected)), ", got ", element("code", {}, visible(got)));
  }
  if (reason) parts.push(where ? element("br") : null, visible(reason.length > 240 ? `${reason.slice(0, 239)}…` : reason));
  return element("span", { class: "row-brief" }, parts);
}

// A list of which one page is shown, with a button for the next.
function paged(positions, textOf, list = element("ol", { class: "rows" })) {
  const held = element("div", { class: "paged" }, list);
  let shown = 0;
  const button = element("button", { type: "button", class: "quiet more" });
  const next = () => {
    const from = shown;
    const to = Math.min(positions.length, from ? from + 5 * PAGE : PAGE);
    const fresh = document.createDocumentFragment();
    for (; shown < to; shown++) fresh.append(row(positions[shown], textOf?.(positions[shown])));
    list.append(fresh);
    const left = positions.length - shown;
    button.textContent = `Show ${left > 5 * PAGE ? `${number(5 * PAGE)} of ${number(left)}` : number(left)} more`;
    if (!left) button.remove();
    if (from) list.children[from].querySelector("a").focus();
  };
  next();
  if (shown < positions.length) held.append(button);
  button.addEventListener("click", next);
  return held;
}
