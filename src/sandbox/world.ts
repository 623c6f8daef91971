import { setTimeout } from 'node:timers/promises';
import type { Settings } from './base/options.js';
import type { NextId } from './base/sentences.js';
import type { Ledger } from './ledger/ledger.js';

/** Maximum wait of a Node timer, in milliseconds. */
const longest = 2 ** 31 - 1;

/** Waits that end at once when the sandbox closes. */
export class Timers {
  readonly #closed = new AbortController();
  #change = new AbortController();

  /** Whether the sandbox was closed. A caller that waited must then not continue its work. */
  get stopped(): boolean {
    return this.closed.aborted;
  }

  /** A signal that is aborted when the sandbox closes. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** A signal that is aborted at the next {@link wake}. */
  get change(): AbortSignal {
    return this.#change.signal;
  }

  /** Waits for `ms` milliseconds, until one of the signals is aborted, or until the sandbox closes. */
  async wait(ms: number, ...until: readonly AbortSignal[]): Promise<void> {
    const signal = AbortSignal.any([this.closed, ...until]);
    if (ms > 0) await setTimeout(Math.min(ms, longest), undefined, { signal }).catch(() => {});
  }

  /** Tells all who wait for a change that the state has changed. */
  wake(): void {
    const change = this.#change;
    this.#change = new AbortController();
    change.abort();
  }

  stop(): void {
    this.#closed.abort();
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
