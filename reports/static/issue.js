// A divergence as the Markdown of an issue: program, both sides, versions and commands.

// A fence or a code span that the text cannot end.
function fenced(text, language = "") {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function span(text) {
  const line = plain(text).replaceAll("\n", " ");
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const ticks = "`".repeat(longest + 1);
  return longest ? `${ticks} ${line} ${ticks}` : `${ticks}${line}${ticks}`;
}

function divergenceLine({ level, line, step, name, field, expected, got }) {
  const where = line ? `line ${line}` : `statement ${step}`;
  const told = [expected, got].map((side) => span(valueText(orNothing(side, field))));
  return `- ${level}, ${where}, ${span(name ? `${name}${dotted(field)}` : field)}: expected ${told[0]}, got ${told[1]}`;
}

function issueText(position, program, command) {
  const kind = categoryOf(position);
  const rule = cell("sentence", position);
  const exactly = (side) => [side.title ?? side.name, side.version, side.device ? `(${side.device})` : ""].filter(Boolean).join(" ");
  const parts = [
    `### ${span(run.id[position])}: ${run.words[kind]}`,
    rule ? `> ${plain(rule).replaceAll("<", "&lt;").replaceAll("\n", " ")}` : null,
    fenced(program.source.replace(/\n+$/, ""), "python"),
    program.divergences.length ? program.divergences.map(divergenceLine).join("\n") : null,
    program.reason ? fenced(plain(program.reason)) : null,
    [
      `- expected: ${span(exactly(run.oracle))}`,
      `- got: ${span(exactly(run.backend))}${run.about.revision ? `, revision ${span(run.about.revision)}` : ""}`,
      `- suite ${span(run.about.suite)}, seed ${run.about.seed}, default dtype ${run.about.dtype}`,
      `- again: ${span(command)}`,
      run.about.url ? `- report: ${run.about.url}#${quotedId(run.id[position])}` : null,
    ].filter(Boolean).join("\n"),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}
