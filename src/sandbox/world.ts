import { setTimeout } from 'node:timers/promises';
import type { Settings } from './base/options.js';
import type { NextId } from './base/sentences.js';
import type { Ledger } from './ledger/ledger.js';

/** Waits that end at once when the sandbox closes. */
export class Timers {
  readonly #closing = new AbortController();
  #changing = new AbortController();
  /** Aborted when the sandbox closes. */
  readonly closed = this.#closing.signal;

  /** Whether the sandbox was closed. A caller that waited must then not continue its work. */
  get stopped(): boolean {
    return this.closed.aborted;
  }

  /** Aborted at the next {@link wake}. */
  get change(): AbortSignal {
    return this.#changing.signal;
  }

  /** Waits for `ms` milliseconds, until one of the signals is aborted, or until the sandbox closes. */
  async wait(ms: number, ...until: readonly AbortSignal[]): Promise<void> {
    if (ms <= 0) return;
    const signal = AbortSignal.any([this.closed, ...until]);
    // A Node timer waits for at most 2^31 - 1 milliseconds.
    await setTimeout(Math.min(ms, 2 ** 31 - 1), undefined, { signal }).catch(() => {});
  }

  /** Tells all who wait for a change that the state has changed. */
  wake(): void {
    this.#changing.abort();
    this.#changing = new AbortController();
  }

  stop(): void {
    this.#closing.abort();
  }
}

/** The objects that all stores use. */
export interface World {
  readonly options: Settings;
  readonly ledger: Ledger;
  readonly timers: Timers;
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** A source of ids of this kind. */
  readonly ids: (kind: string) => NextId;
}
