// The graph: nodes that record how a tensor was computed, and its saved tensors.

import { runtimeError } from './errors.js';
import { Tensor, places, sameShape, state, window, write } from './tensor.js';

let sequence = 0;

/** A node: an operation with the edges of its inputs and its saved tensors. */
export class Node {
  /**
   * `operation` has a name and one formula for each input; `edges` are the inputs'
   * `{ node, nr }`, null for an input that requires no gradient.
   */
  constructor(operation, edges, inputs, args) {
    Object.assign(this, { operation, edges, args });
    this.name = operation.name;
    this.inputs = inputs.map(({ shape, dtype, dim }) => ({ shape, dtype, dim }));
    this.saved = {};
    this.retained = new Map(); // from an output's number to the tensor with `retain_grad()`
    this.hooks = []; // { nr, call }
    this.order = sequence++;
  }

  save(key, tensor, isOutput = false) {
    this.saved[key] = new Saved(tensor, isOutput ? this : null);
  }

  /**
   * The gradients of the inputs, from that of the output; null for those not required. With
   * `wanted` the first is computed in any case, for a write to a view.
   */
  gradients(grad, wanted = false) {
    const saved = [];
    for (const [key, kept] of Object.entries(this.saved)) saved[key] = kept.unpacked();
    return this.operation.backward.map((formula, i) =>
      this.edges[i] || (wanted && i === 0) ? formula(grad, saved, this) : null,
    );
  }

  release() {
    for (const kept of Object.values(this.saved)) kept.release();
  }
}

/** A gradient accumulator (AccumulateGrad) of a leaf. */
export class AccumulateGrad {
  constructor(variable) {
    this.name = 'AccumulateGrad';
    this.variable = variable;
    this.edges = [];
    this.retained = new Map();
    this.hooks = [];
    this.order = Infinity; // runs as soon as its gradient is complete
  }

  release() {}
}

/** A saved tensor, with its version at that time. */
class Saved {
  constructor(tensor, maker) {
    this.version = tensor.counter.version;
    // A leaf is saved itself. Others may be written in place and get another history.
    this.tensor = tensor;
    if (maker !== null || !tensor.isLeaf) {
      this.tensor = window(tensor, tensor.shape, tensor.strides, tensor.offset);
      this.tensor.node = maker ?? tensor.gradFn;
      this.tensor.outputNr = maker ? 0 : tensor.outputNr;
    }
    if (tensor.isNumber) this.tensor.isNumber = true;
  }

  unpacked() {
    if (this.tensor === null) {
      throw runtimeError(
        'Trying to backward through the graph a second time (or directly access saved tensors ' +
          'after they have already been freed).',
      );
    }
    if (this.tensor.counter.version !== this.version) {
      throw runtimeError(
        'one of the variables needed for gradient computation has been modified by an inplace ' +
          `operation: it is at version ${this.tensor.counter.version}; ` +
          `expected version ${this.version} instead.`,
      );
    }
    return this.tensor;
  }

  release() {
    this.tensor = null;
  }
}

/** The edge for a tensor's gradient; null if it requires none. */
export function edgeOf(tensor) {
  if (!(tensor instanceof Tensor) || !tensor.requiresGrad) return null;
  const node = tensor.gradFn;
  if (node !== null) return { node, nr: tensor.outputNr };
  if (!tensor.leafRequiresGrad) return null; // a view made in no_grad mode
  tensor.accumulator ??= new AccumulateGrad(tensor);
  return { node: tensor.accumulator, nr: 0 };
}

const isRecorded = (tensors) => state.gradMode && tensors.some((tensor) => tensor.requiresGrad);

function nodeFor(operation, tensors, args, inPlace = false) {
  const edges = tensors.map(edgeOf);
  const node = new Node(operation, edges, tensors, args);
  const kept = operation.saves(edges.map(Boolean), args);
  for (const key of kept) {
    // A saved tensor that is about to be overwritten is copied.
    if (key === 0 && inPlace) node.save(key, operations.clone(tensors[key]));
    else if (key !== 'output') node.save(key, tensors[key]);
  }
  return { node, savesOutput: kept.includes('output') };
}

/** Run an operation on tensors, and record it if an input requires grad. */
export function apply(operation, tensors, args = {}) {
  const output = operation.compute(tensors, args);
  if (isRecorded(tensors) && output.dtype.isFloat) {
    const { node, savesOutput } = nodeFor(operation, tensors, args);
    output.node = node;
    if (savesOutput) node.save('output', output, true);
  }
  return output;
}

