// Operators: the computation of each, its saved tensors, and a formula for each input's gradient.
//
// Formulas use the operators themselves, so that gradients can be differentiated.

import { Lacks, runtimeError } from './errors.js';
import {
  Tensor, broadcastShape, broadcastStrides, contiguousStrides, dimension, dtypes, filled,
  inferredShape, make, number, places, pointwise, product, promoted, resultStrides, sameShape,
  state, viewStrides, window,
} from './tensor.js';
import { apply, applyInPlace, applyView, operations } from './graph.js';

const none = () => [];
const floating = (dtype) => (dtype.isFloat ? dtype : state.defaultDType);
const asTensor = (value) => (value instanceof Tensor ? value : number(value));
/** A gradient that torch makes by writing into zeros `times` times, which its version shows. */
const written = (grad, times = 1) => {
  grad.counter.version += times;
  return grad;
};
const zerosLike = (grad) => filled(grad.shape, grad.dtype, 0);

/** Every operation by its name: `compute`, `saves` (inputs by number, or 'output'), `backward`. */
export const table = {};

function define(name, node, compute, saves, ...backward) {
  table[name] = { name: `${node}Backward0`, compute, saves, backward };
  return (...inputs) => apply(table[name], inputs.map(asTensor));
}

// Unary operators.

function unary(name, node, f, saved, formula) {
  const compute = ([x]) => pointwise([x], floating(x.dtype), f);
  return define(name, node, compute, () => saved, formula);
}

const sign = (x) => (Number.isNaN(x) ? 0 : Math.sign(x));

export const exp = unary('exp', 'Exp', Math.exp, ['output'], (g, { output }) => mul(g, output));
export const expm1 = unary('expm1', 'Expm1', Math.expm1, ['output'], (g, { output }) => mul(g, add(output, 1)));
export const log = unary('log', 'Log', Math.log, [0], (g, [x]) => div(g, x));
export const log1p = unary('log1p', 'Log1P', Math.log1p, [0], (g, [x]) => div(g, add(x, 1)));
export const log2 = unary('log2', 'Log2', Math.log2, [0], (g, [x]) => div(g, mul(x, Math.LN2)));
export const log10 = unary('log10', 'Log10', Math.log10, [0], (g, [x]) => div(g, mul(x, Math.LN10)));
export const sqrt = unary('sqrt', 'Sqrt', Math.sqrt, ['output'], (g, { output }) => div(g, mul(output, 2)));
export const rsqrt = unary('rsqrt', 'Rsqrt', (x) => 1 / Math.sqrt(x), ['output'], (g, { output }) =>
  mul(mul(g, -0.5), power(output, 3)));
export const sin = unary('sin', 'Sin', Math.sin, [0], (g, [x]) => mul(g, cos(x)));
export const cos = unary('cos', 'Cos', Math.cos, [0], (g, [x]) => mul(g, neg(sin(x))));
export const tan = unary('tan', 'Tan', Math.tan, ['output'], (g, { output }) =>
  mul(g, add(mul(output, output), 1)));
export const sinh = unary('sinh', 'Sinh', Math.sinh, [0], (g, [x]) => mul(g, cosh(x)));
export const cosh = unary('cosh', 'Cosh', Math.cosh, [0], (g, [x]) => mul(g, sinh(x)));
export const tanh = unary('tanh', 'Tanh', Math.tanh, ['output'], (g, { output }) =>
  mul(g, sub(1, mul(output, output))));
export const atan = unary('atan', 'Atan', Math.atan, [0], (g, [x]) => div(g, add(mul(x, x), 1)));
export const sigmoid = unary('sigmoid', 'Sigmoid', (x) => 1 / (1 + Math.exp(-x)), ['output'], (g, { output }) =>
  mul(mul(g, sub(1, output)), output));
export const reciprocal = unary('reciprocal', 'Reciprocal', (x) => 1 / x, ['output'], (g, { output }) =>
  mul(neg(g), mul(output, output)));

/** As `unary`, for operators that keep integer dtypes. */
function plain(name, node, f, saved, formula) {
  const compute = ([x]) => pointwise([x], x.dtype, f);
  return define(name, node, compute, () => saved, formula);
}

export const neg = plain('neg', 'Neg', (x) => -x, [], (g) => neg(g));
export const abs = plain('abs', 'Abs', Math.abs, [0], (g, [x]) => mul(g, signOf(x)));
export const signOf = plain('sign', 'Sign', sign, [], zerosLike);
export const relu = plain('relu', 'Relu', (x) => (x <= 0 ? 0 : x), ['output'], (g, { output }) =>
  reluBackward(g, output));
