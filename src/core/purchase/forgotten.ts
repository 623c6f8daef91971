import { ownReasons } from './attempts.js';
import type { UnitOutcome } from './journal.js';
import type { Sha256 } from './unit-key.js';

/**
 * Tag of a unit whose data a person removed (`forget`). The unit counts as landed under every freshness rule, so that it is never bought
 * again.
 */
export const FORGOTTEN = 'FORGOTTEN';

/** Name of the segment of forgotten units. It belongs to no job, so the sums of jobs do not change. */
export const FORGOTTEN_SEGMENT = 'forgotten/units';

/** The outcome of a forgotten unit: it has no unit, no result and no cost. The costs stay with the purchases of the unit. */
export const forgottenOutcome = (key: string): UnitOutcome => ({
  ...{ key, unit: '', status: 'error', errorTag: FORGOTTEN, httpStatus: null, source: null },
  ...{ costMicros: 0, result: null },
});

/** The key under which the journal knows a forgotten bad row, which has no unit. */
export const badRowKey = (sha256: Sha256, job: string, rowHash: string): string =>
  sha256(`${JSON.stringify(['bad row', job, rowHash])}\n`).slice(0, 32);

export const keptReasons: readonly string[] = Object.values(ownReasons);
/** Other reasons may have words of the service about the unit. */
export const keptReason = (reason: string): string => (keptReasons.includes(reason) ? reason : ownReasons.removed);

/** What the journal removed, or would remove. */
export interface RemovedBodies {
  readonly bodies: number;
  readonly bytes: number;
}

/** The part of a journal that removes data. */
export interface ForgettingJournal {
  /** Records these units as forgotten. From then on they are not bought, and an answer that lands for them is not kept. */
  forget(keys: readonly string[]): Promise<void>;
  /** The keys of all forgotten units. */
  forgotten(): Promise<ReadonlySet<string>>;
  keysOf(job: string): Promise<readonly string[]>;
  /** The units with this text in any case: their keys, and the units as JSON texts. Reads all bodies. */
  search(text: string, each: (key: string, unit: string) => void): Promise<void>;
  /** Removes the bodies of these units, and all texts that came instead of their answers. Repeated calls find nothing. */
  removeBodies(keys: ReadonlySet<string>, dryRun: boolean): Promise<RemovedBodies>;
  /** Lets the store give back the space of removed data; returns why it cannot, as a sentence, or null. */
  purge(): Promise<string | null>;
}

/** Whether a text has a URL as a whole: not as the beginning of a longer URL. */
export function hasUrl(text: string, url: string): boolean {
  for (let at = text.indexOf(url); at !== -1; at = text.indexOf(url, at + 1)) {
    const after = text[at + url.length] ?? ' ';
    const before = text[at - 1] ?? ' ';
    if (!/[\p{L}\p{N}\-._~:/?#[\]@!$&*+;=%]/u.test(after) && !/[\p{L}\p{N}\-._~%]/u.test(before)) return true;
  }
  return false;
}
