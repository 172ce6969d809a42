// The filter: its form, and the programs that it selects.

let haystacks = null;

// The lower-case text that search looks at; sources are added once they are decoded.
function haystack() {
  if (haystacks && haystacks.withSources === Boolean(sources)) return haystacks.texts;
  const texts = run.id.map((id, position) =>
    [id, cell("sentence", position), cell("operator", position), run.briefs[position]?.join("\n"), sources?.[position]]
      .filter(Boolean).join("\n").toLowerCase());
  haystacks = { withSources: Boolean(sources), texts };
  return texts;
}

function matching(filter) {
  const terms = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = terms.length ? haystack() : null;
  const columns = ["cause", "area", "rule", "operator", "dtype", "versions"]
    .filter((name) => filter[name])
    .map((name) => ({ cells: run[name].cells, wanted: numberOf(run[name].texts, filter[name]) }));
  const level = run.levels.indexOf(filter.level);
  const found = [];
  for (let position = 0; position < run.size; position++) {
    if (columns.some(({ cells, wanted }) => wanted < 0 || cells[position] !== wanted)) continue;
    if (!hasVerdict(position, level, filter.verdict)) continue;
    if (texts && !terms.every((term) => texts[position].includes(term))) continue;
    found.push(position);
  }
  return found;
}

function numberOf(texts, wanted) {
  const text = addressable(wanted);
  return texts.findIndex((one) => addressable(one) === text);
}

function hasVerdict(position, level, verdict) {
  const category = categoryOf(position);
  if (verdict === "specification") return run.failedSpecification.has(position);
  if (["unsupported", "error", "not_run"].includes(verdict)) return category === verdict;
  if (level < 0) {
    if (verdict === "not_applicable") return run.levels.some((_, at) => verdictAt(position, at) === verdict);
    return !verdict || category === verdict;
  }
  const found = verdictAt(position, level);
  if (!verdict) return found !== null;
  if (verdict === "known") return found === "diverges" && category === "known";
  return found === verdict && !(verdict === "diverges" && category === "known");
}

// Fills the form's choices with the run's values and their counts.
function offerChoices() {
  for (const name of ["area", "operator", "dtype", "versions"]) {
    const counts = new Map();
    for (const at of run[name].cells) if (at >= 0) counts.set(at, (counts.get(at) ?? 0) + 1);
    const texts = run[name].texts.map((text, at) => [text, counts.get(at)]);
    if (name !== "area") texts.sort(([one], [two]) => one.localeCompare(two));
    offer(name, texts);
  }
  offer("level", run.levels.map((level) => [level]));
  const tally = run.categories.map(() => 0);
  for (const at of run.category) tally[at]++;
  const verdicts = run.categories
    .map((kind, at) => [kind, kind === "specification" ? run.failedSpecification.size : tally[at], run.words[kind]]);
  verdicts.push(["not_applicable", null, run.words.not_applicable]);
  offer("verdict", verdicts);
}

function offer(name, choices) {
  const field = document.getElementById(`filter-${name}`);
  for (const [value, count, word] of choices) {
    const text = plain(word ?? value);
    field.append(element("option", { value }, count === undefined || count === null ? text : `${text} (${number(count)})`));
  }
  field.closest("label").hidden = !choices.length;
}

function showInForm(filter) {
  for (const name of FILTERS) {
    const field = document.getElementById(`filter-${name}`);
    if (field && field.value !== filter[name]) field.value = filter[name];
    field?.closest("label").classList.toggle("active", Boolean(filter[name]));
  }
}

function readForm(filter) {
  const read = { ...filter };
  for (const name of FILTERS) {
    const field = document.getElementById(`filter-${name}`);
    if (field) read[name] = field.value;
  }
  return read;
}
