// Runs before the first paint: says that scripts run, and puts the reader's theme in place.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  // A link to a program opens on it: the overview is not painted first.
  if (/^#[^?]/.test(location.hash)) root.classList.add("opening");
  try {
    const theme = localStorage.getItem("autograd-conformance-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // A browser may refuse storage to a page from disk; the theme is the system's then.
  }
})();
