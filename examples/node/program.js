// Interpreter of programs in the neutral form: operations of steps, and their arguments.

import { Lacks, PythonError, typeError } from './errors.js';
import { Tensor, dtypes } from './tensor.js';
import { Tuple, assign, attributes, functions, indexed, methods, setters } from './library.js';
import { edgeOf } from './graph.js';

/** Runs the statements of one program; `names` holds the bound names, temporaries included. */
export class Execution {
  constructor() {
    this.names = new Map();
  }

  /** Run one statement and return its value, undefined where it is no expression. */
  run({ steps, result }) {
    try {
      steps.forEach((step) => this.step(step));
      return result === undefined ? undefined : this.value(result);
    } finally {
      for (const name of this.names.keys()) if (name.startsWith('%')) this.names.delete(name);
    }
  }

  step({ op, args, kwargs = {}, to, body }) {
    if (op === 'delete') {
      if (!this.names.delete(args[0])) throw unbound(args[0]);
      return;
    }
    const values = args.map((arg) => this.value(arg));
    if (op === 'with') {
      this.within(values[0], to, body);
      return;
    }
    const named = Object.fromEntries(Object.entries(kwargs).map(([key, arg]) => [key, this.value(arg)]));
    const made = operate(op, values, named);
    if (op === 'unpack') this.unpack(made, to);
    else if (to !== undefined) this.names.set(to, made);
  }

  within(manager, to, body) {
    if (typeof manager?.enter !== 'function') throw new Lacks('this context manager');
    this.names.set(to, manager.enter());
    try {
      body.forEach((step) => this.step(step));
    } finally {
      manager.exit();
    }
  }

  unpack(value, names) {
    if (!Array.isArray(value)) throw new Lacks('unpacking anything but a tuple or list');
    if (value.length !== names.length) {
      throw new PythonError('ValueError', `not ${names.length} values to unpack, but ${value.length}`);
    }
    names.forEach((name, i) => this.names.set(name, value[i]));
  }

  /** The value of an argument. Python's int is a BigInt here, its float a number. */
  value(form) {
    if (form === null || typeof form !== 'object') return form;
    const [kind] = Object.keys(form);
    const content = form[kind];
    switch (kind) {
      case 'ref':
        if (!this.names.has(content)) throw unbound(content);
        return this.names.get(content);
      case 'int':
        return deep(content, BigInt);
      case 'float':
        return deep(content, readFloat);
      case 'list':
        return content.map((item) => this.value(item));
      case 'tuple':
        return Tuple.of(content.map((item) => this.value(item)));
      case 'slice':
        return { slice: content.map((part) => this.value(part)) };
      case 'ellipsis':
        return { ellipsis: true };
      case 'torch':
        if (Object.hasOwn(dtypes, content)) return dtypes[content];
        return called(found(functions, content, `torch.${content}`), content);
      case 'function':
        return (...args) => this.call(content, args);
      default:
        throw new Lacks(`a value of kind ${kind}`);
    }
  }

  /** Call a function of the program: its local names shadow those of the program. */
  call({ parameters, rest, steps, result }, args) {
    if (rest !== undefined || args.length !== parameters.length) {
      throw typeError(`the function takes ${parameters.length} arguments, not ${args.length}`);
    }
    const inner = new Execution();
    inner.names = new Overlay(this.names);
    parameters.forEach((name, i) => inner.names.set(name, args[i]));
    return inner.run({ steps, result });
  }
}

/** A scope over an outer scope, which it reads and does not write. */
class Overlay extends Map {
  constructor(below) {
    super();
    this.below = below;
  }

  has(name) {
    return super.has(name) || this.below.has(name);
  }

  get(name) {
    return super.has(name) ? super.get(name) : this.below.get(name);
  }
}

const called = (call, name) => (...args) => call(name, args, {});
const unbound = (name) => new PythonError('NameError', `name '${name}' is not defined`);
const readFloat = (text) => ({ nan: NaN, inf: Infinity, '-inf': -Infinity })[text] ?? Number(text);
const deep = (content, read) =>
  Array.isArray(content) ? content.map((item) => deep(item, read)) : read(content);

function operate(op, args, kwargs) {
  const dot = op.indexOf('.');
  const name = op.slice(dot + 1);
  switch (dot === -1 ? op : op.slice(0, dot)) {
    case 'bind':
    case 'unpack':
      return args[0];
    case 'torch':
      return found(functions, name, `torch.${name}`)(name, args, kwargs);
    case 'method':
      return method(name, args, kwargs);
    case 'call':
      if (typeof args[0] !== 'function') throw new Lacks('calling this');
      return args[0](...args.slice(1));
    case 'get':
      return attribute(args[0], name);
    case 'set':
      found(isTensor(args[0]) ? setters : {}, name, `setting ${name}`)(args[0], args[1]);
      return null;
    case 'operator':
      return found(operators, name, `operator.${name}`)(...args);
    case 'builtin':
      return found(builtins, name, `the builtin ${name}`)(...args);
    default:
      throw new Lacks(`the operation ${op}`);
  }
}

const isTensor = (value) => value instanceof Tensor;

function found(table, name, called) {
  if (!Object.hasOwn(table, name)) throw new Lacks(called);
  return table[name];
}