const reluBackward = define(
  'reluBackward', 'ThresholdBackward',
  ([g, y]) => pointwise([g, y], g.dtype, (slope, value) => (value <= 0 ? 0 : slope)),
  () => [1], (g, [, y]) => reluBackward(g, y), zerosLike,
);
export const floor = plain('floor', 'Floor', Math.floor, [], zerosLike);
export const ceil = plain('ceil', 'Ceil', Math.ceil, [], zerosLike);
export const trunc = plain('trunc', 'Trunc', Math.trunc, [], zerosLike);

/** A bool tensor, element by element; it has no gradient. */
export const compare = (f, ...inputs) => pointwise(inputs.map(asTensor), dtypes.bool, f);

// Binary operators.

function binary(name, node, f, saves, ...formulas) {
  const compute = (inputs) => pointwise(inputs, promoted(inputs), f);
  return define(name, node, compute, saves, ...formulas);
}

/** The saved tensors of a product: each factor, if the other one requires grad. */
const crosswise = ([first, second]) => [...(second ? [0] : []), ...(first ? [1] : [])];

export const add = binary('add', 'Add', (x, y) => x + y, none, (g) => g, (g) => g);
export const sub = binary('sub', 'Sub', (x, y) => x - y, none, (g) => g, (g) => neg(g));
export const mul = binary('mul', 'Mul', (x, y) => x * y, crosswise, (g, [, y]) => mul(g, y), (g, [x]) => mul(g, x));

define(
  'div', 'Div',
  ([x, y]) => pointwise([x, y], floating(promoted([x, y])), (a, b) => a / b),
  ([, second]) => (second ? [0, 1] : [1]),
  (g, [, y]) => div(g, y),
  (g, [x, y]) => mul(neg(g), div(div(x, y), y)),
);
export const div = (x, y) => apply(table.div, [asTensor(x), asTensor(y)]);

const raised = (x, y) => (x === 1 || y === 0 ? 1 : x ** y);
const raisedToNumber = (x, y) => (Math.abs(y) === 0.5 ? Math.sqrt(x) ** Math.sign(y) : raised(x, y));

/** Power with a number as the exponent. */
table.power = {
  name: 'PowBackward0',
  compute: ([x], { exponent }) => {
    const y = number(exponent);
    const dtype = promoted([x, y]);
    if (dtype.rank < 2 && Number(exponent) < 0) {
      throw runtimeError('Integers to negative integer powers are not allowed.');
    }
    return pointwise([x], dtype, (a) => raisedToNumber(a, Number(exponent)));
  },
  saves: () => [0],
  backward: [
    (g, [x], { args: { exponent } }) =>
      Number(exponent) === 0
        ? zerosLike(g)
        : mul(g, mul(power(x, Number(exponent) - 1), Number(exponent))),
  ],
};
export const power = (x, exponent) => apply(table.power, [x], { exponent });

/** A power of integers, which is zero for a negative exponent, but for the bases 1 and -1. */
function raisedWhole(x, y) {
  if (y < 0) return x === 1 ? 1 : x === -1 ? (y % 2 ? -1 : 1) : 0;
  const result = x ** y;
  if (!Number.isSafeInteger(result)) throw new Lacks('integers of more than 53 bits');
  return result;
}

/** Power with a tensor as the exponent. */
export const powerOf = define(
  'pow', 'Pow',
  (inputs) => {
    const dtype = promoted(inputs);
    return pointwise(inputs, dtype, dtype.rank < 2 ? raisedWhole : raised);
  },
  ([, second]) => (second ? [0, 1, 'output'] : [0, 1]),
  (g, [x, y]) => where(equal(y, 0), 0, mul(g, mul(y, powerOf(x, sub(y, 1))))),
  (g, { 0: x, 1: y, output }) =>
    where(compare((a, b) => a === 0 && b >= 0, x, y), 0, mul(g, mul(output, log(x)))),
);
export const pow = (x, y) => (y instanceof Tensor ? powerOf(x, y) : power(x, y));

const equal = (x, y) => compare((a, b) => a === b, x, y);

