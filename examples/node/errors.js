// What can go wrong in a program: an error that torch raises, too, or something this port lacks.

/** An error of Python's, told by the name of its class. */
export class PythonError extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

/** The program asks for something that this port does not have. */
export class Lacks extends Error {}

export const runtimeError = (message) => new PythonError('RuntimeError', message);
export const typeError = (message) => new PythonError('TypeError', message);
export const valueError = (message) => new PythonError('ValueError', message);
export const indexError = (message) => new PythonError('IndexError', message);
