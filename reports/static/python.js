// Python source as lines of highlighted nodes: the part of the language needed to read programs.

const TOKENS = new RegExp(
  [
    "(?<comment>#[^\\n]*)",
    "(?<string>[rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
    "(?<number>(?<![\\w.])(?:0[xXbBoO][\\da-fA-F_]+|(?:\\d[\\d_]*\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?j?))",
    "(?<word>[\\p{L}_][\\p{L}\\p{N}_]*)",
  ].join("|"),
  "gu",
);
const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield").split(" "),
);
const CONSTANTS = new Set(["None", "True", "False"]);

function tokenClass(groups) {
  if (groups.comment !== undefined) return "py-comment";
  if (groups.string !== undefined) return "py-string";
  if (groups.number !== undefined) return "py-number";
  if (KEYWORDS.has(groups.word)) return "py-keyword";
  return CONSTANTS.has(groups.word) ? "py-number" : null;
}

// One array of nodes per line of `source`.
function highlighted(source) {
  const lines = [[]];
  const put = (text, name) => {
    text.split("\n").forEach((part, position) => {
      if (position) lines.push([]);
      if (!part) return;
      const nodes = visible(part);
      lines.at(-1).push(...(name ? [element("span", { class: name }, nodes)] : nodes));
    });
  };
  let from = 0;
  for (const match of source.matchAll(TOKENS)) {
    put(source.slice(from, match.index), null);
    put(match[0], tokenClass(match.groups));
    from = match.index + match[0].length;
  }
  put(source.slice(from), null);
  return lines;
}

// The statements of a program in one line, for lists: without imports, comments, indentation.
function excerpt(source) {
  return source
    .split("\n")
    .map((line) => line.replace(/\s+#[^'"]*$/, "").trim())
    .filter((line) => line && !line.startsWith("#") && !line.startsWith("import "))
    .join("; ");
}