/** Elementwise maximum or minimum; at ties each operand gets half of the gradient. */
function extremum(name, node, better) {
  const choose = (x, y) => (Number.isNaN(x) || better(x, y) ? x : y);
  const share = (own, other) => (g) =>
    written(where(equal(own, other), div(g, 2), where(compare(better, other, own), 0, g)));
  return binary(
    name, node, choose, () => [0, 1],
    (g, [x, y]) => share(x, y)(g),
    (g, [x, y]) => share(y, x)(g),
  );
}
export const maximum = extremum('maximum', 'Maximum', (x, y) => x > y);
export const minimum = extremum('minimum', 'Minimum', (x, y) => x < y);

export const where = define(
  'where', 'Where',
  ([mask, x, y]) => pointwise([mask, x, y], promoted([x, y]), (chosen, a, b) => (chosen ? a : b)),
  () => [0],
  () => null,
  (g, [mask]) => where(mask, g, 0),
  (g, [mask]) => where(mask, 0, g),
);

table.clamp = {
  name: 'ClampBackward1',
  compute: ([x], { min, max }) =>
    pointwise([x], promoted([x, ...[min, max].filter((end) => end !== null).map(number)]), (a) =>
      Number.isNaN(a) ? a : Math.min(Math.max(a, Number(min ?? -Infinity)), Number(max ?? Infinity))),
  saves: () => [0],
  backward: [
    (g, [x], { args: { min, max } }) =>
      where(compare((a) => (min === null || a > Number(min)) && (max === null || a < Number(max)), x), g, 0),
  ],
};
export const clamp = (x, bounds) => apply(table.clamp, [x], bounds);

// Copies.

export const clone = define(
  'clone', 'Clone',
  ([x]) => make(x.shape, x.dtype, x.values(), resultStrides([x], x.shape)),
  none, (g) => g,
);
table.contiguous = { ...table.clone, compute: ([x]) => make(x.shape, x.dtype, x.values()) };
export const isContiguous = ({ shape, strides }) =>
  contiguousStrides(shape).every((stride, i) => shape[i] < 2 || strides[i] === stride) || product(shape) === 0;
export const contiguous = (x) => (isContiguous(x) ? x : apply(table.contiguous, [x]));

table.to = {
  name: 'ToCopyBackward0',
  compute: ([x], { dtype }) => make(x.shape, dtype, x.values(), resultStrides([x], x.shape)),
  saves: none,
  backward: [(g) => g],
};
export const to = (x, dtype) => (x.dtype === dtype ? x : apply(table.to, [x], { dtype }));

/** Copy the second tensor, broadcast, into the first. */
table.copy = {
  name: 'CopyBackwards',
  compute: ([x, source]) => {
    const shape = broadcastShape(x.shape, source.shape);
    const strides = broadcastStrides(source, shape);
    const { data } = source.storage;
    const from = places({ shape, strides, offset: source.offset });
    return make(shape, x.dtype, from.map((place) => data[place]));
  },
  saves: none,
  backward: [zerosLike, (g) => g],
};
table.fill = {
  name: 'FillBackward0',
  fills: true, // may write to overlapping elements
  compute: ([x], { value }) => filled(x.shape, x.dtype, Number(value)),
  saves: none,
  backward: [zerosLike],
};
/** As `fill`, with the one element of a tensor. */
table.fillWith = {
  name: 'FillBackward1',
  fills: true,
  compute: ([x, value]) => filled(x.shape, x.dtype, value.item()),
  saves: none,
  backward: [zerosLike, (g) => sum(g, allDims(g))],
};

// Views.

function defineView(name, node, compute, formula) {
  table[name] = { name: `${node}Backward0`, compute, saves: none, backward: [formula] };
  return (x, args) => applyView(table[name], x, args);
}

const inputShape = (node) => node.inputs[0].shape;

export const viewAs = defineView(
  'view', 'View',
  ([x], { shape }) => {
    const target = inferredShape(shape, x.size);
    const strides = viewStrides(x, target);
    if (strides === null) {
      throw runtimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension " +
          'spans across two contiguous subspaces). Use .reshape(...) instead.',
      );
    }
    return window(x, target, strides, x.offset);
  },
  (g, _, node) => reshape(g, inputShape(node)),
);

export const alias = defineView('alias', 'Alias', ([x]) => window(x, x.shape, x.strides, x.offset), (g) => g);

export const reshape = (x, shape) => {
  const target = inferredShape(shape, x.size);
  if (viewStrides(x, target) !== null) return viewAs(x, { shape: target });
  return ownReshape(apply(table.contiguous, [x]), target);
};

/** A reshape without view metadata, for a tensor without other references. */
function ownReshape(x, shape) {
  const made = viewAs(x, { shape });
  made.view = null;
  return made;
}

