// The names that a program may use: functions of torch, methods, attributes, and their parameters.

import { Lacks, PythonError, runtimeError, typeError } from './errors.js';
import {
  Tensor, contiguousStrides, dtypes, filled, fromNested, isDType, make, number, product, sameShape,
  state, window,
} from './tensor.js';
import { AccumulateGrad, applyInPlace } from './graph.js';
import { backward, gradients, retainGrad } from './engine.js';
import * as op from './operators.js';

/** A Python tuple; `kind` is its class, `names` are its items' names (as in `x.max(0).values`). */
export class Tuple extends Array {
  static of(items, kind = 'tuple', names = []) {
    return Object.assign(Tuple.from(items), { kind, names });
  }
}

export const sizeOf = (shape) => Tuple.of(shape.map(BigInt), 'size');

const isNumber = (value) => ['number', 'bigint', 'boolean'].includes(typeof value);
const typeName = (value) =>
  value === null ? 'NoneType'
  : typeof value === 'bigint' ? 'int'
  : { boolean: 'bool', number: 'float', string: 'str' }[typeof value] ?? 'object';

function tensor(value) {
  if (value instanceof Tensor) return value;
  throw typeError(`expected Tensor as argument, but got ${typeName(value)}`);
}

const numeric = (value) => (isNumber(value) ? number(value) : tensor(value));
const int = (value) => {
  if (typeof value === 'bigint') return Number(value);
  throw typeError(`expected int, but got ${typeName(value)}`);
};
const ints = (values) => (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).map(int);
function oneDim(x, dim) {
  if (typeof dim === 'bigint' || Number.isInteger(dim)) return op.dimension(dim, x.dim);
  throw typeError(`expected int, but got ${typeName(dim)}`);
}
function dimsOf(x, dim) {
  if (dim === null || (Array.isArray(dim) && dim.length === 0)) return op.allDims(x);
  const dims = (Array.isArray(dim) ? dim : [dim]).map((one) => oneDim(x, one));
  const twice = dims.find((one, i) => dims.indexOf(one) !== i);
  if (twice !== undefined) {
    throw runtimeError(`dim ${twice} appears multiple times in the list of dims`);
  }
  return x.dim > 0 ? dims : [];
}

/**
 * A function with named parameters: 'dim=None keepdim=False' are optional, '*shape' takes all
 * remaining arguments. Further arguments of a program are unsupported.
 */
function signature(parameters, call) {
  const names = parameters.split(' ').filter(Boolean).map((word) => word.split('='));
  const defaults = { None: null, False: false, True: true, 1: 1n, 0: 0n };
  return (name, args, kwargs) => {
    const bound = names.map(([parameter, otherwise], i) => {
      if (parameter.startsWith('*')) return args.slice(i);
      if (i < args.length) return args[i];
      if (parameter in kwargs) return kwargs[parameter];
      if (otherwise === undefined) throw typeError(`${name}() missing argument '${parameter}'`);
      return defaults[otherwise];
    });
    names.forEach(([parameter, otherwise], i) => {
      if (['False', 'True'].includes(otherwise) && typeof bound[i] !== 'boolean') {
        throw typeError(`${name}(): argument '${parameter}' must be bool, not ${typeName(bound[i])}`);
      }
    });
    const known = names.map(([parameter]) => parameter);
    const unknown = Object.keys(kwargs).find((key) => !known.includes(key));
    if (unknown !== undefined) throw new Lacks(`${name} with ${unknown}=`);
    if (args.length > names.length && !known.at(-1)?.startsWith('*')) {
      throw new Lacks(`${name} with ${args.length} arguments`);
    }
    return call(...bound);
  };
}

/** Functions of torch by name: functions only, functions that are also methods, methods only. */
export const functions = {};
export const methods = {};
const both = (name, parameters, call) => {
  functions[name] = methods[name] = signature(parameters, call);
};

