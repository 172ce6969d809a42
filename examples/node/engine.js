// The backward pass: from roots and their cotangents through the graph, nodes in torch's order.

import { runtimeError, typeError } from './errors.js';
import {
  Tensor, broadcastShape, broadcastStrides, contiguousStrides, filled, make, newestStorage,
  resultStrides, sameShape, window, withGradMode, write,
} from './tensor.js';
import { edgeOf, operations } from './graph.js';

/** `tensor.backward()` and `autograd.backward`: add gradients to leaves, or to `inputs`. */
export function backward(roots, cotangents, { retainGraph, createGraph, inputs }) {
  const keepGraph = retainGraph ?? createGraph;
  const targets = inputs === null ? null : inputs.map(edgeOf);
  if (targets?.length === 0) throw runtimeError("'inputs' argument to backward cannot be empty");
  if (targets?.includes(null)) {
    throw runtimeError('One of the differentiated Tensors does not require grad');
  }
  inputs?.filter((tensor) => !tensor.isLeaf).forEach(retainGrad);
  run(roots, cotangents, { keepGraph, createGraph, targets, toLeaves: true });
}

/** `retain_grad()`: let a non-leaf tensor keep its gradient. */
export function retainGrad(tensor) {
  tensor.retainsGrad = true;
  tensor.gradFn.retained.set(tensor.outputNr, tensor);
}

/** `autograd.grad`: the gradients of `inputs`, null for those that the roots do not depend on. */
export function gradients(roots, inputs, cotangents, options) {
  const { retainGraph, createGraph, allowUnused } = options;
  if (inputs.length === 0) throw runtimeError('`inputs` argument to `grad()` cannot be empty.');
  const targets = inputs.map(edgeOf);
  if (targets.includes(null)) {
    throw runtimeError('One of the differentiated Tensors does not require grad');
  }
  const keepGraph = retainGraph ?? createGraph;
  const found = run(roots, cotangents, { keepGraph, createGraph, targets });
  const unused = found.indexOf(null);
  if (unused !== -1 && !allowUnused) {
    throw runtimeError(
      `The differentiated Tensor at index ${unused} appears to not have been used in the graph. ` +
        'Set allow_unused=True if this is the desired behavior.',
    );
  }
  return found;
}

/**
 * Returns the gradients at `targets`, null for those without one. With `toLeaves` gradients are
 * accumulated into leaves: those among the targets, or all if `targets` is null.
 */
function run(roots, cotangents, { keepGraph, createGraph, targets, toLeaves = false }) {
  if (cotangents !== null && cotangents.length < roots.length) {
    throw runtimeError(`got ${roots.length} tensors and ${cotangents.length} gradients`);
  }
  const starts = roots.map((root, i) => cotangent(root, cotangents?.[i] ?? null));
  const edges = roots.map(edgeOf);
  const missing = edges.indexOf(null);
  if (missing !== -1) {
    throw runtimeError(
      `element ${missing} of tensors does not require grad and does not have a grad_fn`,
    );
  }
  return withGradMode(createGraph, () => {
    const waiting = dependencies(edges);
    const wanted = targets && leadingTo(targets, waiting);
    if (toLeaves) targets?.forEach(({ node }) => wanted.add(node));
    const buffers = new Buffers(starts, createGraph);
    const captured = targets && targets.map(() => null);
    edges.forEach((edge, i) => buffers.put(edge, starts[i]));
    const ready = [...new Set(edges.map((edge) => edge.node))].filter((node) => !waiting.get(node));
    while (ready.length) {
      const node = next(ready);
      const arrived = buffers.take(node);
      const grads = hooked(node, arrived, buffers);
      const shown = wanted?.has(node) ? arrived : grads; // before the hooks if the node runs
      targets?.forEach((target, i) => {
        if (target.node === node) captured[i] = shown[target.nr] ?? null;
      });
      const before = newestStorage();
      const results = step(node, grads, { keepGraph, createGraph, wanted, buffers });
      buffers.learn(results, grads, before);
      node.edges.forEach((edge, i) => {
        if (edge === null) return;
        if (results[i]) buffers.put(edge, results[i]);
        waiting.set(edge.node, waiting.get(edge.node) - 1);
        if (waiting.get(edge.node) === 0) ready.push(edge.node);
      });
    }
    return captured;
  });
}