export const permute = defineView(
  'permute', 'Permute',
  ([x], { order }) => {
    if (order.length !== x.dim || new Set(order).size !== x.dim) {
      throw runtimeError('permute(sparse_coo): number of dimensions does not match the order');
    }
    return window(x, order.map((i) => x.shape[i]), order.map((i) => x.strides[i]), x.offset);
  },
  (g, _, { args: { order } }) => permute(g, { order: order.map((_dim, i) => order.indexOf(i)) }),
);

export function transpose(x, first, second) {
  const order = x.shape.map((_, i) => i);
  if (x.dim === 0) return permute(x, { order });
  [order[first], order[second]] = [order[second], order[first]];
  return permute(x, { order });
}

export const unsqueeze = defineView(
  'unsqueeze', 'Unsqueeze',
  ([x], { dim }) => {
    const stride = dim < x.dim ? x.shape[dim] * x.strides[dim] : 1;
    return window(x, x.shape.toSpliced(dim, 0, 1), x.strides.toSpliced(dim, 0, stride), x.offset);
  },
  (g, _, { args: { dim } }) => squeeze(g, { dims: [dim] }),
);

export const squeeze = defineView(
  'squeeze', 'Squeeze',
  ([x], { dims }) => {
    const kept = x.shape.map((_, i) => i).filter((i) => x.shape[i] !== 1 || !dims.includes(i));
    return window(x, kept.map((i) => x.shape[i]), kept.map((i) => x.strides[i]), x.offset);
  },
  (g, _, node) => {
    const shape = inputShape(node);
    const dropped = node.args.dims.filter((dim) => shape[dim] === 1).toSorted((a, b) => a - b);
    return dropped.reduce((wide, dim) => unsqueeze(wide, { dim }), g);
  },
);

export const expand = defineView(
  'expand', 'Expand',
  ([x], { shape }) => {
    const missing = shape.length - x.dim;
    const target = shape.map((size, i) => (size === -1 ? x.shape[i - missing] : size));
    const fits = missing >= 0 && x.shape.every((size, i) => size === 1 || size === target[i + missing]);
    if (!fits || target.includes(undefined)) {
      throw runtimeError(
        `The expanded size of the tensor (${shape}) must match the existing size (${x.shape})`,
      );
    }
    if (target.some((size) => size < 0)) throw runtimeError('numel: integer multiplication overflow');
    return window(x, target, broadcastStrides(x, target), x.offset);
  },
  (g) => g, // summed to the input's shape by `fit`, as any gradient
);

/** A view on some of the elements: the gradient of all others is zero. */
function definePart(name, node, compute) {
  const part = defineView(name, node, compute, (g, _, { args, inputs }) =>
    apply(table.embed, [g], { part: table[name], own: args, shape: inputs[0].shape }));
  return part;
}

table.embed = {
  name: 'EmbedBackward0',
  compute: ([g], { part, own, shape }) => {
    const whole = filled(shape, g.dtype, 0);
    const values = g.values();
    places(part.compute([whole], own)).forEach((place, i) => {
      whole.storage.data[place] = values[i];
    });
    return whole;
  },
  saves: none,
  backward: [(g, _, { args: { part, own } }) => apply(part, [g], own)],
};

export const select = definePart('select', 'Select', ([x], { dim, index }) =>
  window(x, x.shape.toSpliced(dim, 1), x.strides.toSpliced(dim, 1), x.offset + index * x.strides[dim]));

export const slice = definePart('slice', 'Slice', ([x], { dim, start, end, step }) =>
  window(
    x,
    x.shape.with(dim, Math.max(0, Math.ceil((end - start) / step))),
    x.strides.with(dim, x.strides[dim] * step),
    x.offset + start * x.strides[dim],
  ));

// Reductions.

/** Reduce some dimensions: `f` takes the elements of one result. */
function folded(x, dims, keepDim, dtype, f) {
  const over = dims.map((i) => x.shape[i]);
  const inner = places({ shape: over, strides: dims.map((i) => x.strides[i]), offset: 0 });
  const kept = x.shape.map((_, i) => i).filter((i) => !dims.includes(i));
  const outer = places({
    shape: kept.map((i) => x.shape[i]),
    strides: kept.map((i) => x.strides[i]),
    offset: x.offset,
  });
  const { data } = x.storage;
  const values = outer.map((start) => f(inner.map((step) => data[start + step])));
  const shape = keepDim
    ? x.shape.map((size, i) => (dims.includes(i) ? 1 : size))
    : kept.map((i) => x.shape[i]);
  return make(shape, dtype, values);
}