for (const name of [
  'exp', 'expm1', 'log', 'log1p', 'log2', 'log10', 'sqrt', 'rsqrt', 'sin', 'cos', 'tan', 'sinh',
  'cosh', 'tanh', 'atan', 'sigmoid', 'reciprocal', 'neg', 'abs', 'relu', 'floor', 'ceil', 'trunc',
]) {
  both(name, 'input', (x) => op[name](tensor(x)));
  methods[`${name}_`] = signature('input', (x) => applyInPlace(op.table[name], [x]));
}
const noBools = (...values) => {
  if (values.some((value) => typeof value === 'boolean' || value?.dtype === dtypes.bool)) {
    throw new PythonError('NotImplementedError', 'The `-` operator, with a bool tensor, is not supported.');
  }
};
const neg = functions.neg;
functions.neg = methods.neg = (name, args, kwargs) => {
  noBools(args[0]);
  return neg(name, args, kwargs);
};
functions.absolute = methods.absolute = functions.abs;
functions.negative = methods.negative = functions.neg;
both('sign', 'input', (x) => op.signOf(tensor(x)));
both('square', 'input', (x) => op.power(tensor(x), 2n));
methods.square_ = signature('input', (x) => applyInPlace(op.table.power, [x], { exponent: 2n }));

const scaled = (y, alpha) => (alpha === 1n ? numeric(y) : op.mul(numeric(y), numeric(alpha)));
both('add', 'input other alpha=1', (x, y, alpha) => op.add(numeric(x), scaled(y, alpha)));
both('sub', 'input other alpha=1', (x, y, alpha) => {
  noBools(x, y);
  return op.sub(numeric(x), scaled(y, alpha));
});
methods.add_ = signature('input other alpha=1', (x, y, alpha) =>
  applyInPlace(op.table.add, [x, scaled(y, alpha)]));
methods.sub_ = signature('input other alpha=1', (x, y, alpha) =>
  applyInPlace(op.table.sub, [x, scaled(y, alpha)]));
for (const name of ['mul', 'div']) {
  both(name, 'input other', (x, y) => op[name](numeric(x), numeric(y)));
  methods[`${name}_`] = signature('input other', (x, y) => applyInPlace(op.table[name], [x, numeric(y)]));
}
for (const [alias, name] of [['multiply', 'mul'], ['subtract', 'sub'], ['divide', 'div'], ['true_divide', 'div']]) {
  functions[alias] = methods[alias] = functions[name];
}
const pow = (x, y) => (x instanceof Tensor || !(y instanceof Tensor) ? op.pow(tensor(x), y) : op.powerOf(numeric(x), y));
both('pow', 'input exponent', pow);
methods.pow_ = signature('input exponent', (x, y) =>
  y instanceof Tensor ? applyInPlace(op.table.pow, [x, y]) : applyInPlace(op.table.power, [x], { exponent: y }));
for (const name of ['maximum', 'minimum']) {
  both(name, 'input other', (x, y) => op[name](tensor(x), tensor(y)));
}
const bounds = (min, max) => {
  if (min === null && max === null) {
    throw runtimeError("torch.clamp: At least one of 'min' or 'max' must not be None");
  }
  return { min: bound(min), max: bound(max) };
};
const bound = (end) => {
  if (end instanceof Tensor) throw new Lacks('clamp with tensors');
  return end;
};
both('clamp', 'input min=None max=None', (x, min, max) => op.clamp(tensor(x), bounds(min, max)));
methods.clamp_ = signature('input min=None max=None', (x, min, max) =>
  applyInPlace(op.table.clamp, [x], bounds(min, max)));
functions.where = signature('condition input other', (mask, x, y) => {
  if (tensor(mask).dtype !== dtypes.bool) {
    throw runtimeError(`where expected condition to be a boolean tensor, but got ${mask.dtype.name}`);
  }
  return op.where(mask, numeric(x), numeric(y));
});
methods.where = signature('input condition other', (x, mask, y) => functions.where('where', [mask, x, y], {}));

const comparisons = {
  eq: (a, b) => a === b, ne: (a, b) => a !== b, lt: (a, b) => a < b,
  le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b,
};
for (const [name, f] of Object.entries(comparisons)) {
  both(name, 'input other', (x, y) => op.compare(f, numeric(x), numeric(y)));
}
both('isnan', 'input', (x) => op.compare(Number.isNaN, tensor(x)));
both('isfinite', 'input', (x) => op.compare(Number.isFinite, tensor(x)));
both('isinf', 'input', (x) => op.compare((a) => Math.abs(a) === Infinity, tensor(x)));
const only = (x, f) => make([], dtypes.bool, [Number(f(tensor(x).values()))]);
both('any', 'input', (x) => only(x, (values) => values.some((value) => value !== 0)));
both('all', 'input', (x) => only(x, (values) => values.every((value) => value !== 0)));
both('equal', 'input other', (x, y) =>
  sameShape(x.shape, y.shape) && x.values().every((value, i) => value === y.values()[i]));
