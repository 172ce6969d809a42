// The checklist: hides rows that do not match the words and verdict, and rules without rows.

listenToTheme();

const box = document.getElementById("q");
const verdict = document.getElementById("verdict");

if (box) {
  const bodies = [...document.querySelectorAll("[data-rule]")].map((body) => ({
    body,
    rule: body.querySelector(".of-rule").textContent.toLowerCase(),
    rows: [...body.querySelectorAll("[data-kinds]")].map((row) => ({
      row,
      kinds: row.dataset.kinds.split(" "),
      text: row.textContent.toLowerCase(),
    })),
  }));

  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { body, rule, rows } of bodies) {
      let any = false;
      for (const { row, kinds, text } of rows) {
        const meets = (!verdict.value || kinds.includes(verdict.value)) &&
          words.every((word) => rule.includes(word) || text.includes(word));
        row.hidden = !meets;
        any ||= meets;
        shown += meets;
      }
      body.hidden = !any;
    }
    for (const section of document.querySelectorAll(".checked")) {
      section.hidden = !section.querySelector("[data-rule]:not([hidden])");
    }
    document.getElementById("found").textContent = counted(shown, "program");
    const query = new URLSearchParams();
    if (box.value) query.set("q", box.value);
    if (verdict.value) query.set("verdict", verdict.value);
    const text = query.toString();
    history.replaceState(null, "", text ? `#?${text}` : location.pathname);
  };

  const query = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
  box.value = query.get("q") ?? "";
  verdict.value = query.get("verdict") ?? "";
  box.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  if (location.hash.startsWith("#?")) filter();
}
performance.mark("site-ready");