/** A reduced tensor, such as a gradient, in the shape before the reduction. */
function restored(g, { args: { dims, keepDim }, inputs }) {
  const { shape } = inputs[0];
  const wide = keepDim ? g : reshape(g, shape.map((size, i) => (dims.includes(i) ? 1 : size)));
  return expand(wide, { shape });
}

function defineFold(name, node, dtype, f, saved, formula) {
  table[name] = {
    name: `${node}Backward0`,
    compute: ([x], { dims, keepDim }) => folded(x, dims, keepDim, dtype(x.dtype), f),
    saves: () => saved,
    backward: [formula],
  };
  return (x, dims, keepDim = false) => apply(table[name], [x], { dims, keepDim });
}

const total = (values) => values.reduce((a, b) => a + b, 0);
const counted = (dtype) => (dtype.isFloat ? dtype : dtypes.int64);
const allDims = (x) => x.shape.map((_, i) => i);

export const sum = defineFold('sum', 'Sum', counted, total, [], (g, _, node) => restored(g, node));
export const mean = defineFold(
  'mean', 'Mean', (dtype) => dtype, (values) => total(values) / values.length, [],
  (g, _, node) => {
    const { shape } = node.inputs[0];
    return div(restored(g, node), product(node.args.dims.map((i) => shape[i])));
  },
);

/** amax and amin: all elements that equal the extreme value share the gradient evenly. */
function defineExtreme(name, node, better) {
  const best = (values) => values.reduce((a, b) => (Number.isNaN(a) || better(a, b) ? a : b));
  const shared = (g, { 0: x, output }, own) => {
    const mask = to(equal(x, restored(output, own)), g.dtype);
    return div(mul(restored(g, own), mask), restored(sum(mask, own.args.dims, own.args.keepDim), own));
  };
  return defineFold(name, node, (dtype) => dtype, best, [0, 'output'], shared);
}
export const amax = defineExtreme('amax', 'Amax', (a, b) => a >= b);
export const amin = defineExtreme('amin', 'Amin', (a, b) => a <= b);

/** max and min over all elements: as amax and amin, but NaN equals itself. */
function defineWholeExtreme(name, node, fold) {
  table[name] = {
    ...fold,
    name: `${node}Backward1`,
    backward: [
      (g, { 0: x, output }) => {
        const mask = compare((a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b)), x, output);
        const share = div(g, to(sum(mask, allDims(x)), g.dtype));
        return written(where(mask, share, 0));
      },
    ],
  };
  return (x) => apply(table[name], [x], { dims: allDims(x), keepDim: false });
}
export const max = defineWholeExtreme('max', 'Max', table.amax);
export const min = defineWholeExtreme('min', 'Min', table.amin);

/** The index of the first extreme value along a dimension. */
export function argExtreme(x, dim, keepDim, better) {
  return folded(x, x.dim ? [dim] : [], keepDim, dtypes.int64, (values) =>
    values.reduce((best, value, i) =>
      !Number.isNaN(values[best]) && (Number.isNaN(value) || better(value, values[best])) ? i : best, 0));
}

/** The values at the indices of `argExtreme`; each passes its gradient to that one element. */
table.pick = {
  name: 'MaxBackward0',
  compute: ([x], { dims, keepDim, indices }) => {
    const chosen = indices.values().values();
    return folded(x, dims, keepDim, x.dtype, (values) => values[chosen.next().value]);
  },
  saves: none,
  backward: [
    (g, _, node) => {
      const { shape } = node.inputs[0];
      const { dims, indices } = node.args;
      const size = product(dims.map((i) => shape[i]));
      const along = shape.map((_size, i) => (dims.includes(i) ? size : 1));
      const positions = make(along, dtypes.int64, Array.from({ length: size }, (_size, i) => i));
      return written(where(equal(restored(indices, node), positions), restored(g, node), 0), 2);
    },
  ],
};

export function extremeAlong(x, dim, keepDim, better) {
  const indices = argExtreme(x, dim, keepDim, better);
  const dims = x.dim ? [dim] : [];
  return { values: apply(table.pick, [x], { dims, keepDim, indices }), indices };
}

// Matrix products.

