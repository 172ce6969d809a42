// Tensors: strided views on storages that several of them may share, with a version counter.

import { Lacks, indexError, runtimeError, valueError } from './errors.js';

/** A dtype; `rank` orders bool, integers and floats for promotion. */
class DType {
  constructor(name, rank, size, array, cast) {
    Object.assign(this, { name, rank, size, array, cast });
  }

  get isFloat() {
    return this.rank === 2;
  }
}

export const dtypes = {
  bool: new DType('bool', 0, 1, Uint8Array, (x) => Number(Number(x) !== 0)),
  // A double holds every integer up to 2^53; larger ones are unsupported.
  int64: new DType('int64', 1, 8, Float64Array, Math.trunc),
  float32: new DType('float32', 2, 4, Float32Array, (x) => x),
  float64: new DType('float64', 2, 8, Float64Array, (x) => x),
};

export const isDType = (value) => value instanceof DType;

/** Global state that a program can set; `reset` begins a program. */
export const state = { gradMode: true, defaultDType: dtypes.float32 };

export function reset(defaultDType) {
  state.gradMode = true;
  state.defaultDType = dtypes[defaultDType];
}

let storages = 0;

/** The id of the storage made last. */
export const newestStorage = () => storages;

/** A buffer of elements with a unique `id`. */
class Storage {
  constructor(data) {
    this.data = data;
    this.id = (storages += 1);
  }
}

/** A strided view on a storage. The fields after `counter` are autograd's. */
export class Tensor {
  constructor(storage, dtype, shape, strides, offset = 0, counter = { version: 0 }) {
    Object.assign(this, { storage, dtype, shape, strides, offset, counter });
    this.leafRequiresGrad = false;
    this.node = null; // its gradient function, if it was recorded
    this.outputNr = 0;
    this.grad = null;
    this.retainsGrad = false;
    this.view = null; // { base, replay, version, withoutGrad } of a view
    this.accumulator = null; // of a leaf: its gradient accumulator
  }

  get size() {
    return product(this.shape);
  }

  get dim() {
    return this.shape.length;
  }

  get isLeaf() {
    return this.gradFn === null;
  }

  /** A view requires grad if its base does, even if it was made in no_grad mode. */
  get requiresGrad() {
    return this.leafRequiresGrad || this.node !== null || Boolean(this.view?.base.requiresGrad);
  }

  /** The gradient function; a view's is regenerated after a write to its base. */
  get gradFn() {
    const { view } = this;
    const mayHave = view !== null && (this.node !== null || view.base.requiresGrad);
    if (mayHave && view.version !== this.counter.version) {
      if (view.withoutGrad) {
        throw runtimeError(
          'A view was created in no_grad mode and its base or another view of its base has been ' +
            'modified inplace with grad mode enabled.',
        );
      }
      const again = withGradMode(true, () => view.replay(view.base));
      if (this.retainsGrad) {
        this.node?.retained.delete(this.outputNr);
        again.node.retained.set(again.outputNr, this);
      }
      this.node = again.node;
      this.outputNr = again.outputNr;
      view.version = this.counter.version;
    }
    return this.node;
  }

  /** The elements in row-major order, as JavaScript numbers. */
  values() {
    const { data } = this.storage;
    return Array.from(places(this), (place) => data[place]);
  }

  item() {
    if (this.size !== 1) {
      throw runtimeError(`a Tensor with ${this.size} elements cannot be converted to Scalar`);
    }
    return this.storage.data[this.offset];
  }
}

export function withGradMode(mode, run) {
  const before = state.gradMode;
  state.gradMode = mode;
  try {
    return run();
  } finally {
    state.gradMode = before;
  }
}

export const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
export const sameShape = (a, b) => a.length === b.length && a.every((size, i) => size === b[i]);

export function contiguousStrides(shape) {
  const strides = new Array(shape.length);
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= Math.max(shape[i], 1);
  }
  return strides;
}