function method(name, args, kwargs) {
  const [owner, ...rest] = args;
  if (isTensor(owner)) {
    if (name === 'register_hook') return registerHook(owner, ...rest);
    return found(methods, name, `Tensor.${name}`)(name, args, kwargs);
  }
  if (Array.isArray(owner) && !owner.kind && name === 'append') {
    owner.push(rest[0]);
    return null;
  }
  if (owner?.remove && name === 'remove') return owner.remove();
  throw new Lacks(`the method ${name}`);
}

function registerHook(tensor, call) {
  if (typeof call !== 'function') throw new Lacks('a hook that is no function of the program');
  const edge = edgeOf(tensor);
  if (edge === null) {
    throw new PythonError('RuntimeError', "cannot register a hook on a tensor that doesn't require gradient");
  }
  const hook = { nr: edge.nr, call };
  edge.node.hooks.push(hook);
  return {
    remove() {
      hook.removed = true;
      return null;
    },
  };
}

function attribute(owner, name) {
  if (isTensor(owner)) return found(attributes, name, `Tensor.${name}`)(owner);
  if (owner?.names?.includes(name)) return owner[owner.names.indexOf(name)];
  if (owner === null) throw new PythonError('AttributeError', `'NoneType' object has no attribute '${name}'`);
  throw new Lacks(`the attribute ${name}`);
}

// Python's operators, by the names that its module `operator` gives them.

const operators = {};
for (const [name, called] of [
  ['add', 'add'], ['sub', 'sub'], ['mul', 'mul'], ['truediv', 'div'], ['pow', 'pow'], ['matmul', 'matmul'],
  ['eq', 'eq'], ['ne', 'ne'], ['lt', 'lt'], ['le', 'le'], ['gt', 'gt'], ['ge', 'ge'],
]) {
  operators[name] = (...args) => {
    if (args.some(isTensor)) return functions[called](called, args, {});
    return onPlain(name, ...args);
  };
  const inPlace = `${called}_`;
  operators[`i${name}`] = (...args) =>
    isTensor(args[0]) && inPlace in methods
      ? methods[inPlace](inPlace, args, {})
      : operators[name](...args);
}
Object.assign(operators, {
  neg: (x) => (isTensor(x) ? functions.neg('neg', [x], {}) : -x),
  pos: (x) => x,
  not_: (x) => !truth(x),
  is_: (x, y) => x === y,
  is_not: (x, y) => x !== y,
  getitem(owner, index) {
    if (isTensor(owner)) return indexed(owner, index);
    if (!Array.isArray(owner) || typeof index !== 'bigint') throw new Lacks('this kind of subscript');
    const item = owner.at(Number(index));
    if (item === undefined) throw new PythonError('IndexError', 'list index out of range');
    return item;
  },
  setitem(owner, index, value) {
    if (!isTensor(owner)) throw new Lacks('writing to anything but a tensor by subscript');
    assign(owner, index, value);
    return null;
  },
});

/** Arithmetic on Python numbers: an int with a float gives a float. */
function onPlain(name, x, y) {
  const numbers = [x, y].every((value) => ['number', 'bigint', 'boolean'].includes(typeof value));
  if (name === 'eq' || name === 'ne') return same(x, y) === (name === 'eq');
  if (!numbers) throw new Lacks(`operator.${name} on these`);
  const whole = typeof x !== 'number' && typeof y !== 'number';
  const [a, b] = whole && name !== 'truediv' ? [BigInt(x), BigInt(y)] : [Number(x), Number(y)];
  const arithmetic = {
    add: () => a + b, sub: () => a - b, mul: () => a * b, pow: () => a ** b,
    truediv() {
      if (b === 0) throw new PythonError('ZeroDivisionError', 'division by zero');
      return a / b;
    },
    lt: () => a < b, le: () => a <= b, gt: () => a > b, ge: () => a >= b,
  };
  return found(arithmetic, name, `operator.${name} on numbers`)();
}

function same(x, y) {
  if (Array.isArray(x) && Array.isArray(y)) return x.length === y.length && x.every((item, i) => same(item, y[i]));
  return typeof x === 'object' || typeof y === 'object' ? x === y : x == y; // 1n == 1, as in Python
}

function truth(x) {
  if (!isTensor(x)) return Array.isArray(x) ? x.length > 0 : Boolean(x);
  if (x.size !== 1) {
    throw new PythonError('RuntimeError', 'Boolean value of Tensor with more than one value is ambiguous');
  }
  return x.item() !== 0;
}

const plain = (x) => (isTensor(x) ? x.item() : Number(x));
const builtins = {
  bool: truth,
  float: plain,
  int: (x) => BigInt(Math.trunc(plain(x))),
  len(x) {
    if (isTensor(x) && x.dim === 0) throw typeError('len() of a 0-d tensor');
    return BigInt(isTensor(x) ? x.shape[0] : x.length);
  },
  abs: (x) => (isTensor(x) ? functions.abs('abs', [x], {}) : x < 0 ? -x : x),
  list: (x = []) => {
    if (!Array.isArray(x)) throw new Lacks('list of anything but a tuple or list');
    return [...x];
  },
};