/** As `apply`, for an output that is a view of the first tensor. */
export function applyView(operation, source, args = {}) {
  const output = apply(operation, [source], args);
  const replay = (base) => applyView(operation, base, args);
  output.view = viewOf(source, replay);
  return output;
}

/** The view metadata of a new view on `source`. */
function viewOf(source, replay) {
  const { view } = source;
  const base = view === null ? source : view.base;
  return {
    base,
    replay: view === null ? replay : (again) => replay(view.replay(again)),
    version: source.counter.version,
    withoutGrad: !state.gradMode || (view !== null && view.withoutGrad),
  };
}

/** Run an in-place operation on the first tensor, and return that tensor. */
export function applyInPlace(operation, tensors, args = {}) {
  const [target] = tensors;
  const recorded = isRecorded(tensors) && target.dtype.isFloat;
  if (recorded) checkWritable(target);
  const result = operation.compute(tensors, args);
  checkFits(result, target, operation, tensors.slice(1));
  const made = recorded ? nodeFor(operation, tensors, args, true) : null;
  write(target, result.values());
  if (made === null) return target;
  if (target.view === null) rebase(target, made.node);
  else rebaseView(target, made.node);
  if (made.savesOutput) made.node.save('output', target, true);
  return target;
}

function checkWritable(target) {
  const base = target.view?.base ?? target;
  if ((base.isLeaf && base.requiresGrad) || (target.isLeaf && target.leafRequiresGrad)) {
    const what = base === target ? 'a leaf Variable' : 'a view of a leaf Variable';
    throw runtimeError(`${what} that requires grad is being used in an in-place operation.`);
  }
  if (base !== target && target.view.withoutGrad) {
    throw runtimeError(
      'A view was created in no_grad mode and is being modified inplace with grad mode enabled.',
    );
  }
}

function checkFits(result, target, { fills }, others) {
  if (!fills && target.shape.some((size, i) => size > 1 && target.strides[i] === 0)) {
    throw runtimeError(
      'unsupported operation: more than one element of the written-to tensor refers to a single ' +
        'memory location. Please clone() the tensor before performing the operation.',
    );
  }
  if (others.some((other) => overlaps(other, target))) {
    throw runtimeError(
      'unsupported operation: some elements of the input tensor and the written-to tensor refer to ' +
        'a single memory location. Please clone() the tensor before performing the operation.',
    );
  }
  if (result.dtype.rank > target.dtype.rank) {
    throw runtimeError(
      `result type ${result.dtype.name} can't be cast to the desired output type ${target.dtype.name}`,
    );
  }
  if (!sameShape(result.shape, target.shape)) {
    throw runtimeError(
      `output with shape [${target.shape}] doesn't match the broadcast shape [${result.shape}]`,
    );
  }
}

/** Whether two tensors overlap partially: they share elements at different positions. */
function overlaps(one, other) {
  if (one.storage !== other.storage) return false;
  const [own, theirs] = [places(one), places(other)];
  const same = own.length === theirs.length && own.every((place, i) => place === theirs[i]);
  return !same && own.some((place) => theirs.includes(place));
}

/** Replace a tensor's history; its `retain_grad()` moves to the new node. */
function rebase(target, node) {
  if (target.retainsGrad) {
    target.gradFn?.retained.delete(target.outputNr);
    node.retained.set(0, target);
  }
  target.node = node;
  target.outputNr = 0;
  target.leafRequiresGrad = false;
}

/** Rebase a written view's base: its history becomes CopySlices. */
function rebaseView(target, written) {
  rebase(target.view.base, new CopySlices(target.view, written));
  target.view.version = -1; // its node is regenerated
}

/** The node of a base that was written through a view. */
class CopySlices extends Node {
  constructor({ base, replay }, written) {
    const operation = { name: 'CopySlices' };
    super(operation, [edgeOf(base), ...written.edges.slice(1)], [base], {});
    this.inputs.push(...written.inputs.slice(1));
    Object.assign(this, { replay, written });
  }

  gradients(grad) {
    const whole = operations.clone(grad);
    const slice = this.replay(whole);
    const [own, ...others] = this.written.gradients(operations.clone(slice), true);
    operations.copyInto(slice, own);
    return [whole, ...others];
  }

  release() {
    this.written.release();
  }
}

/** Operations that the graph itself needs; set by `operators.js`. */
export const operations = { clone: null, copyInto: null, add: null, fit: null };