table.matmul = {
  name: 'MmBackward0',
  compute: ([a, b]) => {
    const [rows, inner] = a.shape.slice(-2);
    const [innerToo, columns] = b.shape.slice(-2);
    if (inner !== innerToo) {
      throw runtimeError(
        `mat1 and mat2 shapes cannot be multiplied (${rows}x${inner} and ${innerToo}x${columns})`,
      );
    }
    if (a.dtype !== b.dtype) throw runtimeError('expected m1 and m2 to have the same dtype');
    const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
    const [left, right] = [
      [a, [...batch, rows, inner]],
      [b, [...batch, inner, columns]],
    ].map(([x, shape]) => window(x, shape, broadcastStrides(x, shape), x.offset).values());
    const values = [];
    for (let matrix = 0; matrix < product(batch); matrix++) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          let entry = 0;
          for (let k = 0; k < inner; k++) {
            entry += left[(matrix * rows + i) * inner + k] * right[(matrix * inner + k) * columns + j];
          }
          values.push(entry);
        }
      }
    }
    return make([...batch, rows, columns], a.dtype, values);
  },
  saves: crosswise,
  backward: [(g, [, b]) => product2(g, flipped(b)), (g, [a]) => product2(flipped(a), g)],
};
const flipped = (x) => transpose(x, x.dim - 2, x.dim - 1);
const product2 = (a, b) => apply(table.matmul, [a, b]);

export function matmul(a, b) {
  if (a.dim === 0 || b.dim === 0) {
    throw runtimeError('both arguments to matmul need to be at least 1D');
  }
  const left = a.dim === 1 ? unsqueeze(a, { dim: 0 }) : a;
  const right = b.dim === 1 ? unsqueeze(b, { dim: 1 }) : b;
  const whole = product2(left, right);
  if (a.dim > 1 && b.dim > 1) return whole;
  const batch = whole.shape.slice(0, -2);
  const [rows, columns] = whole.shape.slice(-2);
  const made = ownReshape(whole, [...batch, ...(a.dim > 1 ? [rows] : []), ...(b.dim > 1 ? [columns] : [])]);
  // A row times a matrix: torch squeezes in place, which increments the version.
  return a.dim === 1 && b.dim === 2 ? written(made) : made;
}

// Operators on several tensors.

export function cat(tensors, dim) {
  const dtype = promoted(tensors);
  if (tensors[0].dim === 0) throw runtimeError('zero-dimensional tensor cannot be concatenated');
  const shape = tensors[0].shape.with(dim, total(tensors.map((x) => x.shape[dim])));
  for (const x of tensors) {
    if (x.dim !== shape.length || !sameShape(x.shape.with(dim, 0), shape.with(dim, 0))) {
      throw runtimeError('Sizes of tensors must match except in the given dimension');
    }
  }
  let start = 0;
  const ranges = tensors.map((x) => ({ dim, start, end: (start += x.shape[dim]), step: 1 }));
  const compute = (inputs) => {
    const whole = filled(shape, dtype, 0);
    inputs.forEach((x, i) => {
      const values = x.values();
      places(table.slice.compute([whole], ranges[i])).forEach((place, at) => {
        whole.storage.data[place] = values[at];
      });
    });
    return whole;
  };
  const backward = ranges.map((range) => (g) => slice(g, range));
  return apply({ name: 'CatBackward0', compute, saves: none, backward }, tensors);
}

/** The same storage and version counter, without history. */
export const detach = (x) => window(x, x.shape, x.strides, x.offset);

/** A gradient in the shape and dtype of its input; raises for incompatible shapes. */
function fit(grad, { shape, dtype }, name, index) {
  let fitted = grad;
  if (!sameShape(grad.shape, shape)) {
    if (shape.length === 0) return to(sum(grad, allDims(grad)), dtype);
    const missing = grad.dim - shape.length;
    const dims = allDims(grad).filter((i) => i < missing || (shape[i - missing] === 1 && grad.shape[i] !== 1));
    fitted = sum(grad, dims, true);
    if (missing > 0) fitted = reshape(fitted, fitted.shape.slice(missing));
    if (!sameShape(fitted.shape, shape)) {
      throw runtimeError(
        `Function ${name} returned an invalid gradient at index ${index} - got [${grad.shape}] but ` +
          `expected shape compatible with [${shape}]`,
      );
    }
  }
  return to(fitted, dtype);
}

Object.assign(operations, {
  clone,
  add,
  fit,
  copyInto: (target, source) => applyInPlace(table.copy, [target, source ?? zerosLike(target)]),
});

export { allDims, asTensor, dimension };
