// The overview's lists: programs that need attention, then every program by rule and operator.

const OPEN_WHEN = 40;
let groups = null;

// Programs by area, then by rule or operator, in the suite's order; cached.
function groupedOnce() {
  if (groups) return groups;
  const areas = new Map();
  for (let position = 0; position < run.size; position++) {
    const area = cell("area", position);
    const key = cell("rule", position) ?? cell("operator", position) ?? "";
    if (!areas.has(area)) areas.set(area, new Map());
    const inArea = areas.get(area);
    if (!inArea.has(key)) inArea.set(key, { key, rule: cell("rule", position), members: [] });
    inArea.get(key).members.push(position);
  }
  groups = [...areas].map(([area, inArea]) => ({ area, groups: [...inArea.values()] }));
  return groups;
}

function showList(filter) {
  performance.mark("filter-start");
  const found = matching(filter);
  view.found = found;
  const filtered = isFiltered(filter);
  document.getElementById("found").replaceChildren(...foundText(filter, found));
  document.getElementById("clear").hidden = !filtered;
  showUrgent(found);
  showGroups(found, filtered);
  performance.measure("filter", "filter-start");
}

function foundText(filter, found) {
  const parts = [`${counted(found.length, "program")}${isFiltered(filter) ? ` of ${number(run.size)}` : ""}`];
  if (filter.rule) parts.push(" under rule ", element("code", {}, visible(filter.rule)));
  if (filter.cause) parts.push(" of the cause: ", element("b", {}, sentenceNodes(run.causeWords[filter.cause] ?? filter.cause)));
  return parts;
}

function showUrgent(found) {
  const place = document.getElementById("urgent");
  const byKind = new Map(run.categories.filter((kind) => kind !== "conforms").map((kind) => [kind, []]));
  for (const position of found) byKind.get(categoryOf(position))?.push(position);
  place.replaceChildren(...[...byKind].filter(([, members]) => members.length).map(([kind, members]) =>
    element("section", { class: "urgent", "aria-label": run.words[kind] },
      element("h3", { class: `is-${kind}` }, symbol(kind), " ", URGENT_TITLES[kind],
        element("span", { class: "count" }, ` ${number(members.length)}`)),
      paged(members))));
}

const URGENT_TITLES = {
  diverges: "Diverges",
  specification: "The oracle does not meet the specification",
  error: "Error, not compared",
  unsupported: "Unsupported, not compared",
  not_run: "Not run",
  known: "Known divergence",
  other_version: "As another version of torch",
};

function showGroups(found, filtered) {
  const wanted = new Set(found);
  const few = filtered && found.length <= OPEN_WHEN;
  const shown = groupedOnce()
    .map(({ area, groups: inArea }) => ({
      area,
      groups: inArea
        .map((group) => ({ ...group, members: filtered ? group.members.filter((at) => wanted.has(at)) : group.members }))
        .filter(({ members }) => members.length),
    }))
    .filter(({ groups: inArea }) => inArea.length);
  const place = document.getElementById("groups");
  place.replaceChildren(
    ...(shown.length ? [element("h3", { class: "by-rule" }, "By rule and operator")] : [element("p", { class: "note" }, "No program matches.")]),
    ...shown.map((part) => areaFold(part, few || (filtered && shown.length === 1), few)),
  );
}

function areaFold({ area, groups: inArea }, open, openGroups) {
  const all = inArea.flatMap(({ members }) => members);
  const rules = inArea.filter(({ rule }) => rule).length;
  const kinds = rules ? counted(rules, "rule") : inArea[0].key ? counted(inArea.length, "operator") : "";
  return fold("area", open, [
    element("span", { class: "area-name" }, visible(area)),
    element("span", { class: "muted" }, [kinds, counted(all.length, "program")].filter(Boolean).join(", ")),
    tally(all),
  ], () => inArea.length === 1 && !inArea[0].key
    ? [paged(all)]
    : inArea.map((group) => groupFold(group, openGroups || inArea.length === 1)));
}

function groupFold({ key, rule, members }, open) {
  const sentence = rule ? cell("sentence", members[0]) : null;
  return fold("group", open, [
    element("span", { class: "row-id" }, visible(key)),
    element("span", { class: "group-text" }, sentence ? sentenceNodes(sentence) : counted(members.length, "program")),
    tally(members),
  ], () => [paged(members, (position) => memberText(position, sentence))]);
}

// All programs of a rule have its sentence, so a row shows the program itself.
function memberText(position, sentence) {
  const own = cell("sentence", position);
  if (own && own !== sentence) return sentenceNodes(own);
  if (!sources) return "";
  return element("code", { class: "excerpt" }, visible(excerpt(sources[position])));
}

function tally(members) {
  const counts = run.categories.map(() => 0);
  for (const position of members) counts[run.category[position]]++;
  return element("span", { class: "group-tally" }, run.categories.map((kind, at) => counts[at] > 0 &&
    element("span", { class: `is-${kind}`, title: run.words[kind] }, symbol(kind), number(counts[at]),
      element("span", { class: "off-screen" }, ` ${run.words[kind]} `))));
}

// A fold whose content is built on first opening.
function fold(name, open, title, content) {
  const made = element("details", { class: `fold ${name}` }, element("summary", {}, title));
  const fill = async () => {
    if (made.childElementCount > 1) return;
    const body = element("div", { class: "fold-body" });
    made.append(body);
    if (!sources) await readSources();
    body.append(...content());
  };
  made.addEventListener("toggle", () => made.open && fill());
  if (open) {
    made.open = true;
    fill();
  }
  return made;
}
