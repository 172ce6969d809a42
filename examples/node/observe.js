// Observations: the state of the values that a program has bound, as the trace's JSON.

import { Tensor, isDType } from './tensor.js';
import { AccumulateGrad, Node } from './graph.js';
import { toPython } from './library.js';

/** Observer of one program's values; it remembers the gradients of each name. */
export class Observer {
  constructor() {
    this.grads = new Map();
    this.before = new Map();
  }

  /** The changes since the last time: names with another observation, names that are gone. */
  changes(names) {
    const changed = {};
    const after = new Map();
    for (const [name, value] of names) {
      const seen = this.value(value, name);
      after.set(name, JSON.stringify(seen));
      if (this.before.get(name) !== after.get(name)) changed[name] = seen;
    }
    const deleted = [...this.before.keys()].filter((name) => !after.has(name));
    this.before = after;
    return { changed, deleted };
  }

  value(value, name) {
    if (value === null) return { kind: 'none' };
    if (value instanceof Tensor) return this.tensor(value, name);
    if (typeof value === 'boolean') return { kind: 'bool', value };
    if (typeof value === 'bigint') return { kind: 'int', value: number(value) };
    if (typeof value === 'number') return { kind: 'float', value: number(value) };
    if (typeof value === 'string') return { kind: 'str', value };
    if (isDType(value)) return { kind: 'dtype', value: value.name };
    if (value instanceof Node || value instanceof AccumulateGrad) return { kind: 'node', name: value.name };
    if (!Array.isArray(value)) return { kind: 'object', type: 'object' };
    if (value.kind === 'size') return { kind: 'size', value: Array.from(value, Number) };
    const items = Array.from(value, (item, i) => this.value(item, name && `${name}[${i}]`));
    return { kind: value.kind ?? 'list', items };
  }

  tensor(tensor, name) {
    return {
      kind: 'tensor',
      ...content(tensor),
      grad: this.grad(tensor.grad, name),
      requires_grad: field(() => tensor.requiresGrad),
      is_leaf: field(() => tensor.isLeaf),
      has_grad_fn: field(() => tensor.gradFn !== null),
      retains_grad: tensor.retainsGrad,
      output_nr: tensor.outputNr,
      offset: tensor.offset,
      version: tensor.counter.version,
      is_view: tensor.view !== null,
      storage: tensor.storage.id,
    };
  }

  grad(grad, name) {
    if (name === null) return grad && { ...content(grad), same: false };
    const same = grad !== null && this.grads.get(name) === grad;
    this.grads.set(name, grad);
    return grad && { ...content(grad), same };
  }
}

/** A field that may raise when it is read. */
function field(read) {
  try {
    return read();
  } catch ({ type, message }) {
    return { error: { type, message } };
  }
}

const content = (tensor) => ({
  shape: tensor.shape,
  dtype: tensor.dtype.name,
  values: tensor.values().map((value) => number(toPython(tensor.dtype, value))),
  strides: tensor.strides,
});

/** A number in the trace's JSON form. */
function number(value) {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean' || Number.isFinite(value)) return value;
  return String(value).toLowerCase().replace('infinity', 'inf');
}
