// The graph of a tensor, as a trace has it: the nodes below its grad_fn in preorder.

const MOST_NODES = 40;
const NODE_FORM = /^(?<name>[^]*)\((?<edges>[^()]*)\)$/;
const EDGE_FORM = /^#(?<to>\d+)(?::(?<nr>\d+))?$/;
const LEAF_FORM = /^AccumulateGrad(?: (?<variable>[^]*))?$/;

// { nodes: [{ at, name, variable, edges: [{ input, to, nr, kind }] }], cut }; the kind of an edge
// is "node", "none" where an input needs no gradient, or "unseen" where the trace ends.
function graphOf(observation) {
  const lines = listOf(observation?.graph) ?? [];
  const isObserved = !observation || observation.graph instanceof Array;
  const cut = lines.at(-1) === "...";
  const texts = cut ? lines.slice(0, -1) : lines;
  return { cut, nodes: texts.map((line, at) => nodeOf(String(line), at, texts.length)), output: whole(observation?.output_nr) ?? 0, isObserved };
}

function nodeOf(line, at, count) {
  const leaf = LEAF_FORM.exec(line);
  if (leaf) return { at, name: "AccumulateGrad", variable: leaf.groups.variable ?? "", edges: [] };
  const { name, edges } = NODE_FORM.exec(line)?.groups ?? { name: line, edges: "" };
  return { at, name, variable: null, edges: edges ? edges.split(", ").map((text, input) => edgeOf(text, input, count)) : [] };
}

function edgeOf(text, input, count) {
  if (text === "-") return { input, kind: "none" };
  const { to, nr } = EDGE_FORM.exec(text)?.groups ?? {};
  return Number(to) < count ? { input, kind: "node", to: Number(to), nr: Number(nr ?? 0) } : { input, kind: "unseen" };
}

// A node with all below it as one text, equal for graphs that are equal but for their numbers.
function formOf(nodes, from, named) {
  const numbers = new Map();
  const walk = (at) => {
    if (numbers.has(at)) return `#${numbers.get(at)}`;
    numbers.set(at, numbers.size);
    const { name, variable, edges } = nodes[at];
    return `${JSON.stringify([name, named ? variable : null])}(${edges.map((edge) => (edge.kind === "node" ? `${walk(edge.to)}:${edge.nr}` : edge.kind)).join()})`;
  };
  return walk(from);
}

// The nodes that no graph before the statement had: none there was like it, with all below.
// Leaves count by their names only while the statement leaves these names alone.
function newNodes(graph, { before, step }) {
  const olds = [...before.values()].map(graphOf);
  const leaves = new Set(olds.flatMap(({ nodes }) => nodes.map(({ variable }) => variable).filter((variable) => variable !== null)));
  const moved = (name) => name === "" || step?.deleted?.includes(name)
    || (Object.hasOwn(step?.changed ?? {}, name) && step.changed[name].storage !== before.get(name)?.storage);
  const named = ![...leaves].some(moved);
  const known = new Set(olds.flatMap(({ nodes }) => nodes.map(({ at }) => formOf(nodes, at, named))));
  return new Set(graph.nodes.map(({ at }) => at).filter((at) => !known.has(formOf(graph.nodes, at, named))));
}

const ownForm = ({ name, variable, edges }) => JSON.stringify([name, variable, edges.map(({ kind, nr }) => [kind, nr])]);

