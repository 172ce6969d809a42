// A chapter: unfolds and folds all traces at once.

listenToTheme();

document.getElementById("unfold").addEventListener("click", ({ currentTarget }) => {
  const unfolded = currentTarget.getAttribute("aria-pressed") !== "true";
  for (const trace of document.querySelectorAll(".trace-of")) trace.open = unfolded;
  currentTarget.setAttribute("aria-pressed", String(unfolded));
});
performance.mark("site-ready");
