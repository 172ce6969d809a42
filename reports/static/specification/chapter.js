// A chapter: unfolds and folds all traces at once, and draws the programs whose drawings are opened.

listenToTheme();

document.getElementById("unfold").addEventListener("click", ({ currentTarget }) => {
  const unfolded = currentTarget.getAttribute("aria-pressed") !== "true";
  for (const trace of document.querySelectorAll(".trace-of")) trace.open = unfolded;
  currentTarget.setAttribute("aria-pressed", String(unfolded));
});

let reading = null;
const traceOf = async (id) => {
  reading ??= unpacked(document.querySelector("[data-blob=traces]").textContent);
  return (await reading)[id];
};
for (const folded of document.querySelectorAll(".drawing-of")) {
  const code = folded.closest(".example").querySelector(".code");
  listenToDrawing(folded, code, async () => [{ word: "", trace: await traceOf(folded.dataset.program) }]);
}
performance.mark("site-ready");
