// Drawings of a graph and of memory as SVG. Text is text nodes, and colours are classes.

const CHARACTER = 7.3;
const SMALL_CHARACTER = 6.1;
const MOST_CHARACTERS = 30;
const NOTE_CHARACTERS = 44;
const SAVED_CHARACTERS = 28;
const LINE = 15;
const SMALL_LINE = 13;
const SMALLEST_SCALE = 0.85;
const SIGNS_OF = { new: "+", differs: "≠" };

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  append(made, children);
  return made;
}

const clipped = (text, most = MOST_CHARACTERS) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const round = (value) => Math.round(value * 10) / 10;

const words = (x, y, text, kind = "", anchor = null, most = MOST_CHARACTERS) =>
  svg("text", { x: round(x), y: round(y), class: kind || null, "text-anchor": anchor }, clipped(plain(text), most));

// A picture with its name elsewhere on the page.
function picture(width, height, labelledBy, kind, ...children) {
  const made = svg("svg", {
    viewBox: `-2 -2 ${Math.ceil(width) + 4} ${Math.ceil(height) + 4}`, width: Math.ceil(width) + 4, height: Math.ceil(height) + 4,
    class: `drawn ${kind}`, role: "img", "aria-labelledby": labelledBy,
  }, ...children);
  // Below this scale its text is hard to read: a wider picture scrolls in its frame.
  made.style.minWidth = `${Math.floor(width * SMALLEST_SCALE)}px`;
  return made;
}

const classOf = (isNew, isDifferent, ...others) => [...others, isNew && "is-new", isDifferent && "is-different"].filter(Boolean).join(" ");
const signOf = (isNew, isDifferent) => `${isNew ? SIGNS_OF.new : ""}${isDifferent ? SIGNS_OF.differs : ""}`;

function drawGraph(model, labelledBy) {
  const { name, graph, shown, fresh, different, stale, saved } = model;
  const position = new Map(shown.map((at, box) => [at, box + 1]));
  const boxes = [rootBox(name, graph), ...shown.map((at) => nodeBox(graph.nodes[at], saved.get(at), fresh.has(at), different.has(at)))];
  const edges = [[{ kind: "node", to: 0, nr: graph.output, input: null }], ...shown.map((at) => graph.nodes[at].edges)];
  const drawn = edges.map((some) => some.filter(({ kind, to }) => kind === "node" && position.has(to)));
  const { places, routes, width, height } = laidOut(boxes.map((box, at) => ({ ...box, to: drawn[at].map(({ to }) => position.get(to)) })));
  const graphOfBoxes = { boxes, edges, drawn, places, routes, position };
  const tips = tipsOf(graphOfBoxes);
  const lines = boxes.map((_, at) => edgesOf(at, { ...graphOfBoxes, tips }));
  const notes = [[leftOut(graph, shown), "quiet"], [stale && staleText(stale), "stale"]]
    .flatMap(([text, kind]) => (text ? wrapped(text, NOTE_CHARACTERS).map((line) => [line, kind]) : []));
  const longest = Math.max(0, ...notes.map(([line]) => line.length * SMALL_CHARACTER));
  const below = notes.map(([line, kind], at) => words(0, height + 24 + at * LINE, line, kind, null, Infinity));
  return picture(Math.max(width, longest), height + (below.length ? 18 + below.length * LINE : STUB), labelledBy, "graph",
    lines, boxes.map((box, at) => box.draw(places[at])), below);
}

function rootBox(name, graph) {
  const text = clipped(plain(name));
  const width = text.length * CHARACTER + 20;
  const draw = ({ x, y }) => svg("g", { class: "root" },
    svg("rect", { x: round(x - width / 2), y, width: round(width), height: 22, rx: 11 }),
    words(x, y + 15, text, "", "middle"),
    graph.output ? words(x + width / 2 + 4, y + 15, `output ${graph.output}`, "quiet") : null);
  // The middle of the box stays that of the name.
  return { width: width + (graph.output ? 2 * ROOT_NOTE : 0), height: 22, draw };
}

function nodeBox(node, saved, isNew, isDifferent) {
  const isLeaf = node.variable !== null;
  const sign = signOf(isNew, isDifferent);
  const lines = [[`${sign && `${sign} `}#${node.at} ${node.name}`, ""], ...(isLeaf && node.variable ? [[node.variable, "strong"]] : [])];
  const notes = saved.flatMap(({ text, isStale, isDifferent }) => wrapped(isDifferent ? `${SIGNS_OF.differs} ${text}` : text, SAVED_CHARACTERS)
    .map((line) => [line, isDifferent ? "wrong" : isStale ? "stale" : "quiet"]));
  const width = Math.max(...lines.map(([text]) => Math.min(text.length, MOST_CHARACTERS) * CHARACTER), ...notes.map(([text]) => text.length * SMALL_CHARACTER)) + 16;
  const height = lines.length * LINE + notes.length * SMALL_LINE + 9;
  const draw = ({ x, y }) => svg("g", { class: classOf(isNew, isDifferent, "node", isLeaf && "leaf"), "data-node": node.at },
    svg("title", {}, plain(nodeTitle(node))),
    svg("rect", { x: round(x - width / 2), y, width: round(width), height, rx: isLeaf ? 12 : 4 }),
    lines.map(([text, kind], at) => words(x, y + 16 + at * LINE, text, kind, "middle")),
    notes.map(([text, kind], at) => words(x, y + 15 + lines.length * LINE + at * SMALL_LINE, text, kind, "middle", Infinity)));
  return { width, height, draw };
}

