// Runs before the first paint: marks that scripts run, and applies the reader's theme.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  // A link to a program opens its page directly, without painting the overview.
  if (/^#[^?]/.test(location.hash)) root.classList.add("opening");
  try {
    const theme = localStorage.getItem("autograd-conformance-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // A browser may refuse storage to a page from disk; the system's theme applies then.
  }
})();
