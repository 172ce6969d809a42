// Formatting of trace values: nested, short floats of their dtype, more digits on demand.

const SHORT_DIGITS = 5;
const ROUND_TRIP_DIGITS = { float16: 5, bfloat16: 4, float32: 9, complex64: 9 };
const MANY_VALUES = 256;

function floatText(value, dtype, full) {
  if (typeof value !== "number") return String(value);
  if (Object.is(value, -0)) return "-0.";
  const text = full ? exactText(value, dtype) : String(Number(value.toPrecision(SHORT_DIGITS)));
  return /^-?\d+$/.test(text) ? `${text}.` : text;
}

// The shortest digits that read back to the same value of the dtype.
function exactText(value, dtype) {
  const most = ROUND_TRIP_DIGITS[dtype];
  if (!most || !Number.isFinite(value)) return String(value);
  for (let digits = 1; digits <= most; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (dtype.endsWith("16") ? shorter === value : Math.fround(shorter) === value) return String(shorter);
  }
  return String(Number(value.toPrecision(most)));
}

function scalarText(value, dtype, full) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    const [real, imaginary] = value.map((part) => floatText(part, dtype, full));
    return `${real}${imaginary.startsWith("-") ? "" : "+"}${imaginary}j`;
  }
  return /float|complex/.test(dtype ?? "float") ? floatText(value, dtype, full) : String(value);
}

// A tensor's values, nested by its shape. `other` holds the values of the other side: elements beyond
// the tolerance are marked, all that differ have the digits that show it.
function tensorNodes(tensor, full, other = null, { accepted = false, limit = MANY_VALUES } = {}) {
  const values = tensor.values;
  if (!Array.isArray(values)) return visible(JSON.stringify(values ?? null));
  const shape = tensor.shape ?? [values.length];
  if (!values.length) return [`[] with shape (${shape.join(", ")})`];
  const comparable = other && Array.isArray(other.values) && other.values.length === values.length;
  const texts = values.slice(0, limit).map((value, at) => elementText(value, comparable ? other.values[at] : value, tensor.dtype, { full, accepted }));
  const rows = values.length / (shape.at(-1) || 1);
  const width = rows > 1 && shape.length > 1 ? Math.max(...texts.map(({ text }) => text.length)) : 0;
  const nodes = [];
  nest(shape, 0, { at: 0 }, 0, texts, width, nodes);
  if (values.length > texts.length) {
    const more = element("button", { type: "button", class: "quiet small" }, `show all ${number(values.length)} values`);
    const held = element("span", {}, nodes, " … ", more);
    more.addEventListener("click", () => held.replaceChildren(...tensorNodes(tensor, full, other, { accepted, limit: Infinity })));
    return [held];
  }
  return nodes;
}

function elementText(value, other, dtype, { full, accepted }) {
  if (sameScalar(value, other)) return { text: scalarText(value, dtype, full), mark: null };
  let text = scalarText(value, dtype, full);
  if (text === scalarText(other, dtype, full)) text = scalarText(value, dtype, true);
  return { text, mark: accepted || isNear(value, other, dtype) ? "near" : "far" };
}

// Whether two numbers agree within their dtype's tolerance, as the comparison has it.
function isNear(one, two, dtype) {
  const [rtol, atol] = run.tolerances[dtype] ?? [0, 0];
  if (typeof one !== "number" || typeof two !== "number") return false;
  return Math.abs(one - two) <= atol + rtol * Math.max(Math.abs(one), Math.abs(two));
}

function sameScalar(one, two) {
  return Object.is(one, two) || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(two));
}

function nest(shape, depth, cursor, indent, texts, width, nodes) {
  if (cursor.at >= texts.length) return;
  if (depth === shape.length) {
    const { text, mark } = texts[cursor.at++];
    const padded = text.padStart(width);
    nodes.push(mark ? element("mark", { class: mark }, visible(padded)) : padded);
    return;
  }
  nodes.push("[");
  const innermost = depth === shape.length - 1;
  for (let position = 0; position < shape[depth] && cursor.at < texts.length; position++) {
    if (position) nodes.push(innermost ? ", " : `,${"\n".repeat(shape.length - depth - 1)}${" ".repeat(indent + 1)}`);
    nest(shape, depth + 1, cursor, indent + 1, texts, width, nodes);
  }
  nodes.push("]");
}

function sizeText(shape) {
  return Array.isArray(shape) ? ` (${shape.join(", ")}${shape.length === 1 ? "," : ""})` : "";
}

// Anything else of a trace as one text: scalars, shapes, lists, errors, warnings.
function valueText(value, full) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : floatText(value, "float64", full);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map((item) => valueText(item, full)).join(", ")}]`;
  if ("message" in value && ("type" in value || "category" in value)) return `${value.type ?? value.category}: ${value.message}`;
  return observedText(value, full);
}

const WRAPPED = { list: ["[", "]"], tuple: ["(", ")"] };

function observedText(value, full) {
  switch (value.kind) {
    case "none": return "None";
    case "float": return floatText(value.value, "float64", full);
    case "complex": return scalarText(value.value, "complex128", full);
    case "str": return JSON.stringify(value.value);
    case "dtype": return `torch.${value.value}`;
    case "size": return `torch.Size([${(value.value ?? []).join(", ")}])`;
    case "node": return `<${value.name}>`;
    case "object": return `<${value.type}>`;
    case "list":
    case "tuple": {
      const [open, close] = WRAPPED[value.kind];
      const items = (value.items ?? []).map((item) => observedText(item, full));
      return open + items.join(", ") + (value.kind === "tuple" && items.length === 1 ? "," : "") + close;
    }
    case "tensor":
    case "array": return `${value.dtype}${sizeText(value.shape)} [${(value.values ?? []).map((item) => scalarText(item, value.dtype, full)).join(", ")}]`;
    default:
      if ("value" in value) return valueText(value.value, full);
      if ("error" in value) return `raises ${valueText(value.error, full)}`;
      return JSON.stringify(value);
  }
}
