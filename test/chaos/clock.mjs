// Loaded into a worker before its code. It sets the worker's clock ahead by the number of milliseconds in a file.
import { readFileSync } from 'node:fs';

const Real = Date;
const file = process.env.TEST_CLOCK_FILE ?? '';
let readAt = Number.NEGATIVE_INFINITY;
let aheadMs = 0;

function now() {
  if (performance.now() - readAt > 5) {
    readAt = performance.now();
    aheadMs = Number(readFileSync(file, 'utf8'));
  }
  return Real.now() + aheadMs;
}

globalThis.Date = class extends Real {
  constructor(...args) {
    if (args.length === 0) super(now());
    else super(...args);
  }

  static now() {
    return now();
  }
};
