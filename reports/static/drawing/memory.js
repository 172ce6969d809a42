// The memory of a moment: storages, the tensors that are views of each, and gradients.

const MOST_TENSORS = 40;
const MOST_ELEMENTS = 4096;
const MOST_VALUES = 6;

// { storages: [{ label, version, tensors }] }; a storage's version is null where its tensors have
// several. A label is the name under which the storage was seen first.
function memoryOf(moment, step) {
  const storages = new Map();
  for (const [name, observation] of moment) {
    const label = observation.storage?.error ? null : observation.storage ?? null;
    const key = String(label);
    if (!storages.has(key)) storages.set(key, { label, tensors: [] });
    storages.get(key).tensors.push(tensorOf(name, observation, step));
  }
  for (const storage of storages.values()) {
    const versions = new Set(storage.tensors.map(({ version }) => version));
    storage.version = versions.size === 1 ? [...versions][0] : null;
  }
  return { storages: [...storages.values()] };
}

const whole = (value) => (Number.isInteger(value) ? value : null);

function tensorOf(name, observation, step) {
  const { shape, dtype, strides, offset, version, is_view: isView, grad } = observation;
  return {
    name, dtype: String(dtype?.error ? "?" : dtype), shape: listOf(shape), strides: listOf(strides),
    offset: whole(offset), version: whole(version), isView: typeof isView === "boolean" ? isView : null, values: listOf(observation.values), grad: gradOf(grad, name, step),
  };
}

// A gradient is kept unless this statement's observation says that it is another tensor; what is
// not observed is null.
function gradOf(grad, name, step) {
  if (!grad || grad.error) return null;
  const observed = step?.changed && Object.hasOwn(step.changed, name);
  const isOther = typeof grad.same === "boolean" ? Boolean(observed) && !grad.same : null;
  return { name: `${name}.grad`, shape: listOf(grad.shape), strides: listOf(grad.strides), dtype: grad.dtype, values: listOf(grad.values), isOther };
}

const tensorsIn = (memory) => new Map(memory.storages.flatMap(({ tensors }) => tensors.map((tensor) => [tensor.name, tensor])));
const storageOf = (memory, name) => memory.storages.find(({ tensors }) => tensors.some((tensor) => tensor.name === name));

// What a statement made or changed: { key: words }; a key is a tensor's or a gradient's name, or a
// storage's label behind "storage ".
function memoryNews(memory, before) {
  const news = new Map();
  const olds = tensorsIn(before);
  const labels = new Set(before.storages.map(({ label }) => label));
  for (const { label, version, tensors } of memory.storages) {
    if (label !== null && !labels.has(label)) news.set(`storage ${label}`, "new");
    for (const tensor of tensors) {
      const old = olds.get(tensor.name);
      const isOther = old && storageOf(before, tensor.name).label !== label;
      const words = !old ? "new" : isOther ? "another storage" : changesOf(old, tensor, version !== null);
      if (words) news.set(tensor.name, words);
      if (tensor.grad && !old?.grad) news.set(tensor.grad.name, "new");
      else if (tensor.grad?.isOther) news.set(tensor.grad.name, "another tensor");
      else if (tensor.grad && isWritten(old.grad, tensor.grad)) news.set(tensor.grad.name, "written in place");
    }
    const old = before.storages.find((one) => one.label === label);
    if (old && version !== null && old.version !== null && version !== old.version) news.set(`storage ${label}`, `version was ${old.version}`);
  }
  return news;
}

const isWritten = (old, tensor) => isShort(tensor.values) && isShort(old.values) && JSON.stringify(old.values) !== JSON.stringify(tensor.values);

function changesOf(old, tensor, isShared) {
  const same = (field) => JSON.stringify(old[field]) === JSON.stringify(tensor[field]);
  return [
    ["shape", "strides", "offset"].every(same) ? null : "moved",
    same("version") || isShared ? null : `version was ${old.version}`,
    isWritten(old, tensor) ? "written" : null,
  ].filter(Boolean).join(", ");
}

// The names in which two memories differ, by the rules by which traces are compared: strides count
// along dimensions of several elements, labels of storages do not count. `valuesDiffer` compares
// two lists of values of a dtype.
function memoryDifferences(one, two, valuesDiffer) {
  const differences = new Map();
  const [left, right] = [tensorsIn(one), tensorsIn(two)];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [first, second] = [left.get(name), right.get(name)];
    if (!first || !second) {
      differences.set(name, "on one side only");
      continue;
    }
    const fields = differingFields(valuesDiffer, first, second);
    const sharing = [sharedWith(one, name, right), sharedWith(two, name, left)];
    if (!sharing.includes(null) && sharing[0] !== sharing[1]) fields.push("storage");
    if (fields.length) differences.set(name, fields.join(", "));
    const grads = differingGrads(valuesDiffer, first.grad, second.grad);
    if (grads) differences.set(`${name}.grad`, grads);
  }
  return differences;
}

const placing = ({ shape, strides }) => strides?.filter((_, at) => shape?.[at] > 1);

// The names of the fields that differ; a field that one side does not observe is not compared.
const fieldsThatDiffer = (sides, fields) => fields.filter(([, of]) => {
  const values = sides.map(of);
  return values.every((value) => value !== null && value !== undefined) && JSON.stringify(values[0]) !== JSON.stringify(values[1]);
}).map(([field]) => field);

