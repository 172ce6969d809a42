// A port of torch's autograd in JavaScript, for the conformance suite: JSON lines on standard input
// and output, a program in and its trace out. docs/porting.md specifies the messages.

import { createInterface } from 'node:readline';
import { Lacks, PythonError } from './errors.js';
import { dtypes, reset } from './tensor.js';
import { Execution } from './program.js';
import { Observer } from './observe.js';

const PROTOCOL = 1;

function start() {
  return {
    type: 'ready',
    protocol: PROTOCOL,
    name: 'node-example',
    version: '0.1.0',
    device: 'cpu',
    levels: ['values', 'graph', 'memory'],
  };
}

function run({ id, program, default_dtype: defaultDType }) {
  if (!(defaultDType in dtypes)) return { type: 'unsupported', id, reason: defaultDType };
  reset(defaultDType);
  const execution = new Execution();
  const observer = new Observer();
  const steps = [];
  for (const [index, statement] of program.statements.entries()) {
    const step = traced(statement, execution, observer);
    steps.push({ statement: index, ...step });
    if (step.error?.lacks) break;
  }
  return { type: 'trace', id, steps };
}

/** One statement's step of the trace. */
function traced(statement, execution, observer) {
  const step = {};
  let result;
  try {
    result = execution.run(statement);
  } catch (error) {
    step.error = described(error);
  }
  Object.assign(step, observer.changes(execution.names));
  if (result !== undefined) step.result = observer.value(result, null);
  return step;
}

/** An error of the program, or an unsupported operation; any other error is a bug of the port. */
function described(error) {
  if (error instanceof PythonError) return { type: error.type, message: error.message };
  if (error instanceof Lacks) return { type: 'NotImplementedError', lacks: error.message };
  if (error instanceof RangeError && /BigInt/.test(error.message)) {
    return { type: 'NotImplementedError', lacks: 'negative powers of integers' };
  }
  throw error;
}

function answer(request) {
  try {
    return request.type === 'start' ? start() : run(request);
  } catch (error) {
    console.error(error);
    return { type: 'failed', id: request.id, reason: String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.type === 'stop') break;
  process.stdout.write(`${JSON.stringify(answer(request))}\n`);
}
process.exit(0);
