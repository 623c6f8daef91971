import { nearest } from '#searchflow/core/text/nearest.js';

/** Throws for a mock of an unknown name, and for one that is no function. `kind`: `an operation`. */
export function checkMocks(caller: string, mocks: object, kind: string, names: readonly string[]): void {
  for (const [name, mock] of Object.entries(mocks)) {
    const meant = nearest(name, names);
    const help = meant === null ? '' : `; did you mean ${meant}?`;
    if (!names.includes(name)) throw new TypeError(`${caller}: ${name} is not ${kind}${help}`);
    if (mock !== undefined && typeof mock !== 'function')
      throw new TypeError(`${caller}: ${name} must be a function, such as () => ({ … })`);
  }
}