function differingFields(valuesDiffer, ...sides) {
  const isEmpty = sides.every(({ shape }) => shape?.includes(0));
  return [...ownValues(valuesDiffer, sides), ...fieldsThatDiffer(sides, [
    ["shape", ({ shape }) => shape],
    ["dtype", ({ dtype }) => dtype],
    ["strides", (tensor) => (isEmpty ? null : placing(tensor))],
    ["offset", ({ offset }) => (isEmpty ? null : offset)],
    ["version", ({ version }) => version],
    ["view", ({ isView }) => isView],
  ])];
}

const ownValues = (valuesDiffer, [{ values, dtype }, other]) => (values && other.values && valuesDiffer(values, other.values, dtype) ? ["values"] : []);

// The names that share storage with this one, of those that the other side has too.
function sharedWith(memory, name, others) {
  const storage = storageOf(memory, name);
  if (storage.label === null) return null;
  return storage.tensors.map((tensor) => tensor.name).filter((one) => others.has(one)).sort().join("\n");
}

function differingGrads(valuesDiffer, ...sides) {
  if (!sides.some(Boolean)) return null;
  if (!sides.every(Boolean)) return "on one side only";
  return [...ownValues(valuesDiffer, sides), ...fieldsThatDiffer(sides, [
    ["shape", ({ shape }) => shape],
    ["strides", placing],
    ["the same tensor as before, or another", ({ isOther }) => isOther],
  ])].join(", ") || null;
}

// The bytes of an element, by the digits of its dtype's name.
function elementSize(dtype) {
  const bits = Number(/\d+/.exec(dtype)?.[0] ?? 8);
  return Math.max(1, bits / 8);
}

// The elements of its storage that a tensor covers, as runs [from, to) in bytes.
function runsOf({ shape, strides, offset, dtype }) {
  if (!shape || !strides || offset === null || shape.length !== strides.length || shape.includes(0)) return [];
  const size = elementSize(dtype);
  const last = offset + shape.reduce((sum, count, at) => sum + (count - 1) * strides[at], 0);
  if (shape.reduce((one, two) => one * two, 1) > MOST_ELEMENTS) return [[offset * size, (last + 1) * size]];
  let places = [offset];
  shape.forEach((count, at) => { places = places.flatMap((place) => Array.from({ length: count }, (_, index) => place + index * strides[at])); });
  const runs = [];
  for (const place of [...new Set(places)].sort((one, two) => one - two)) {
    if (runs.at(-1)?.[1] === place * size) runs.at(-1)[1] += size;
    else runs.push([place * size, (place + 1) * size]);
  }
  return runs;
}

// The tensors that a drawing has room for; the others are counted.
function shownMemory(memory) {
  let room = MOST_TENSORS;
  const storages = [];
  for (const storage of memory.storages) {
    const tensors = storage.tensors.slice(0, room);
    room -= tensors.length;
    if (tensors.length) storages.push({ ...storage, tensors });
  }
  const missing = tensorsIn(memory).size - (MOST_TENSORS - room);
  return { storages, missing };
}

const storageTitle = ({ label }) => (label === null ? "storage not observed" : `storage ${label}`);
const storageVersion = ({ version, tensors }) =>
  (version !== null ? `version ${version}` : tensors.every((tensor) => tensor.version === null) ? "" : "several versions");

// A tensor's place in its storage; its version where the storage has no single one.
function placeText({ shape, strides, offset, isView, version, dtype, values }, storage) {
  const parts = [`${dtype} ${tupleText(shape)}`, strides && `strides ${tupleText(strides)}`, offset === null ? null : `offset ${offset}`];
  return [...parts, isView && "view", storage.version === null && version !== null && `version ${version}`, valuesText(values, dtype)].filter(Boolean).join(", ");
}

const gradText = ({ shape, strides, values, dtype }) =>
  [tupleText(shape), strides && `strides ${tupleText(strides)}`, valuesText(values, dtype)].filter(Boolean).join(", ");

// The values of a tensor of few elements, flat.
const isShort = (values) => values !== null && values.length > 0 && values.length <= MOST_VALUES;
const valuesText = (values, dtype) => (isShort(values) ? `[${values.map((value) => scalarText(value, dtype, false)).join(" ")}]` : null);

// The words behind a name: what is new, and what differs.
function remarks(key, news, differences) {
  const differing = differences?.get(key);
  return [news?.get(key), differing && `differs: ${differing}`].filter(Boolean);
}

// The same as the drawing in words, one line for each storage, tensor and gradient.
function memoryTexts({ memory, news, differences }) {
  const { storages, missing } = shownMemory(memory);
  const behind = (key) => {
    const words = remarks(key, news, differences);
    return words.length ? ` (${words.join("; ")})` : "";
  };
  const lines = storages.flatMap((storage) => [
    [storageTitle(storage) + behind(`storage ${storage.label}`), storageVersion(storage)].filter(Boolean).join(": "),
    ...storage.tensors.flatMap((tensor) => [
      `${tensor.name}${behind(tensor.name)}: ${placeText(tensor, storage)}, in ${storageTitle(storage)}`,
      tensor.grad && `${tensor.grad.name}${behind(tensor.grad.name)}: ${gradText(tensor.grad)}, the gradient of ${tensor.name}`,
    ]),
  ]);
  return [...lines, missing > 0 && `${counted(missing, "tensor")} left out`].filter(Boolean);
}
