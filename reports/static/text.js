// Building elements from text. No code of the page turns a string into markup.

// Controls, zero widths, directions, separators, specials, lone surrogates: shown as escapes.
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]|\p{Cs}/gu;
const LONG_TEXT = 800;
const LONG_SENTENCE = 300;

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(made, children);
  return made;
}

function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child);
  }
}

// Untrusted text as nodes, with hiding or reordering characters written as escapes.
function visible(text) {
  const string = String(text);
  const nodes = [];
  let from = 0;
  for (const match of string.matchAll(HIDDEN)) {
    if (match.index > from) nodes.push(string.slice(from, match.index));
    nodes.push(element("span", { class: "control", title: "a character that cannot be seen" }, escaped(match[0])));
    from = match.index + match[0].length;
  }
  if (from < string.length) nodes.push(string.slice(from));
  return nodes;
}

function escaped(character) {
  const code = character.codePointAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

// A sentence as nodes, with text in backticks as code.
function sentenceNodes(text) {
  return text.split(/(`[^`]+`)/).flatMap((part) =>
    /^`.+`$/s.test(part) ? [element("code", {}, visible(part.slice(1, -1)))] : visible(part));
}

// A sentence as nodes; of a very long one, such as a sample's with its tensors, the beginning and a button.
function briefSentence(text) {
  return text.length <= LONG_SENTENCE ? sentenceNodes(text) : longText(text, LONG_SENTENCE);
}

function plain(text) {
  return String(text).replace(HIDDEN, escaped);
}

// A text for a search: in lower case, with single blanks.
function squeezed(text) {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}

// Untrusted text that may be very long: its beginning, and a button for the rest.
function longText(text, limit = LONG_TEXT) {
  const string = String(text);
  if (string.length <= limit) return visible(string);
  const rest = element("span", {}, visible(string.slice(0, limit)), " … ");
  const more = element("button", { type: "button", class: "quiet small" }, `show all ${number(string.length)} characters`);
  more.addEventListener("click", () => rest.replaceChildren(...visible(string)));
  rest.append(more);
  return [rest];
}

function number(value) {
  return value.toLocaleString("en");
}

// A duration in seconds as text: "0.52 ms", "29 ms", "2.9 s".
function durationText(seconds) {
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${value.toLocaleString("en", { maximumSignificantDigits: 2 })} ${unit}`;
}

function counted(value, singular, plural = `${singular}s`) {
  return `${number(value)} ${value === 1 ? singular : plural}`;
}

const shellQuoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);

// Encoding of IDs in addresses.
function unquoted(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// A text that can stand in an address: lone surrogates cannot, so their escapes do.
function addressable(text) {
  return text.replace(/\p{Cs}/gu, escaped);
}

function quotedId(id) {
  // Lone surrogates cannot stand in an address.
  return encodeURIComponent(id.toWellFormed?.() ?? id).replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%2C", ",");
}

// The address of a rule in a published site of the specification, as rules.py makes it.
function ruleAddress(site, area, rule) {
  return `${site}/${encodeURIComponent(addressable(area))}.html#${encodeURIComponent(addressable(rule))}`;
}

async function copy(text, button) {
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no clipboard; selection in a text field always works.
    const field = element("textarea", { class: "off-screen", readonly: true, "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    copied = document.execCommand("copy");
    field.remove();
    button.focus();
  }
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  button.textContent = copied ? "Copied" : "Copying is not allowed here";
  announce(button.textContent);
  setTimeout(() => { button.textContent = before; }, 1500);
}

function announce(text) {
  let region = document.getElementById("announce");
  if (!region) {
    region = element("p", { id: "announce", class: "off-screen", role: "status" });
    document.body.append(region);
  }
  region.textContent = text;
}