const STUB = 16;
const ROOT_NOTE = 60;

// The place from which an edge leaves: each has its own on the lower side of the box.
function startOf({ x, y }, box, edges, edge) {
  const step = Math.min(26, (box.width - 12) / Math.max(1, edges.length));
  return [x + (edges.indexOf(edge) - (edges.length - 1) / 2) * step, y + box.height];
}

// The place at which each edge arrives, beside the others from left to right: { edge: [x, y] }.
function tipsOf({ boxes, edges, drawn, places, routes, position }) {
  const arrivals = boxes.map(() => []);
  drawn.forEach((some, from) => some.forEach((edge, number) => {
    const lanes = routes[from][number];
    if (!lanes) return; // closes a cycle
    arrivals[position.get(edge.to)].push({ edge, x: lanes.at(-1)?.[0] ?? startOf(places[from], boxes[from], edges[from], edge)[0] });
  }));
  return new Map(arrivals.flatMap((some, box) => {
    const step = Math.min(12, (boxes[box].width - 12) / Math.max(1, some.length));
    return some.sort((one, two) => one.x - two.x)
      .map(({ edge }, at) => [edge, [places[box].x + (at - (some.length - 1) / 2) * step, places[box].y]]);
  }));
}

function edgesOf(from, { boxes, edges: all, drawn, places, routes, tips }) {
  const edges = all[from];
  return edges.map((edge) => {
    const start = startOf(places[from], boxes[from], edges, edge);
    const tip = tips.get(edge);
    const lanes = tip && routes[from][drawn[from].indexOf(edge)];
    // The number stands on the side from which the edge bends away.
    const next = tip ? lanes[0]?.[0] ?? tip[0] : start[0];
    const [aside, anchor] = next > start[0] ? [-3, "end"] : [3, null];
    const label = edges.length > 1 ? words(start[0] + aside, start[1] + 11, String(edge.input), "input", anchor) : null;
    if (!tip) {
      const [kind, shape] = edge.kind === "none" ? ["no-edge", "h-4 h8"] : ["unseen", "l-3 -5 m3 5 l3 -5"];
      return svg("g", { class: kind, "data-from": from - 1, "data-input": edge.input }, label,
        svg("path", { d: `M${round(start[0])} ${start[1]} v${STUB - 4} ${shape}` }));
    }
    return svg("g", { class: "edge", "data-from": from - 1, "data-to": edge.to, "data-input": edge.input },
      svg("path", { d: curve(start, lanes, tip) }), svg("path", { class: "tip", d: `M${round(tip[0])} ${tip[1]} l-3.5 -6 h7 z` }), label,
      edge.nr && from ? words(tip[0] + 5, tip[1] - 3, `:${edge.nr}`, "input") : null);
  });
}

// A path that leaves and arrives upright, and passes each layer between in its lane.
function curve(start, lanes, tip) {
  let [x, y] = start;
  let path = `M${round(x)} ${round(y)}`;
  const to = (nextX, nextY) => {
    const bend = (nextY - y) / 2;
    path += ` C${round(x)} ${round(y + bend)} ${round(nextX)} ${round(nextY - bend)} ${round(nextX)} ${round(nextY)}`;
    [x, y] = [nextX, nextY];
  };
  for (const [lane, top, bottom] of lanes) {
    to(lane, top);
    path += ` L${round(lane)} ${round(bottom)}`;
    y = bottom;
  }
  to(tip[0], tip[1] - 4);
  return path;
}

const MEMORY_WIDTH = 324;
const NAMES_WIDTH = 96;
const CELLS_WIDTH = MEMORY_WIDTH - NAMES_WIDTH - 12;
const MOST_CELLS = 24;
const CELL_HEIGHT = 13;

function drawMemory(model, labelledBy) {
  const { storages, missing } = shownMemory(model.memory);
  let y = 0;
  const groups = storages.map((storage) => {
    const { group, height } = drawStorage(storage, y, model);
    y += height + 10;
    return group;
  });
  if (missing > 0) groups.push(words(0, y + 12, `${counted(missing, "tensor")} left out`, "quiet"));
  return picture(MEMORY_WIDTH, missing > 0 ? y + 16 : Math.max(0, y - 10), labelledBy, "memory", groups);
}