/**
 * The pending gradients and the number of references to each: torch adds in place to a gradient
 * without other references, and a leaf steals it. Gradients' versions and storages show that.
 */
class Buffers {
  constructor(held, createGraph) {
    this.createGraph = createGraph;
    this.waiting = new Map();
    this.holders = new Map(held.map((tensor) => [tensor, 1])); // number of references, by tensor
    this.own = new WeakSet(); // storages of one gradient only
  }

  put({ node, nr }, grad) {
    const grads = this.waiting.get(node) ?? [];
    this.waiting.set(node, grads);
    const before = grads[nr];
    if (before && !this.createGraph && this.isSole(before) && this.own.has(before.storage) && isDense(before)) {
      write(before, operations.add(before, grad).values());
      return;
    }
    if (before) this.hold(before, -1);
    grads[nr] = before ? operations.add(before, grad) : grad;
    if (before) this.own.add(grads[nr].storage);
    this.hold(grads[nr], 1);
  }

  take(node) {
    const grads = this.waiting.get(node) ?? [];
    this.waiting.delete(node);
    grads.forEach((grad) => this.hold(grad, -1));
    return grads;
  }

  hold(grad, change) {
    this.holders.set(grad, (this.holders.get(grad) ?? 0) + change);
  }

  isSole(grad) {
    return this.holders.get(grad) === 1;
  }

  isFree(grad) {
    return !this.holders.get(grad);
  }

  /** Record the results that share storage only with the gradient they were computed from. */
  learn(results, grads, before) {
    const found = results.filter(Boolean);
    for (const { storage } of found) {
      const shared = found.filter((other) => other.storage === storage).length > 1;
      const passed = grads.some((grad) => found.includes(grad)) && this.own.has(storage);
      if (!shared && (storage.id > before || passed)) this.own.add(storage);
      else this.own.delete(storage);
    }
  }
}

/** A node's gradients for its inputs; none if it leads to no target, or has no gradient. */
function step(node, grads, { keepGraph, createGraph, wanted, buffers }) {
  if (!grads.some(Boolean) || (wanted && !wanted.has(node))) return [];
  if (node.variable) {
    const { variable } = node;
    if (variable.requiresGrad) {
      accumulate(variable, grads[0], { createGraph, isFree: buffers.isFree(grads[0]) });
    }
    return [];
  }
  const results = node.gradients(grads[0]);
  if (!keepGraph) node.release();
  return node.edges.map((edge, i) =>
    edge && results[i] ? operations.fit(results[i], node.inputs[i], node.name, i) : null,
  );
}

/** Run the hooks on a node's outputs, and store gradients for `retain_grad()`. */
function hooked(node, grads, buffers) {
  const found = [...grads];
  for (const { nr, call } of node.hooks.filter((hook) => !hook.removed)) {
    if (!found[nr]) continue;
    const before = newestStorage();
    buffers.hold(found[nr], 1); // the hook may keep a reference
    buffers.own.delete(found[nr].storage);
    const replaced = call(found[nr]);
    if (replaced !== null && !(replaced instanceof Tensor)) {
      throw typeError('hooks should return a Tensor or None');
    }
    if (replaced) refuseOther(replaced, found[nr]);
    if (replaced && replaced.storage.id <= before) buffers.hold(replaced, 1);
    found[nr] = replaced ?? found[nr];
  }
  for (const [nr, tensor] of node.retained) {
    if (found[nr]) {
      tensor.grad = tensor.grad ? operations.add(tensor.grad, found[nr]) : operations.clone(found[nr]);
    }
  }
  return found;
}

const LEGACY = { float32: 'Float', float64: 'Double', int64: 'Long', int32: 'Int', bool: 'Bool' };

