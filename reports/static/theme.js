// The reader's choice of light and dark, kept from page to page.

const THEMES = ["auto", "light", "dark"];

function listenToTheme() {
  const root = document.documentElement;
  const name = document.getElementById("theme-name");
  name.textContent = root.dataset.theme ?? "auto";
  document.getElementById("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    name.textContent = next;
    try {
      localStorage.setItem("autograd-conformance-theme", next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  });
}
