// A row of a list: a program with its standing in the current run, or in both compared runs.

function row({ program, standing, before }) {
  const category = standing?.[0] ?? before?.[0];
  const moved = before === undefined ? null
    : element("span", { class: "moved" }, standingWord(before), " → ", element("b", {}, standingWord(standing)));
  return element("li", { class: `row is-${category}` },
    element("a", { href: `programs.html#${quotedId(program.id)}` },
      symbol(category),
      element("span", { class: "off-screen" }, `${terms.words[category]}: `),
      element("span", { class: "row-id" }, visible(program.id)),
      element("span", { class: "row-text" }, moved, sentenceNodes(program.sentence ?? ""), briefNodes((standing ?? before)?.[2] ?? [])),
      standing ? glyphs(standing[1]) : null));
}

const standingWord = (standing) => standing
  ? element("span", { class: `is-${standing[0]} toned` }, terms.words[standing[0]])
  : element("span", { class: "muted" }, "not in the run");
