import { z } from 'zod';

/** A run as it is kept: what it will come to is settled at its creation, so that its state follows from the time alone. */
export const storedRunSchema = z.object({
  id: z.string(),
  /** Times are milliseconds of the wall clock. */
  createdAt: z.number(),
  startsAt: z.number(),
  endsAt: z.number(),
  /** What it ends with unless somebody ends it before. */
  status: z.string(),
  stopReason: z.string().nullable(),
  request: z.looseObject({ query: z.string() }),
});

export type StoredRun = z.infer<typeof storedRunSchema>;

export interface Run extends StoredRun {
  /** Number of the run; later ones have larger ones. */
  readonly serial: number;
  /** Where somebody ended it before its time. */
  readonly ended: { readonly how: 'cancelled' | 'stopped'; readonly at: number } | null;
}

/** When a run ends, or ended. */
export function endOf(run: Run): number {
  return run.ended?.at ?? run.endsAt;
}

/** `queued`, `running`, or what it ended with (section 3.1). */
export function statusAt(run: Run, now: number): string {
  if (now >= endOf(run)) return run.ended ? (run.ended.how === 'cancelled' ? 'cancelled' : 'completed') : run.status;
  return now < run.startsAt ? 'queued' : 'running';
}

export function isTerminalAt(run: Run, now: number): boolean {
  return now >= endOf(run);
}

export function stopReasonOf(run: Run): string | null {
  return run.ended?.how ?? run.stopReason;
}

/** How much of its work a run had done at its end, 0 to 1. A failed one stops half-way. */
export function doneShare(run: Run): number {
  if (!run.ended) return run.status === 'failed' ? 0.5 : 1;
  const whole = run.endsAt - run.startsAt;
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (run.ended.at - run.startsAt) / whole));
}
