// Rows of the lists: one program each, a link to its page.

const levelGlyphs = (position) => glyphs(run.levels.map((_, at) => verdictAt(position, at)));

function row(position, text) {
  const kind = categoryOf(position);
  const id = run.id[position];
  return element("li", { class: `row is-${kind}` },
    element("a", { href: addressOf(id, view.filter), "data-position": position },
      symbol(kind),
      element("span", { class: "off-screen" }, `${run.words[kind]}: `),
      element("span", { class: "row-id" }, visible(id)),
      element("span", { class: "row-text" }, text ?? sentenceNodes(cell("sentence", position) ?? ""), briefNodes(run.briefs[position] ?? [])),
      levelGlyphs(position)));
}