function drawStorage(storage, top, { news, differences }) {
  const key = `storage ${storage.label}`;
  const said = news?.get(key);
  const scale = scaleOf(storage.tensors);
  const version = [storageVersion(storage), said?.startsWith("version was") ? `(was ${said.slice(12)})` : null].filter(Boolean).join(" ");
  const sign = said ? `${SIGNS_OF.new} ` : "";
  let y = top + 20;
  const parts = [words(8, y - 4, sign + storageTitle(storage), said ? "strong said" : "strong"), words(MEMORY_WIDTH - 8, y - 4, version, said ? "said" : "", "end")];
  if (scale.labels.length) {
    parts.push(scale.labels.map(([x, text]) => words(x, y + 9, text, "index", "middle")));
    y += 13;
  }
  for (const tensor of storage.tensors) {
    const drawn = drawTensor(tensor, y, { scale, storage, news, differences });
    parts.push(drawn.group);
    y += drawn.height;
  }
  const height = y - top + 4;
  const frame = svg("rect", { class: "frame", x: 0, y: top, width: MEMORY_WIDTH, height, rx: 6 });
  return { height, group: svg("g", { class: classOf(news?.get(key) === "new", false, "storage"), "data-storage": storage.label }, frame, parts) };
}

function drawTensor(tensor, y, { scale, storage, news, differences }) {
  const [said, differing] = [news?.get(tensor.name), differences?.get(tensor.name)];
  const cells = runsOf(tensor).flatMap((run) => scale.cells(run)).map(([x, width]) =>
    svg("rect", { class: "cell", x: round(x), y: y + 2, width: round(Math.max(2, width)), height: CELL_HEIGHT, rx: 2 }));
  const lines = wrapped(placeText(tensor, storage));
  const notes = remarks(tensor.name, news, differences).join("; ");
  const all = [...lines.map((text) => [text, "quiet"]), ...(notes ? wrapped(notes).map((text) => [text, differing ? "wrong" : "said"]) : [])];
  const parts = [
    svg("rect", { class: "lane", x: NAMES_WIDTH, y: y + 2, width: CELLS_WIDTH, height: CELL_HEIGHT, rx: 2 }), cells,
    words(8, y + 13, `${signOf(said, differing)}${said || differing ? " " : ""}${tensor.name}`, "name", null, 12),
    all.map(([text, kind], at) => words(18, y + 28 + at * SMALL_LINE, text, kind, null, Infinity)),
  ];
  let height = 20 + all.length * SMALL_LINE;
  if (tensor.grad) {
    const drawn = drawGrad(tensor.grad, y + height, news, differences);
    parts.push(drawn.group);
    height += drawn.height;
  }
  return { height: height + 4, group: svg("g", { class: classOf(said, differing, "tensor"), "data-tensor": tensor.name }, svg("title", {}, plain(tensor.name)), parts) };
}

// A gradient hangs on its tensor: a trace does not say which storage it has.
function drawGrad(grad, y, news, differences) {
  const [said, differing] = [news?.get(grad.name), differences?.get(grad.name)];
  const notes = remarks(grad.name, news, differences).join("; ");
  const sign = signOf(said, differing);
  const name = clipped(plain(grad.name), 16);
  const lines = wrapped([gradText(grad), notes].filter(Boolean).join("; "), 42 - name.length);
  const group = svg("g", { class: classOf(said, differing, "grad"), "data-grad": grad.name },
    svg("path", { d: `M22 ${y - 1} v9 h6` }),
    words(32, y + 12, `${sign}${sign && " "}${name}`, "name"),
    lines.map((text, at) => words(38 + (name.length + (sign ? sign.length + 1 : 0)) * CHARACTER, y + 12 + at * SMALL_LINE, text, differing ? "wrong" : said ? "said" : "quiet", null, Infinity)));
  return { group, height: 3 + lines.length * SMALL_LINE };
}

// Where bytes of a storage stand: in cells of an element where they are few, to scale otherwise.
function scaleOf(tensors) {
  const runs = tensors.flatMap(runsOf);
  if (!runs.length) return { labels: [], cells: () => [] };
  const unit = Math.min(...tensors.map(({ dtype }) => elementSize(dtype)));
  const end = Math.max(...runs.map(([, to]) => to)) / unit;
  const from = end <= MOST_CELLS ? 0 : Math.min(...runs.map(([start]) => start)) / unit;
  const step = Math.min(20, CELLS_WIDTH / (end - from));
  const place = (element) => NAMES_WIDTH + (element - from) * step;
  if (end > MOST_CELLS) {
    const cells = ([start, to]) => [[place(start / unit), (to - start) / unit * step]];
    return { labels: [[place(from) + 6, String(from)], [place(end) - 10, String(end - 1)]], cells };
  }
  const numbers = Array.from({ length: end }, (_, element) => element);
  const every = step >= 14 ? numbers : [...new Set([0, end - 1])];
  const cells = ([start, to]) => numbers.slice(start / unit, to / unit).map((element) => [place(element) + 0.5, step - 1]);
  return { labels: every.map((element) => [place(element) + step / 2, String(element)]), cells };
}

// Text in lines of at most so many characters, broken at spaces.
function wrapped(text, most = 50) {
  const lines = [];
  for (const word of plain(text).split(" ")) {
    if (lines.length && lines.at(-1).length + word.length < most) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => clipped(line, most));
}
