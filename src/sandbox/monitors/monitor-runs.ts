import { z } from 'zod';
import { millisOf, type Settings } from '../base/options.js';
import { choose, fraction, hashText } from '../base/sentences.js';
import { MICROS_PER_PAGE, prices } from '../ledger/ledger.js';
import { wantedOf } from '../pages/contents-options.js';
import { findUrls, type PageSettings, resultOf } from '../pages/result.js';
import { groundingOf, writeAbout } from '../pages/synthesis.js';
import type { Monitor } from './monitor.js';

const failReasons = ['rate_limited', 'source_not_available', 'search_unavailable', 'search_failed', 'internal_error'];

/** Decides the duration and the result of a run, by the id of the run. `isPaid`: whether the team can pay for the run. */
export function planRun(
  { id: monitorId, search, outputSchema }: Monitor,
  { seed, monitors }: Settings,
  plan: Pick<MonitorRun, 'id' | 'serial' | 'createdAt' | 'scheduled'> & { readonly isPaid: boolean },
): MonitorRun {
  const { id, serial, createdAt, scheduled, isPaid } = plan;
  const hash = hashText(id, seed);
  const duration = millisOf(monitors.durationMs, fraction(hash, 151));
  const fails = fraction(hash, 152) < monitors.failureRate;
  const failReason = fails ? (monitors.failReason ?? choose(failReasons, hash, 153)) : null;
  return {
    id,
    monitorId,
    serial,
    createdAt,
    startsAt: createdAt + Math.round(duration / 5),
    endsAt: createdAt + duration,
    failReason: isPaid ? failReason : 'insufficient_credits',
    cancelledAt: null,
    scheduled,
    asked: { search, outputSchema },
  };
}

/** End of a run: its own time, or the time of its cancellation. */
export function endOf(run: MonitorRun): number {
  return run.cancelledAt ?? run.endsAt;
}

/**
 * The stored state of a run of a monitor. The end of a run is decided at its start. Times are milliseconds of the wall clock.
 */
export const storedRunSchema = z.object({
  id: z.string(),
  monitorId: z.string(),
  serial: z.number(),
  createdAt: z.number(),
  startsAt: z.number(),
  endsAt: z.number(),
  failReason: z.string().nullable(),
  cancelledAt: z.number().nullable(),
  /** Started by the schedule, not by a person. */
  scheduled: z.boolean(),
  /** The request of the monitor at the start of the run. */
  asked: z.object({ search: z.looseObject({ query: z.string() }), outputSchema: z.looseObject({}).nullable() }),
});

export type MonitorRun = z.infer<typeof storedRunSchema>;

export function runStatus(run: MonitorRun, now: number): 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' {
  if (run.cancelledAt !== null && now >= run.cancelledAt) return 'cancelled';
  if (now < run.startsAt) return 'pending';
  if (now < run.endsAt) return 'running';
  return run.failReason === null ? 'completed' : 'failed';
}

/**
 * Cost of a run in micro-dollars: 15,000, and more for results above ten and for summaries. Only a completed run costs
 * anything.
 */
export function runMicros({ failReason, cancelledAt, asked }: MonitorRun): number {
  if (failReason !== null || cancelledAt !== null) return 0;
  const { numResults = 10, contents } = asked.search as Partial<Monitor['search']>;
  const summaries = contents?.summary ? numResults : 0;
  return Math.round(prices.monitorRun * 1e6) + (Math.max(0, numResults - 10) + summaries) * MICROS_PER_PAGE;
}

/** The run as the service returns it. With `full`, a completed run has its `output`. */
export function monitorRunRecord(run: MonitorRun, now: number, pages: PageSettings): Record<string, unknown> {
  const status = runStatus(run, now);
  const when = (at: number | null, is: boolean) => (is && at !== null ? new Date(at).toISOString() : null);
  const ended = status === 'cancelled' ? run.cancelledAt : now >= run.endsAt ? run.endsAt : null;
  const latest = ended ?? (status === 'running' ? run.startsAt : run.createdAt);
  const isStarted = (ended ?? now) >= run.startsAt;
  return {
    id: run.id,
    monitorId: run.monitorId,
    status,
    output: status === 'completed' ? outputOf(run, pages) : null,
    failReason: status === 'failed' ? run.failReason : null,
    startedAt: when(run.startsAt, isStarted),
    completedAt: when(run.endsAt, status === 'completed'),
    failedAt: when(run.endsAt, status === 'failed'),
    cancelledAt: when(run.cancelledAt, status === 'cancelled'),
    durationMs: ended === null || !isStarted ? null : ended - run.startsAt,
    createdAt: new Date(run.createdAt).toISOString(),
    updatedAt: new Date(latest).toISOString(),
  };
}

/** The output of a run. Every run finds other pages, because results of earlier runs are left out. */
function outputOf({ asked, serial }: MonitorRun, pages: PageSettings): unknown {
  const { query, numResults = 10, contents = {}, includeDomains, excludeDomains } = asked.search as Monitor['search'];
  const fresh = { query: `${query} ${serial}`, includeDomains, excludeDomains };
  const wanted = wantedOf(contents, false);
  const results = findUrls(fresh, numResults, pages).map((url) => resultOf(url, wanted, contents, pages));
  const content = writeAbout(fresh.query, asked.outputSchema, pages.seed);
  return { results, content, grounding: groundingOf(content, results) };
}
