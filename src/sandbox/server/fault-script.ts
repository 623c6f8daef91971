import { fraction, mix } from '../base/hash.js';
import type { Fault, FaultWhen } from './fault.js';

interface Line {
  readonly fault: Fault;
  seen: number;
  struck: number;
}

/** Whether a fault with this condition applies to the matching request with the number `seen`. */
function strikes(when: FaultWhen, seen: number): boolean {
  if (when.nth !== undefined) return seen === when.nth;
  if (when.every !== undefined) return seen % when.every === 0;
  if (when.probability !== undefined) return fraction(mix(seen, when.seed ?? 0), 61) < when.probability;
  return true;
}

/** Whether a path matches the pattern. The segment `*` matches any segment. */
function isPath(pattern: string, path: string): boolean {
  if (!pattern.includes('*')) return pattern === path;
  const wanted = pattern.split('/');
  const actual = path.split('/');
  return wanted.length === actual.length && wanted.every((one, index) => one === '*' || one === actual[index]);
}

/**
 * Chooses the fault of a request. Every fault counts its matching requests separately. If several faults apply to one request,
 * the first declared one is used.
 */
export class FaultScript {
  #lines: Line[] = [];
  #since = 0;

  /** Replaces the script; counts and times start at `now` (ms). */
  set(faults: readonly Fault[], now: number): void {
    this.#lines = faults.map((fault) => ({ fault, seen: 0, struck: 0 }));
    this.#since = now;
  }

  /** Keeps the faults and restarts their counts and times. */
  rewind(now: number): void {
    this.set(
      this.#lines.map((line) => line.fault),
      now,
    );
  }

  next(method: string, path: string, now: number): Fault | null {
    const at = now - this.#since;
    let chosen: Line | null = null;
    for (const line of this.#lines) {
      const { when, limit } = line.fault;
      if (when.method !== undefined && when.method !== method) continue;
      if (when.path !== undefined && !isPath(when.path, path)) continue;
      if (at < (when.fromMs ?? 0) || at >= (when.untilMs ?? Number.POSITIVE_INFINITY)) continue;
      line.seen += 1;
      if (!chosen && line.struck < (limit ?? Number.POSITIVE_INFINITY) && strikes(when, line.seen)) chosen = line;
    }
    if (!chosen) return null;
    chosen.struck += 1;
    return chosen.fault;
  }
}