const close = (rtol, atol, nans) => (a, b) =>
  a === b || (nans && Number.isNaN(a) && Number.isNaN(b))
  || (Number.isFinite(b) && Math.abs(a - b) <= atol + rtol * Math.abs(b));
both('allclose', 'input other rtol=None atol=None equal_nan=False', (x, y, rtol, atol, nans) => {
  if (tensor(x).dtype !== tensor(y).dtype) throw new Lacks('torch.allclose of two dtypes');
  const [relative, absolute] = [rtol ?? 1e-5, atol ?? 1e-8].map(Number);
  for (const [name, bound] of Object.entries({ rtol: relative, atol: absolute })) {
    if (!(bound >= 0)) throw runtimeError(`${name} must be greater than or equal to zero, but got ${shown(bound)}`);
  }
  return op.compare(close(relative, absolute, nans), x, y).values().every(Boolean);
});

// Reductions.

const inDType = (x, dtype) => {
  if (dtype === null) return tensor(x);
  if (!dtype.array) throw typeError(`expected torch.dtype, but got ${typeName(dtype)}`);
  return op.to(tensor(x), dtype);
};
both('sum', 'input dim=None keepdim=False dtype=None', (x, dim, keep, dtype) =>
  op.sum(inDType(x, dtype), dimsOf(x, dim), keep));
both('mean', 'input dim=None keepdim=False dtype=None', (x, dim, keep, dtype) => {
  const wanted = inDType(x, dtype);
  if (!wanted.dtype.isFloat) {
    throw runtimeError('mean(): could not infer output dtype. Input dtype must be either a floating ' +
      'point or complex dtype.');
  }
  return op.mean(wanted, dimsOf(x, dim), keep);
});
const nonEmpty = (x, name) => {
  if (x.size === 0) throw new Lacks(`${name} of an empty tensor`);
  return x;
};
for (const [name, full, better, pair] of [
  ['max', 'amax', (a, b) => a > b, 'maximum'],
  ['min', 'amin', (a, b) => a < b, 'minimum'],
]) {
  both(full, 'input dim=None keepdim=False', (x, dim, keep) => op[full](nonEmpty(tensor(x), full), dimsOf(x, dim), keep));
  both(name, 'input dim=None keepdim=False', (x, dim, keep) => {
    nonEmpty(tensor(x), name);
    if (dim === null) return op[name](x);
    if (dim instanceof Tensor) return op[pair](x, dim);
    const { values, indices } = op.extremeAlong(x, oneDim(x, dim), keep, better);
    return Tuple.of([values, indices], 'tuple', ['values', 'indices']);
  });
  both(`arg${name}`, 'input dim=None keepdim=False', (x, dim, keep) =>
    dim === null
      ? op.argExtreme(op.reshape(op.detach(nonEmpty(tensor(x), name)), [-1]), 0, false, better)
      : op.argExtreme(nonEmpty(tensor(x), name), oneDim(x, dim), keep, better));
}
both('matmul', 'input other', (x, y) => op.matmul(tensor(x), tensor(y)));
for (const [name, dims] of [['mm', [2, 2]], ['mv', [2, 1]], ['dot', [1, 1]], ['bmm', [3, 3]]]) {
  both(name, 'input other', (x, y) => {
    if (tensor(x).dim !== dims[0] || tensor(y).dim !== dims[1]) {
      throw runtimeError(`${name}: expected tensors of ${dims.join(' and ')} dimensions`);
    }
    if (name === 'bmm' && x.shape[0] !== y.shape[0]) {
      throw runtimeError('bmm: expected batches of the same size');
    }
    return op.matmul(x, y);
  });
}

// Views and copies.

both('reshape', 'input *shape', (x, shape) => op.reshape(tensor(x), ints(shape)));
methods.view = signature('input *shape', (x, shape) => {
  if (isDType(shape[0])) throw new Lacks('Tensor.view(dtype)');
  return op.viewAs(x, { shape: ints(shape) });
});
methods.view_as = signature('input other', (x, y) => op.viewAs(x, { shape: y.shape }));
methods.reshape_as = signature('input other', (x, y) => op.reshape(x, y.shape));
methods.expand = signature('input *shape', (x, shape) => op.expand(x, { shape: ints(shape) }));
methods.expand_as = signature('input other', (x, y) => op.expand(x, { shape: y.shape }));
both('t', 'input', (x) => {
  if (tensor(x).dim > 2) throw runtimeError(`t() expects a tensor with <= 2 dimensions, but self is ${x.dim}D`);
  return x.dim < 2 ? op.permute(x, { order: op.allDims(x) }) : op.transpose(x, 0, 1);
});
both('transpose', 'input dim0 dim1', (x, first, second) =>
  op.transpose(tensor(x), oneDim(x, first), oneDim(x, second)));
