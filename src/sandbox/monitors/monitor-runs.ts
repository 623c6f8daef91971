import { z } from 'zod';
import { priceMicros } from '../../core/text/money.js';
import { millisOf, type Settings } from '../base/options.js';
import { choose, fraction, hashText } from '../base/sentences.js';
import { MICROS_PER_PAGE, prices } from '../ledger/prices.js';
import { wantedOf } from '../pages/contents-options.js';
import { findUrls } from '../pages/page.js';
import { resultOf } from '../pages/result.js';
import { groundingOf, writeAbout } from '../pages/synthesis.js';
import { type Monitor, monitorInput } from './monitor.js';

/** A run of a monitor. Its end is decided at its start. Times are Unix ms. */
export const monitorRunSchema = z.object({
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
  asked: monitorInput.pick({ search: true, outputSchema: true }),
});

export type MonitorRun = z.infer<typeof monitorRunSchema>;

const failReasons = ['rate_limited', 'source_not_available', 'search_unavailable', 'search_failed', 'internal_error'];

/** Decides the duration and the result of a run, by the id of the run. `isPaid`: whether the team can pay for the run. */
export function planRun(
  { id: monitorId, search, outputSchema }: Monitor,
  { seed, monitors }: Settings,
  isPaid: boolean,
  start: Pick<MonitorRun, 'id' | 'serial' | 'createdAt' | 'scheduled'>,
): MonitorRun {
  const hash = hashText(start.id, seed);
  const duration = millisOf(monitors.durationMs, fraction(hash, 151));
  const fails = fraction(hash, 152) < monitors.failureRate;
  const failReason = fails ? (monitors.failReason ?? choose(failReasons, hash, 153)) : null;
  return {
    ...start,
    monitorId,
    startsAt: start.createdAt + Math.round(duration / 5),
    endsAt: start.createdAt + duration,
    failReason: isPaid ? failReason : 'insufficient_credits',
    cancelledAt: null,
    asked: { search, outputSchema },
  };
}

/** End of a run: its own time, or the time of its cancellation. */
export function endOf({ cancelledAt, endsAt }: MonitorRun): number {
  return cancelledAt ?? endsAt;
}

export function runStatus(run: MonitorRun, now: number): 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' {
  if (now < endOf(run)) return now < run.startsAt ? 'pending' : 'running';
  if (run.cancelledAt !== null) return 'cancelled';
  return run.failReason === null ? 'completed' : 'failed';
}

/** Micro-dollars of a run: 15,000, and more for results above ten and for summaries. Only a completed run costs anything. */
export function runMicros({ failReason, cancelledAt, asked }: MonitorRun): number {
  if (failReason !== null || cancelledAt !== null) return 0;
  const { numResults = 10, contents } = asked.search;
  const summaries = contents?.summary ? numResults : 0;
  return priceMicros(prices.monitorRun) + (Math.max(0, numResults - 10) + summaries) * MICROS_PER_PAGE;
}

/** The run as the service returns it. A completed run has its `output`. */
export function monitorRunRecord(run: MonitorRun, now: number, options: Settings): Record<string, unknown> {
  const status = runStatus(run, now);
  const ended = now >= endOf(run) ? endOf(run) : null;
  const started = (ended ?? now) >= run.startsAt ? run.startsAt : null;
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    id: run.id,
    monitorId: run.monitorId,
    status,
    output: status === 'completed' ? outputOf(run, options) : null,
    failReason: status === 'failed' ? run.failReason : null,
    startedAt: iso(started),
    completedAt: iso(status === 'completed' ? ended : null),
    failedAt: iso(status === 'failed' ? ended : null),
    cancelledAt: iso(status === 'cancelled' ? ended : null),
    durationMs: ended === null || started === null ? null : ended - started,
    createdAt: iso(run.createdAt),
    updatedAt: iso(ended ?? started ?? run.createdAt),
  };
}

/** The output of a run. Every run finds other pages, because results of earlier runs are left out. */
function outputOf({ asked, serial }: MonitorRun, options: Settings): unknown {
  const { query, numResults = 10, contents = {}, includeDomains, excludeDomains } = asked.search;
  const fresh = { query: `${query} ${serial}`, includeDomains, excludeDomains };
  const wanted = wantedOf(contents);
  const results = findUrls(fresh, numResults, options).map((url) => resultOf(url, wanted, contents, options));
  const content = writeAbout(fresh.query, asked.outputSchema, options.seed);
  return { results, content, grounding: groundingOf(content, results) };
}
