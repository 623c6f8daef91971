import { afterAll, beforeAll } from 'vitest';

/** Stands for an object that exists only once the tests of a file run. */
export function lazily<T extends object>(made: () => T | undefined): T {
  return new Proxy({} as T, {
    get(_, name) {
      const target = made() as T;
      const value = Reflect.get(target, name);
      // Bound, because private fields belong to the object itself.
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (_, name, value) => Reflect.set(made() as T, name, value),
  });
}

export type Closable = { close(): unknown } | { stop(): unknown } | { remove(): unknown } | { teardown(): unknown };

/** Ends whatever a test has opened. */
export function end(opened: Closable): unknown {
  if ('close' in opened) return opened.close();
  if ('stop' in opened) return opened.stop();
  return 'remove' in opened ? opened.remove() : opened.teardown();
}

/** An object that all tests of a file share: opened before them, closed after them. */
export function ofFile<T extends Closable>(open: () => T | Promise<T>): T {
  let made: T | undefined;
  beforeAll(async () => {
    made = await open();
  });
  afterAll(() => made && end(made));
  return lazily(() => made);
}
