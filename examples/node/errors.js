// Errors of a program: those that torch raises too, and operations unsupported by this port.

/** A Python exception, identified by the name of its class. */
export class PythonError extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

/** The program needs something that this port does not support. */
export class Lacks extends Error {}

export const runtimeError = (message) => new PythonError('RuntimeError', message);
export const typeError = (message) => new PythonError('TypeError', message);
export const valueError = (message) => new PythonError('ValueError', message);
export const indexError = (message) => new PythonError('IndexError', message);