both('permute', 'input *dims', (x, dims) =>
  op.permute(tensor(x), { order: (Array.isArray(dims[0]) ? dims[0] : dims).map((dim) => oneDim(x, dim)) }));
both('unsqueeze', 'input dim', (x, dim) =>
  op.unsqueeze(tensor(x), { dim: op.dimension(dim, x.dim + 1) }));
both('squeeze', 'input dim=None', (x, dim) => op.squeeze(tensor(x), { dims: dimsOf(x, dim) }));
both('flatten', 'input', (x) => (tensor(x).dim === 1 ? x : op.reshape(x, [-1])));
both('ravel', 'input', (x) => (tensor(x).dim === 1 && op.isContiguous(x) ? x : op.reshape(x, [-1])));
both('select', 'input dim index', (x, dim, index) => selected(tensor(x), oneDim(x, dim), index));
both('narrow', 'input dim start length', (x, dim, start, length) => {
  const at = oneDim(tensor(x), dim);
  const [size, from, to] = [x.shape[at], int(start), int(start) + int(length)];
  if (from < 0 || int(length) < 0 || to > size) {
    throw runtimeError(`start (${start}) + length (${length}) exceeds dimension size (${size}).`);
  }
  return op.slice(x, { dim: at, start: from, end: to, step: 1 });
});
both('clone', 'input', (x) => op.clone(tensor(x)));
both('detach', 'input', (x) => op.detach(tensor(x)));
methods.contiguous = signature('input', (x) => op.contiguous(x));
methods.detach_ = signature('input', (x) => {
  if (x.view !== null) throw runtimeError("Can't detach views in-place. Use detach() instead.");
  const hooks = x.gradFn?.hooks.filter(({ nr }) => nr === x.outputNr) ?? [];
  x.node = null;
  x.leafRequiresGrad = false;
  x.accumulator = new AccumulateGrad(x);
  x.accumulator.hooks = hooks.map((hook) => Object.assign(hook, { nr: 0 }));
  return x;
});
for (const [name, dtype] of [
  ['double', 'float64'], ['float', 'float32'], ['long', 'int64'], ['bool', 'bool'],
]) {
  methods[name] = signature('input', (x) => op.to(x, dtypes[dtype]));
}
methods.to = signature('input dtype=None', (x, dtype) => {
  if (dtype instanceof Tensor) return op.to(x, dtype.dtype);
  if (!isDType(dtype)) throw new Lacks('Tensor.to of anything but a dtype');
  return op.to(x, dtype);
});
methods.type_as = signature('input other', (x, y) => op.to(x, y.dtype));
const listed = (tensors) => {
  if (!Array.isArray(tensors) || tensors.length === 0) throw new Lacks('cat of anything but a list of tensors');
  if (tensors.some((x) => tensor(x).dim === 1 && x.size === 0)) throw new Lacks('cat of empty tensors');
  return tensors;
};
functions.cat = signature('tensors dim=0', (tensors, dim) => op.cat(listed(tensors), oneDim(tensors[0], dim)));
functions.stack = signature('tensors dim=0', (tensors, dim) => {
  const at = op.dimension(dim, listed(tensors)[0].dim + 1);
  return op.cat(tensors.map((x) => op.unsqueeze(x, { dim: at })), at);
});

// In-place operations.

methods.copy_ = signature('input src', (x, source) => applyInPlace(op.table.copy, [x, numeric(source)]));
methods.zero_ = signature('input', (x) => applyInPlace(op.table.fill, [x], { value: 0 }));
methods.fill_ = signature('input value', (x, value) =>
  value instanceof Tensor
    ? applyInPlace(op.table.fillWith, [x, value])
    : applyInPlace(op.table.fill, [x], { value }));