// The nodes in which two graphs differ, one set for each, and the pairs of nodes that were compared.
function differentNodes(...graphs) {
  const sides = graphs.map(({ nodes }) => nodes);
  const marks = [new Set(), new Set()];
  const pairs = [new Map(), new Map()];
  const walk = (one, two) => {
    const known = [pairs[0].get(one), pairs[1].get(two)];
    if (known[0] === two && known[1] === one) return;
    if (known[0] !== undefined || known[1] !== undefined) return mark(marks, one, two); // shared on one side only
    pairs[0].set(one, two);
    pairs[1].set(two, one);
    const [left, right] = [sides[0][one], sides[1][two]];
    if (ownForm(left) !== ownForm(right)) mark(marks, one, two);
    if (left.edges.length !== right.edges.length) return;
    left.edges.forEach((edge, input) => {
      if (edge.kind === "node" && right.edges[input].kind === "node") walk(edge.to, right.edges[input].to);
    });
  };
  if (sides[0].length && sides[1].length) walk(0, 0);
  // What no path reached on both sides: equal where the other side has the like of it.
  const unpaired = sides.map((nodes, side) => nodes.filter(({ at }) => !pairs[side].has(at)));
  const forms = sides.map((nodes) => new Set(nodes.map(({ at }) => formOf(nodes, at, true))));
  unpaired.forEach((nodes, side) => nodes.forEach(({ at }) => {
    if (!forms[1 - side].has(formOf(sides[side], at, true))) marks[side].add(at);
  }));
  return { marks, pairs };
}

// The saved tensors of each node in words, and whether the node that it was compared with lacks it.
function savedOf(graph, own, other, pairs) {
  return new Map(graph.nodes.map(({ at }) => {
    const texts = savedTexts(own?.[at]);
    const lacks = other && pairs?.has(at) ? lacking(texts, savedTexts(other[pairs.get(at)])) : [];
    return [at, texts.map((one, row) => ({ ...one, isDifferent: Boolean(lacks[row]) }))];
  }));
}

// For each saved tensor whether the other node has none like it, by its attribute or else by its place.
function lacking(own, theirs) {
  const left = [...theirs];
  const taken = (key, one) => {
    const at = left.findIndex((other) => other[key] === one[key]);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  };
  const exact = own.map((one) => taken("text", one));
  return own.map((one, row) => !exact[row] && !taken("where", one));
}

function mark(marks, one, two) {
  marks[0].add(one);
  marks[1].add(two);
}

// The nodes nearest to the root, as many as can be read; the others are counted.
function shownNodes({ nodes }) {
  const shown = nodes.length ? [0] : [];
  for (let next = 0; next < shown.length; next++) {
    for (const { kind, to } of nodes[shown[next]].edges) {
      if (kind === "node" && !shown.includes(to) && shown.length < MOST_NODES) shown.push(to);
    }
  }
  return shown.sort((one, two) => one - two);
}

const leftOut = ({ nodes, cut }, shown) => {
  const missing = nodes.length - shown.length;
  if (cut) return `more than ${counted(missing, "node")} left out`;
  return missing ? `${counted(missing, "node")} left out` : null;
};

const nodeTitle = ({ at, name, variable }) => `#${at} ${name}${variable ? ` of ${variable}` : ""}`;
const markWords = (isNew, isDifferent) => [isNew && "new", isDifferent && "differs"].filter(Boolean);

// The same as the drawing in words, one line for each node.
function graphTexts({ name, graph, shown, fresh, different, stale, saved }) {
  const inside = new Set(shown);
  const edge = ({ input, kind, to, nr }) => {
    if (kind === "none") return `input ${input} has no edge`;
    if (kind === "unseen" || !inside.has(to)) return `input ${input} goes to a node that is left out`;
    return `input ${input} goes to #${to}${nr ? `, its input ${nr}` : ""}`;
  };
  const lines = shown.map((at) => {
    const node = graph.nodes[at];
    const words = markWords(fresh.has(at), different.has(at));
    const parts = [...node.edges.map(edge), ...saved.get(at).map(({ text, isDifferent }) => `${text}${isDifferent ? " (differs)" : ""}`)].join("; ");
    return `${nodeTitle(node)}${words.length ? ` (${words.join(", ")})` : ""}${parts ? `: ${parts}` : ""}`;
  });
  const root = `${name} is output ${graph.output} of #0`;
  return [root, ...lines, leftOut(graph, shown), stale && staleText(stale)].filter(Boolean);
}