/** The offsets of a tensor's elements in its storage, in row-major order. */
export function places({ shape, strides, offset }) {
  let found = [offset];
  for (let i = 0; i < shape.length; i++) {
    const steps = Array.from({ length: shape[i] }, (_, k) => k * strides[i]);
    found = found.flatMap((place) => steps.map((step) => place + step));
  }
  return found;
}

/** A new tensor with these elements, given in row-major order, and these strides. */
export function make(shape, dtype, values, strides = contiguousStrides(shape)) {
  const made = new Tensor(new Storage(new dtype.array(product(shape))), dtype, shape, strides);
  const { data } = made.storage;
  places(made).forEach((place, i) => {
    data[place] = dtype.cast(values[i]);
  });
  return made;
}

export const filled = (shape, dtype, value) =>
  make(shape, dtype, new Array(product(shape)).fill(value));

/** A view on another tensor's storage, with a shared or a separate version `counter`. */
export function window(tensor, shape, strides, offset, counter = tensor.counter) {
  return new Tensor(tensor.storage, tensor.dtype, shape, strides, offset, counter);
}

/** Write elements, given in row-major order, into a tensor's storage. */
export function write(tensor, values) {
  const { data } = tensor.storage;
  places(tensor).forEach((place, i) => {
    data[place] = tensor.dtype.cast(values[i]);
  });
  tensor.counter.version += 1;
}

export function broadcastShape(...shapes) {
  const dim = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: dim }, (_, i) => {
    let size = 1;
    for (const shape of shapes) {
      const own = shape[i - dim + shape.length] ?? 1;
      if (own !== 1 && size !== 1 && own !== size) {
        throw runtimeError(
          `The size of tensor a (${size}) must match the size of tensor b (${own}) ` +
            `at non-singleton dimension ${i}`,
        );
      }
      size = own === 1 ? size : own;
    }
    return size;
  });
}

/** The tensor's strides when it is expanded to this shape. */
export function broadcastStrides({ shape, strides }, larger) {
  const missing = larger.length - shape.length;
  return larger.map((size, i) => {
    const own = i - missing;
    if (own < 0 || (shape[own] === 1 && size !== 1)) return 0;
    return strides[own];
  });
}

/**
 * Strides of an elementwise result: dense, with dimensions in the order of the operands' strides.
 * If the operands disagree, the first one decides (as in torch's TensorIterator).
 */
export function resultStrides(operands, shape) {
  const strides = operands.map((operand) => broadcastStrides(operand, shape));
  const order = shape.map((_, i) => shape.length - 1 - i);
  const compare = (one, other) => {
    for (const own of strides) {
      if (own[one] === 0 || own[other] === 0) continue;
      if (own[one] !== own[other]) return own[one] - own[other];
      if (shape[one] > shape[other]) return 1;
    }
    return 0;
  };
  for (let i = 1; i < order.length; i++) {
    let at = i;
    for (let before = i - 1; before >= 0; before--) {
      const verdict = compare(order[before], order[at]);
      if (verdict < 0) break;
      if (verdict > 0) {
        [order[before], order[at]] = [order[at], order[before]];
        at = before;
      }
    }
  }
  const result = new Array(shape.length);
  let stride = 1;
  for (const dim of order) {
    result[dim] = stride;
    stride *= Math.max(shape[dim], 1);
  }
  return result;
}

/** Apply `f` element by element to tensors that broadcast. */
export function pointwise(operands, dtype, f) {
  const shape = broadcastShape(...operands.map((operand) => operand.shape));
  const rows = operands.map((operand) => {
    const strides = broadcastStrides(operand, shape);
    const { data } = operand.storage;
    return places({ shape, strides, offset: operand.offset }).map((place) => data[place]);
  });
  const count = product(shape);
  const values = new Array(count);
  for (let i = 0; i < count; i++) values[i] = f(...rows.map((row) => row[i]));
  return make(shape, dtype, values, resultStrides(operands, shape));
}

/**
 * Type promotion. A tensor without dimensions counts only if its category (bool, integer, float) is
 * above that of those with dimensions, and a number only if it is above both.
 */
