// The contents of the open drawing: for each section (graph, memory) its figures, each with the
// nodes and edges or the storages and tensors in the picture, and the lines of its text.
const linesOf = (group, kind = "") => [...group.querySelectorAll(`:scope > text${kind}`)].map((one) => one.textContent);
// Points along an edge, a pixel or so apart.
const pointsOf = (path) => Array.from({ length: 60 }, (_, at) => path.getPointAtLength((path.getTotalLength() * (at + 0.5)) / 60)).map(({ x, y }) => [x, y]);
const isWord = (text) => !/^\d+$/.test(text);
const shown = (figure) => {
  const all = (selector, of) => [...figure.querySelectorAll(`svg ${selector}`)].map(of);
  return {
    where: figure.querySelector("figcaption b").textContent,
    nodes: all(".node", (one) => linesOf(one, ":not(.quiet, .stale, .wrong)").join(" ")),
    saved: all(".node", (one) => linesOf(one, ":is(.quiet, .stale, .wrong)").join(" ")),
    edges: all(".edge[data-input]", ({ dataset: { from, input, to } }) => [from, input, to].map(Number)),
    none: all(".no-edge", ({ dataset: { from, input } }) => [from, input].map(Number)),
    storages: all(".storage", (one) => [one.dataset.storage, linesOf(one).filter(isWord)]),
    tensors: all(".tensor", (one) => [one.dataset.tensor, one.querySelectorAll(":scope > .cell").length, linesOf(one)]),
    grads: all(".grad", (one) => linesOf(one).join(" ")),
    marked: all(".is-new, .is-different", (one) => one.querySelector("text").textContent),
    boxes: all(".node > rect", (one) => ["x", "y", "width", "height"].map((side) => Number(one.getAttribute(side)))),
    paths: all(".edge[data-input] > path:first-of-type", pointsOf),
    notes: all("> text", (one) => one.textContent),
    said: [...figure.querySelectorAll(".drawing-text li")].map((one) => one.textContent),
  };
};
const sections = [...document.querySelectorAll(".drawing-of[open] .drawing-figures > section")];
return sections.map((section) => [...section.querySelectorAll("figure")].map(shown));
