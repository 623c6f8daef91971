import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Settings } from './base/options.js';
import type { NextId } from './base/sentences.js';
import type { Ledger } from './ledger/ledger.js';

/** Waits that end at once when the sandbox closes. */
export class Timers {
  readonly #closing = new AbortController();
  #changing = new AbortController();
  /** Aborted when the sandbox closes. Any number of requests may wait for it. */
  readonly closed = this.#closing.signal;

  constructor() {
    setMaxListeners(0, this.closed);
  }

  /** Whether the sandbox was closed. A caller that waited must then not continue its work. */
  get stopped(): boolean {
    return this.closed.aborted;
  }

  /** Aborted at the next {@link wake}, and when the sandbox closes. */
  get change(): AbortSignal {
    return this.#changing.signal;
  }

  /** Waits for `ms` milliseconds, or until a signal is aborted: {@link closed}, {@link change}, or one that includes them. */
  async wait(ms: number, until = this.closed): Promise<void> {
    // A Node timer waits for at most 2^31 - 1 milliseconds.
    if (ms > 0) await setTimeout(Math.min(ms, 2 ** 31 - 1), undefined, { signal: until }).catch(() => {});
  }

  /** Tells all who wait for a change that the state has changed. */
  wake(): void {
    this.#changing.abort();
    this.#changing = new AbortController();
  }

  stop(): void {
    this.#closing.abort();
    this.wake();
  }
}

/** The objects that all stores use. */
export interface World {
  readonly options: Settings;
  readonly ledger: Ledger;
  readonly timers: Timers;
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  readonly ids: (kind: string) => NextId;
}