/** `x[index]`, for views only; with `toWrite` a full index gives the tensor itself. */
export function indexed(x, index, toWrite = false) {
  let dim = 0;
  let found = x;
  const parts = Array.isArray(index) && index.kind ? [...index] : [index];
  const counted = parts.filter((part) => part !== null && !part?.ellipsis).length;
  for (const part of parts) {
    if (part === null) {
      found = op.unsqueeze(found, { dim });
      dim += 1;
    } else if (part.ellipsis) {
      dim += x.dim - counted;
    } else if (typeof part === 'bigint') {
      found = selected(found, dim, part);
    } else if (Array.isArray(part?.slice)) {
      found = sliced(found, dim, part.slice, part === index && !toWrite);
      dim += 1;
    } else {
      throw new Lacks(`indexing with ${part instanceof Tensor ? 'a tensor' : typeName(part)}`);
    }
  }
  return found === x && !toWrite ? op.alias(x) : found;
}

function selected(x, dim, index) {
  if (dim >= x.dim) {
    throw new PythonError('IndexError', x.dim === 0
      ? 'invalid index of a 0-dim tensor. Use `tensor.item()` in Python'
      : `too many indices for tensor of dimension ${x.dim}`);
  }
  const size = x.shape[dim];
  const plain = int(index);
  if (plain < -size || plain >= size) {
    throw new PythonError('IndexError', `index ${index} is out of bounds for dimension ${dim} with size ${size}`);
  }
  return op.select(x, { dim, index: plain < 0 ? plain + size : plain });
}

/** A slice as a view; with `always` also a slice of the whole dimension. */
function sliced(x, dim, [from, to, by], always) {
  if (dim >= x.dim) throw new PythonError('IndexError', 'too many indices for tensor');
  const size = x.shape[dim];
  const step = by === null ? 1 : int(by);
  if (step < 1) throw new PythonError('ValueError', 'step must be greater than zero');
  const place = (at, otherwise) => {
    const plain = at === null ? otherwise : int(at);
    return Math.min(Math.max(plain < 0 ? plain + size : plain, 0), size);
  };
  const start = place(from, 0);
  if (!always && start === 0 && step === 1 && place(to, size) === size) return x;
  return op.slice(x, { dim, start, end: Math.max(start, place(to, size)), step });
}

function withoutLeadingOnes(x, dim) {
  let extra = 0;
  while (x.dim - extra > dim && x.shape[extra] === 1) extra += 1;
  return extra ? op.viewAs(x, { shape: x.shape.slice(extra) }) : x;
}

export function assign(x, index, value) {
  const target = indexed(x, index, true);
  if (isNumber(value)) applyInPlace(op.table.fill, [target], { value });
  else if (value instanceof Tensor && value.dim === 0) applyInPlace(op.table.fillWith, [target, value]);
  else applyInPlace(op.table.copy, [target, withoutLeadingOnes(tensor(value), target.dim)]);
}

// Factories.

function leaf(made, requiresGrad) {
  if (requiresGrad) setRequiresGrad(made, true);
  return made;
}
const given = (data) =>
  data instanceof Tensor ? data.values()
  : Array.isArray(data) ? Array.from(data, (part) => (part instanceof Tensor ? part.item() : given(part)))
  : data;
functions.tensor = signature('data dtype=None requires_grad=False', (data, dtype, requiresGrad) => {
  if (data instanceof Tensor) return leaf(make(data.shape, dtype ?? data.dtype, data.values()), requiresGrad);
  if (Array.isArray(data) && data.some((part) => part instanceof Tensor)) throw new Lacks('torch.tensor of tensors');
  return leaf(fromNested(given(data), dtype), requiresGrad);
});
functions.FloatTensor = signature('data', (data) => fromNested(given(data), dtypes.float32));
functions.DoubleTensor = signature('data', (data) => fromNested(given(data), dtypes.float64));
for (const [name, value] of [['ones', 1], ['zeros', 0]]) {
  const made = signature('dtype=None requires_grad=False', (dtype, requiresGrad) => ({ dtype, requiresGrad }));
  functions[name] = (called, args, kwargs) => {
    const { size, ...others } = kwargs;
    const { dtype, requiresGrad } = made(called, [], others);
    const shape = ints(size === undefined ? args : [size]);
    return leaf(filled(shape, dtype ?? state.defaultDType, value), requiresGrad);
  };
  functions[`${name}_like`] = signature('input dtype=None requires_grad=False', (x, dtype, requiresGrad) =>
    leaf(op.to(filledLike(x, value), dtype ?? x.dtype), requiresGrad));
}
const filledLike = (x, value) => {
  const made = op.detach(op.clone(op.detach(tensor(x))));
  made.counter = { version: 0 };
  made.storage.data.fill(value);
  return made;
};
functions.full = signature('size fill_value dtype=None requires_grad=False', (size, value, dtype, requiresGrad) =>
  leaf(filled(ints([size]), dtype ?? number(value).dtype, Number(value)), requiresGrad));
