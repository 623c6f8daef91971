// Preloaded into a worker: its clock is ahead of the machine's by as many milliseconds as the file says.
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
