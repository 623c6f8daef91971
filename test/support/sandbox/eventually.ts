import { expect } from 'vitest';

/** An expectation that is repeated until it holds, for as long as a busy machine may need. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { interval: 10, timeout: 20_000 });
}
