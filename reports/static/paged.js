// Paged lists. `row(item, text)` renders an item.

const PAGE = 60;

// A list that shows one page, with a button for the next.
function paged(positions, textOf, list = element("ol", { class: "rows" })) {
  const held = element("div", { class: "paged" }, list);
  let shown = 0;
  const button = element("button", { type: "button", class: "quiet more" });
  const next = () => {
    const from = shown;
    const to = Math.min(positions.length, from ? from + 5 * PAGE : PAGE);
    const fresh = document.createDocumentFragment();
    for (; shown < to; shown++) fresh.append(row(positions[shown], textOf?.(positions[shown])));
    list.append(fresh);
    const left = positions.length - shown;
    button.textContent = `Show ${left > 5 * PAGE ? `${number(5 * PAGE)} of ${number(left)}` : number(left)} more`;
    if (!left) button.remove();
    if (from) list.children[from].querySelector("a").focus();
  };
  next();
  if (shown < positions.length) held.append(button);
  button.addEventListener("click", next);
  return held;
}
