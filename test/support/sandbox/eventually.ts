import { expect } from 'vitest';

/** An expectation that is repeated until it holds. The time limit is long, because the machine may be busy. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { interval: 10, timeout: 20_000 });
}
