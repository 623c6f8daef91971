import type { UsageLine } from './spend.js';
import type { ReconciledDay } from './spend-schemas.js';

export type { ReconciledDay } from './spend-schemas.js';

/** The bill of a UTC day over all keys. Amounts in micro-dollars. */
export interface BilledDay {
  /** `2026-11-21`. */
  readonly day: string;
  readonly serviceMicros: number;
  /** The most that the bill may differ from the charges because the service gives whole cents; 0: it gives exact amounts. */
  readonly roundedMicros: number;
  readonly keys: readonly { readonly id: string; readonly name: string | null; readonly serviceMicros: number }[];
}

/** Compares the days of the journal with the days of the bill, in order of time. */
export function reconcile(journal: readonly UsageLine[], bill: readonly BilledDay[]): readonly ReconciledDay[] {
  const lines = new Map(journal.map((line) => [line.group, line]));
  const rest: number[] = [];
  const days = bill.map(({ roundedMicros, ...billed }) => {
    const line = lines.get(billed.day);
    const journalMicros = line?.landedMicros ?? 0;
    const differenceMicros = billed.serviceMicros - journalMicros;
    const unknownAtMostMicros = (line?.unknownMicros ?? 0) + (line?.openMicros ?? 0);
    const unknownMicros = Math.min(Math.max(differenceMicros, 0), unknownAtMostMicros);
    const left = differenceMicros - unknownMicros;
    rest.push(Math.abs(left) <= roundedMicros ? 0 : left);
    const unknownOutcomes = line?.unknownOutcomes ?? 0;
    return { ...billed, journalMicros, differenceMicros, unknownOutcomes, unknownAtMostMicros, unknownMicros };
  });
  for (let nth = 1; nth < rest.length; nth++) {
    const [earlier = 0, later = 0] = [rest[nth - 1], rest[nth]];
    if (earlier * later >= 0) continue;
    const moved = Math.sign(earlier) * Math.min(Math.abs(earlier), Math.abs(later));
    rest[nth - 1] = earlier - moved;
    rest[nth] = later + moved;
  }
  return days.map((day, nth) => ({ ...day, unexplainedMicros: rest[nth] ?? 0 }));
}
