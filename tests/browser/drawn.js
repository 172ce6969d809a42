// The contents of the open drawing: for each section (graph, memory) its figures, each with the
// nodes and edges or the storages and tensors in the picture, and the lines of its text.
const linesOf = (group) => [...group.querySelectorAll(":scope > text")].map((one) => one.textContent);
const isWord = (text) => !/^\d+$/.test(text);
const shown = (figure) => {
  const all = (selector, of) => [...figure.querySelectorAll(`svg ${selector}`)].map(of);
  return {
    where: figure.querySelector("figcaption b").textContent,
    nodes: all(".node", (one) => linesOf(one).join(" ")),
    edges: all(".edge[data-input]", ({ dataset: { from, input, to } }) => [from, input, to].map(Number)),
    none: all(".no-edge", ({ dataset: { from, input } }) => [from, input].map(Number)),
    storages: all(".storage", (one) => [one.dataset.storage, linesOf(one).filter(isWord)]),
    tensors: all(".tensor", (one) => [one.dataset.tensor, one.querySelectorAll(":scope > .cell").length, linesOf(one)]),
    grads: all(".grad", (one) => linesOf(one).join(" ")),
    marked: all(".is-new, .is-different", (one) => one.querySelector("text").textContent),
    notes: all("> text", (one) => one.textContent),
    said: [...figure.querySelectorAll(".drawing-text li")].map((one) => one.textContent),
  };
};
const sections = [...document.querySelectorAll(".drawing-of[open] .drawing-figures > section")];
return sections.map((section) => [...section.querySelectorAll("figure")].map(shown));