/** Throws RuntimeError for what a hook returned with another dtype or other sizes. */
function refuseOther(replaced, grad) {
  const [was, is] = [grad, replaced].map(({ dtype }) => `torch.${LEGACY[dtype.name]}Tensor`);
  if (was !== is) {
    throw runtimeError(`hook '<lambda>' has changed the type of value (was ${was} got ${is})`);
  }
  if (`${replaced.shape}` !== `${grad.shape}`) {
    throw runtimeError("hook '<lambda>' has changed the size of value");
  }
}

/** The node made last; gradient accumulators come first, in the order in which they are ready. */
function next(ready) {
  let best = 0;
  for (let i = 1; i < ready.length; i++) if (ready[i].order > ready[best].order) best = i;
  return ready.splice(best, 1)[0];
}

/** The dependencies of each reachable node: the number of gradients it waits for. */
function dependencies(edges) {
  const counts = new Map(edges.map((edge) => [edge.node, 0]));
  const open = [...counts.keys()];
  while (open.length) {
    for (const edge of open.pop().edges) {
      if (edge === null) continue;
      if (!counts.has(edge.node)) {
        counts.set(edge.node, 0);
        open.push(edge.node);
      }
      counts.set(edge.node, counts.get(edge.node) + 1);
    }
  }
  return counts;
}

/** The nodes on a path to a target. */
function leadingTo(targets, reached) {
  const parents = new Map();
  for (const node of reached.keys()) {
    for (const edge of node.edges) {
      if (edge) parents.set(edge.node, [...(parents.get(edge.node) ?? []), node]);
    }
  }
  const found = new Set();
  const open = targets.map((target) => target.node);
  while (open.length) {
    for (const parent of parents.get(open.pop()) ?? []) {
      if (!found.has(parent)) {
        found.add(parent);
        open.push(parent);
      }
    }
  }
  return found;
}

function cotangent(root, given) {
  if (given === null) {
    if (root.requiresGrad && root.size !== 1) {
      throw runtimeError('grad can be implicitly created only for scalar outputs');
    }
    return filled(root.shape, root.dtype, 1);
  }
  if (!(given instanceof Tensor)) {
    throw typeError('gradients can be either Tensors or None');
  }
  if (!sameShape(given.shape, root.shape)) {
    throw runtimeError(
      `Mismatch in shape: grad_output[0] has a shape of [${given.shape}] and output[0] has a ` +
        `shape of [${root.shape}].`,
    );
  }
  return operations.fit(given, root, 'root', 0);
}

/** Accumulate into a tensor's gradient: in place, unless the sum itself is differentiated. */
function accumulate(tensor, grad, { createGraph, isFree = false }) {
  if (tensor.grad === null) {
    const strides = isDense(tensor) ? tensor.strides : contiguousStrides(tensor.shape);
    const fits = grad.shape.every((size, i) => size < 2 || strides[i] === grad.strides[i]);
    if (isFree && fits && !createGraph) {
      tensor.grad = window(grad, grad.shape, grad.strides, grad.offset);
    } else if (isDense(tensor)) {
      // torch allocates it uninitialized and then writes, which increments the version.
      const values = broadcastTo(grad, tensor.shape).values();
      tensor.grad = operations.copyInto(make(tensor.shape, grad.dtype, values, strides), grad);
    } else {
      tensor.grad = operations.clone(grad);
    }
  } else if (createGraph) {
    tensor.grad = operations.add(tensor.grad, grad);
  } else {
    write(tensor.grad, operations.add(tensor.grad, grad).values());
  }
}

/** A view of a gradient in the shape of its leaf, which `data` may have changed. */
function broadcastTo(grad, shape) {
  const common = broadcastShape(shape, grad.shape);
  if (!sameShape(common, shape)) {
    throw runtimeError(
      `output with shape [${shape.join(', ')}] doesn't match the broadcast shape [${common.join(', ')}]`,
    );
  }
  return window(grad, shape, broadcastStrides(grad, shape), grad.offset);
}

/** Whether a tensor's elements are dense and do not overlap. */
function isDense(tensor) {
  const dense = resultStrides([tensor], tensor.shape);
  return tensor.shape.every((size, i) => size < 2 || dense[i] === tensor.strides[i]);
}
