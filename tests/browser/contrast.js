// Texts whose contrast with their ground is under 4.5 (3 for large ones), by the formula of WCAG 2.2.
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const luminance = ([red, green, blue]) => {
  const linear = [red, green, blue].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const groundOf = (element) => {
  for (let at = element; at; at = at.parentElement) {
    // In a drawing the text of a group stands on the group's rectangle.
    const fill = at.matches("svg g") ? getComputedStyle(at.querySelector(":scope > rect") ?? at).fill : "none";
    if (at.querySelector(":scope > rect") && fill !== "none") return rgba(fill);
    const ground = rgba(getComputedStyle(at).backgroundColor);
    if (ground[3] === 255) return ground;
  }
  return [255, 255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const faint = [];
let checked = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName) || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const [one, two] = [luminance(rgba(style.color)), luminance(groundOf(element))].sort((a, b) => b - a);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  checked++;
  const ratio = (one + 0.05) / (two + 0.05);
  if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${element.className} ${text.slice(0, 40)}`);
}
return { checked, faint };
