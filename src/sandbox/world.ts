import type { Settings } from './base/options.js';
import type { NextId } from './base/sentences.js';
import type { Timers } from './base/timers.js';
import type { Ledger } from './ledger/ledger.js';

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