functions.full_like = signature('input fill_value', (x, value) => filledLike(x, Number(value)));
/** A number as C++ prints it: infinities and NaN have other names than in JavaScript. */
const shown = (value) => (Number.isNaN(Number(value)) ? 'nan' : String(value).replace('Infinity', 'inf'));
functions.arange = signature('start end=None step=1 dtype=None requires_grad=False', (start, end, step, dtype, requiresGrad) => {
  const [from, to] = end === null ? [0n, start] : [start, end];
  if (!Number.isFinite(Number(step))) throw runtimeError(`step must be finite but got ${shown(step)}`);
  if (![from, to].every((value) => Number.isFinite(Number(value)))) {
    throw runtimeError(`unsupported range: ${shown(from)} -> ${shown(to)}`);
  }
  const count = Math.max(0, Math.ceil((Number(to) - Number(from)) / Number(step)));
  const values = Array.from({ length: count }, (_, i) => Number(from) + i * Number(step));
  const whole = [from, to, step].every((value) => typeof value === 'bigint');
  return leaf(make([count], dtype ?? (whole ? dtypes.int64 : state.defaultDType), values), requiresGrad);
});

// Queries.

methods.item = signature('input', (x) => toPython(x.dtype, x.item()));
methods.tolist = signature('input', (x) => nested(x.values().map((value) => toPython(x.dtype, value)), x.shape));
methods.dim = methods.ndimension = signature('input', (x) => BigInt(x.dim));
methods.numel = methods.nelement = signature('input', (x) => BigInt(x.size));
functions.numel = methods.numel;
methods.size = signature('input dim=None', (x, dim) =>
  dim === null ? sizeOf(x.shape) : BigInt(x.shape[oneDim(x, dim)]));
methods.stride = signature('input dim=None', (x, dim) =>
  dim === null ? Tuple.of(x.strides.map(BigInt)) : BigInt(x.strides[oneDim(x, dim)]));
methods.storage_offset = signature('input', (x) => BigInt(x.offset));
methods.is_contiguous = signature('input', (x) => op.isContiguous(x));
methods._is_view = signature('input', (x) => x.view !== null);
methods.is_floating_point = functions.is_floating_point = signature('input', (x) => x.dtype.isFloat);
functions.is_tensor = signature('obj', (x) => x instanceof Tensor);
functions.is_grad_enabled = signature('', () => state.gradMode);

export const toPython = (dtype, value) =>
  dtype.isFloat ? value : dtype === dtypes.bool ? value !== 0 : BigInt(value);
const nested = (values, shape) => {
  if (shape.length === 0) return values[0];
  const size = product(shape.slice(1));
  return Array.from({ length: shape[0] }, (_, i) => nested(values.slice(i * size, (i + 1) * size), shape.slice(1)));
};

// Autograd.

const flag = (value) => {
  if (value !== null && typeof value !== 'boolean') throw new Lacks('retain_graph that is no bool');
  return value;
};
const listOf = (value) => (Array.isArray(value) ? [...value] : [value]);
const tensorsOf = (values) => {
  const tensors = listOf(values);
  if (!tensors.every((value) => value instanceof Tensor)) throw new Lacks('gradients of anything but tensors');
  return tensors;
};
const cotangentsOf = (value) => {
  if (value !== null && !Array.isArray(value) && !(value instanceof Tensor)) {
    throw typeError(`'${typeName(value)}' object is not iterable`);
  }
  return value && listOf(value);
};
methods.backward = signature(
  'input gradient=None retain_graph=None create_graph=False inputs=None',
  (x, gradient, retainGraph, createGraph, inputs) => {
    backward([x], cotangentsOf(gradient), { retainGraph: flag(retainGraph), createGraph, inputs: inputs === null ? null : tensorsOf(inputs) });
    return null;
  },
);
functions['autograd.backward'] = signature(
  'tensors grad_tensors=None retain_graph=None create_graph=False inputs=None',
  (tensors, cotangents, retainGraph, createGraph, inputs) => {
    backward(tensorsOf(tensors), cotangentsOf(cotangents), {
      retainGraph: flag(retainGraph), createGraph, inputs: inputs === null ? null : tensorsOf(inputs),
    });
    return null;
  },
);
functions['autograd.grad'] = signature(
  'outputs inputs grad_outputs=None retain_graph=None create_graph=False allow_unused=None',
  (outputs, inputs, cotangents, retainGraph, createGraph, allowUnused) =>
    Tuple.of(gradients(tensorsOf(outputs), tensorsOf(inputs), cotangentsOf(cotangents), {
      retainGraph: flag(retainGraph), createGraph, allowUnused,
    })),
);

