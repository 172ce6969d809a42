// The steps of a trace, and the names that are live after each.

const stepsOf = (trace) => (trace?.steps ?? []).map((step) => [step.statement, step]);

function advance(state, step) {
  for (const [name, observation] of Object.entries(step?.changed ?? {})) state.set(name, observation);
  for (const name of step?.deleted ?? []) state.delete(name);
}
