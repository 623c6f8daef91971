import { z } from 'zod';

/** The stored state of a run. The end of a run is decided at its creation, so its state depends on the time alone. */
export const storedRunSchema = z.object({
  id: z.string(),
  /** Times are milliseconds of the wall clock. */
  createdAt: z.number(),
  startsAt: z.number(),
  endsAt: z.number(),
  /** The final status, unless a caller ends the run earlier. */
  status: z.string(),
  stopReason: z.string().nullable(),
  request: z.looseObject({ query: z.string() }),
});

export type StoredRun = z.infer<typeof storedRunSchema>;

export interface Run extends StoredRun {
  /** Number of the run; later runs have larger numbers. */
  readonly serial: number;
  /** Set if a caller ended the run early. */
  readonly ended: { readonly how: 'cancelled' | 'stopped'; readonly at: number } | null;
}

/** Time when a run ends, or ended. */
export function endOf(run: Run): number {
  return run.ended?.at ?? run.endsAt;
}

/** `queued`, `running`, or its final status. */
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

/** Share of the work, 0 to 1, that a run had done at its end. A failed run stops at half of its work. */
export function doneShare(run: Run): number {
  if (!run.ended) return run.status === 'failed' ? 0.5 : 1;
  const whole = run.endsAt - run.startsAt;
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (run.ended.at - run.startsAt) / whole));
}
