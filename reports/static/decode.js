// The run's data: gzipped JSON in base64, decoded on demand. `run` is the eager index.

let run = null;
let sources = null;
const decodings = new Map();
const KEPT_CHUNKS = 8;

async function blobText(name) {
  const find = () => document.querySelector(`script[data-blob="${name}"]`);
  if (!find() && document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  }
  const found = find();
  if (!found) throw new Error(`The file is incomplete: its part "${name}" is missing. Write the report again.`);
  return found.textContent;
}

const decode = async (name) => unpacked(await blobText(name));

// Fields for a program's own page only: traces, divergences, reasons.
async function details(position) {
  let chunk = run.chunks.findLastIndex((start) => start <= position);
  if (!decodings.has(chunk)) decodings.set(chunk, decode(`chunk-${chunk}`));
  const kept = decodings.get(chunk);
  decodings.delete(chunk);
  decodings.set(chunk, kept);
  if (decodings.size > KEPT_CHUNKS) decodings.delete(decodings.keys().next().value);
  return (await kept)[position - run.chunks[chunk]];
}

let readingSources = null;
function readSources() {
  readingSources ??= decode("sources").then((texts) => {
    sources = texts;
    return texts;
  });
  return readingSources;
}

async function readIndex() {
  const index = await decode("index");
  terms = index;
  run = {
    ...index,
    size: index.id.length,
    position: new Map(index.id.map((id, position) => [id, position])),
    failedSpecification: new Set(index.specification),
  };
  return run;
}

const cell = (column, position) => {
  const at = run[column].cells[position];
  return at < 0 ? null : run[column].texts[at];
};
const categoryOf = (position) => run.categories[run.category[position]];

// The verdict of a program at a level, coded in three bits; null where nothing was compared.
const LEVEL_VERDICTS = ["conforms", "diverges", "not_applicable", "other_version"];
const verdictAt = (position, level) => LEVEL_VERDICTS[(run.verdicts[position] >> (3 * level)) & 7] ?? null;

function named(backend) {
  const suffix = backend.device ? `:${backend.device}` : "";
  const name = suffix && backend.name.endsWith(suffix) ? backend.name.slice(0, -suffix.length) : backend.name;
  const version = backend.version?.split("+")[0];
  return [name, version, backend.device && `(${backend.device})`].filter(Boolean).join(" ");
}