function setRequiresGrad(x, flag) {
  if (x.gradFn !== null) {
    if (flag) return;
    throw runtimeError('you can only change requires_grad flags of leaf variables.');
  }
  if (flag && !x.dtype.isFloat) {
    throw runtimeError('only Tensors of floating point and complex dtype can require gradients');
  }
  x.leafRequiresGrad = flag;
}
methods.requires_grad_ = signature('input requires_grad=True', (x, flag) => {
  setRequiresGrad(x, flag);
  return x;
});
methods.retain_grad = signature('input', (x) => {
  if (!x.requiresGrad) throw runtimeError("can't retain_grad on Tensor that has requires_grad=False");
  if (x.gradFn !== null) retainGrad(x);
  return null;
});

/** A context manager that sets the grad mode. */
const mode = (flag) => {
  let before;
  return {
    enter(remember = true) {
      if (remember) before = state.gradMode;
      state.gradMode = flag;
      return null;
    },
    exit() {
      state.gradMode = before;
    },
  };
};
functions.no_grad = functions['autograd.no_grad'] = signature('', () => mode(false));
functions.enable_grad = functions['autograd.enable_grad'] = signature('', () => mode(true));
functions.set_grad_enabled = functions['autograd.set_grad_enabled'] = signature('mode', (flag) => {
  const manager = mode(flag);
  manager.enter(); // at once; as a context manager it restores the former mode
  return { enter: () => manager.enter(false), exit: () => manager.exit() };
});
for (const name of ['relu', 'sigmoid', 'tanh']) functions[`nn.functional.${name}`] = functions[name];

// Attributes.

export const attributes = {
  shape: (x) => sizeOf(x.shape),
  dtype: (x) => x.dtype,
  ndim: (x) => BigInt(x.dim),
  requires_grad: (x) => x.requiresGrad,
  is_leaf: (x) => x.isLeaf,
  grad: (x) => x.grad,
  grad_fn: (x) => x.gradFn,
  retains_grad: (x) => x.retainsGrad,
  output_nr: (x) => (x.gradFn, BigInt(x.outputNr)),
  _version: (x) => BigInt(x.counter.version),
  _base: (x) => x.view?.base ?? null,
  T: (x) => functions.t('T', [x], {}),
  // Unlike detach(), a view without the shared version counter.
  data: (x) => window(x, x.shape, x.strides, x.offset, { version: 0 }),
};

export const setters = {
  requires_grad(x, flag) {
    if (typeof flag !== 'boolean') throw runtimeError('requires_grad must be a bool');
    if (x.gradFn !== null) {
      throw runtimeError('you can only change requires_grad flags of leaf variables.');
    }
    setRequiresGrad(x, flag);
  },
  grad(x, value) {
    if (value !== null && !(value instanceof Tensor)) {
      throw typeError(`assigned grad expected to be a Tensor or None but got grad of type ${typeName(value)}`);
    }
    if (value === x && value !== null) throw runtimeError("can't assign Variable as its own grad");
    if (value !== null && value.dtype !== x.dtype) {
      throw runtimeError('attempting to assign a gradient of another dtype');
    }
    if (value !== null && !sameShape(value.shape, x.shape)) {
      throw runtimeError(`assigned grad has data of a different size: [${value.shape}], [${x.shape}]`);
    }
    x.grad = value;
  },
  data(x, value) {
    if (!(value instanceof Tensor)) throw typeError(`Variable data has to be a tensor, but got ${typeName(value)}`);
    if (x.requiresGrad && !value.dtype.isFloat) {
      throw runtimeError('data set to a tensor that requires gradients must be floating point or complex dtype');
    }
    const { storage, dtype, shape, strides, offset } = value;
    Object.assign(x, { storage, dtype, shape, strides, offset });
  },
};