export function promoted(operands) {
  const tiers = [[], [], []];
  for (const operand of operands) tiers[operand.isNumber ? 2 : operand.dim === 0 ? 1 : 0].push(operand);
  let found = null;
  for (const tier of tiers) {
    const own = tier.map((operand) => operand.dtype).reduce(wider, null);
    if (own !== null && (found === null || own.rank > found.rank)) found = own;
  }
  return found;
}

const wider = (one, other) => {
  if (one === null || one === other) return other;
  if (one.rank !== other.rank) return one.rank > other.rank ? one : other;
  return one.size >= other.size ? one : other;
};

/** A Python number as a tensor without dimensions, with a number's priority in promotion. */
export function number(value) {
  const dtype =
    typeof value === 'boolean' ? dtypes.bool
    : typeof value === 'bigint' ? dtypes.int64
    : state.defaultDType;
  // A float stays a double until the result is rounded.
  const made = make([], dtype === dtypes.float32 ? dtypes.float64 : dtype, [Number(value)]);
  made.dtype = dtype;
  made.isNumber = true;
  return made;
}

/** A dimension counted from the front; raises torch's IndexError. */
export function dimension(dim, count) {
  const range = Math.max(count, 1);
  const plain = Number(dim);
  if (plain < -range || plain >= range) {
    throw indexError(
      `Dimension out of range (expected to be in range of [${-range}, ${range - 1}], but got ${dim})`,
    );
  }
  return plain < 0 ? plain + range : plain;
}

/** A shape with at most one -1, resolved for the number of elements. */
export function inferredShape(shape, count) {
  const open = shape.indexOf(-1);
  const invalid = runtimeError(`shape '[${shape.join(', ')}]' is invalid for input of size ${count}`);
  if (shape.filter((size) => size === -1).length > 1) {
    throw runtimeError('only one dimension can be inferred');
  }
  if (open === -1) {
    if (product(shape) !== count) throw invalid;
    return shape;
  }
  const rest = product(shape.filter((size) => size !== -1));
  if (rest === 0) throw runtimeError('cannot reshape tensor of 0 elements: the dimension is ambiguous');
  if (count % rest !== 0) throw invalid;
  return shape.map((size) => (size === -1 ? count / rest : size));
}

/** The strides of a view with another shape; null if no strides do. */
export function viewStrides({ shape, strides }, target) {
  if (product(shape) === 0) return contiguousStrides(target);
  const result = new Array(target.length);
  let to = target.length - 1;
  let chunk = shape.length ? strides[shape.length - 1] : 1;
  let inTensor = 1;
  let inView = 1;
  for (let from = shape.length - 1; from >= 0; from--) {
    inTensor *= shape[from];
    const next = from - 1;
    if (from === 0 || (shape[next] !== 1 && strides[next] !== inTensor * chunk)) {
      while (to >= 0 && (inView < inTensor || target[to] === 1)) {
        result[to] = inView * chunk;
        inView *= target[to];
        to -= 1;
      }
      if (inView !== inTensor) return null;
      if (from > 0) {
        chunk = strides[next];
        inTensor = 1;
        inView = 1;
      }
    }
  }
  for (; to >= 0; to--) result[to] = 1; // a tensor without dimensions seen as one of sizes 1
  return result;
}

/** A tensor of nested arrays of Python numbers, as `torch.tensor` makes. */
export function fromNested(data, dtype) {
  const shape = [];
  for (let level = data; Array.isArray(level); level = level[0]) {
    shape.push(level.length);
    if (level.length === 0) break;
  }
  const flat = [];
  const walk = (part, depth) => {
    if (depth === shape.length) return flat.push(part);
    if (!Array.isArray(part) || part.length !== shape[depth]) {
      throw valueError(`expected sequence of length ${shape[depth]} at dim ${depth}`);
    }
    return part.forEach((inner) => walk(inner, depth + 1));
  };
  walk(data, 0);
  if (flat.some((part) => !['number', 'bigint', 'boolean'].includes(typeof part))) {
    throw new Lacks('torch.tensor of anything but numbers');
  }
  const found = flat.map((part) => number(part).dtype).reduce(wider, null);
  return make(shape, dtype ?? found ?? state.defaultDType, flat.map(Number));
}
