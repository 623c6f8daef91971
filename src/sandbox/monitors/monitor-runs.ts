import { z } from 'zod';
import { choose, fraction, hashText, type NextId } from '../base/sentences.js';
import { type MonitorOptions, millisOf } from '../base/state-options.js';
import type { Ledger } from '../ledger/ledger.js';
import { MICROS_PER_PAGE, prices } from '../ledger/ledger.js';
import type { WriteFact } from '../ledger/log-file.js';
import { wantedOf } from '../pages/contents-options.js';
import { findUrls, type PageSettings, resultOf } from '../pages/result.js';
import { groundingOf, writeAbout } from '../pages/synthesis.js';
import type { Monitor, MonitorEvent } from './monitor.js';
import type { Webhooks } from './webhooks.js';

const failReasons = ['rate_limited', 'source_not_available', 'search_unavailable', 'search_failed', 'internal_error'];

interface RunPlan {
  readonly id: string;
  readonly serial: number;
  /** Milliseconds of the wall clock. */
  readonly at: number;
  readonly scheduled: boolean;
  readonly seed: number;
  /** Whether the team can pay for the run. */
  readonly isPaid: boolean;
}

/** Decides the duration and the result of a run, by the id of the run. */
function planRun({ id: monitorId, search, outputSchema }: Monitor, plan: RunPlan, options: MonitorOptions): MonitorRun {
  const { id, serial, at, scheduled, seed, isPaid } = plan;
  const hash = hashText(id, seed);
  const duration = millisOf(options.durationMs, fraction(hash, 151));
  const fails = fraction(hash, 152) < options.failureRate;
  const failReason = fails ? (options.failReason ?? choose(failReasons, hash, 153)) : null;
  return {
    id,
    monitorId,
    serial,
    createdAt: at,
    startsAt: at + Math.round(duration / 5),
    endsAt: at + duration,
    failReason: isPaid ? failReason : 'insufficient_credits',
    cancelledAt: null,
    scheduled,
    asked: { search, outputSchema },
  };
}

export interface MonitorRunsParts {
  readonly options: MonitorOptions;
  readonly pages: PageSettings;
  readonly nextId: NextId;
  readonly ledger: Ledger;
  readonly webhooks: Webhooks;
  readonly write: WriteFact;
}

/** The runs of monitors: recorded at their start, charged at their end, and delivered to webhooks. */
export class MonitorRuns {
  readonly runs_ = new RunStore();
  readonly #parts: MonitorRunsParts;

  constructor(parts: MonitorRunsParts) {
    this.#parts = parts;
  }

  begin(monitor: Monitor, at: number, scheduled: boolean): MonitorRun {
    const { options, nextId, pages, ledger } = this.#parts;
    const plan = { id: `monitor_run_${nextId()}`, serial: this.runs_.nextSerial, at, scheduled, seed: pages.seed };
    const run = planRun(monitor, { ...plan, isPaid: ledger.credits === null || ledger.credits > 0 }, options);
    this.#save(run);
    this.#notify(monitor, run, 'monitor.run.created', at);
    return run;
  }

  /** Ends a run. Returns false if the run was cancelled before, or if its monitor no longer exists: then no webhook is sent. */
  finish(run: MonitorRun, monitor: Monitor | undefined): boolean {
    const { ledger, write } = this.#parts;
    ledger.charge('monitorRun', run.id, runMicros(run));
    write({ kind: 'monitor-run-over', id: run.id });
    this.runs_.close(run.id);
    if (!monitor || run.cancelledAt !== null) return false;
    this.#notify(monitor, run, 'monitor.run.completed', run.endsAt);
    return true;
  }

  cancel(monitorId: string, which: (run: MonitorRun) => boolean, at: number): void {
    for (const run of this.runs_.openOf(monitorId).filter(which)) this.#save({ ...run, cancelledAt: at });
  }

  #save(run: MonitorRun): void {
    this.#parts.write({ kind: 'monitor-run', run });
    this.runs_.put(run);
  }

  #notify(monitor: Monitor, run: MonitorRun, type: MonitorEvent, at: number): void {
    const { pages, webhooks } = this.#parts;
    const record = monitorRunRecord(run, at, pages);
    webhooks.send(monitor, type, { ...record, metadata: monitor.metadata }, at);
  }
}

/** End of a run: its own time, or the time of its cancellation. */
export function endOf(run: MonitorRun): number {
  return run.cancelledAt ?? run.endsAt;
}

/** The runs of all monitors, and which of them are open. */
class RunStore {
  readonly #runs = new Map<string, MonitorRun>();
  readonly #byMonitor = new Map<string, string[]>();
  readonly #open = new Set<string>();
  #serial = 0;

  /** The number of the next run. */
  get nextSerial(): number {
    return this.#serial + 1;
  }

  get(id: string): MonitorRun | undefined {
    return this.#runs.get(id);
  }

  /** The runs of a monitor, the newest first. */
  of(monitorId: string): MonitorRun[] {
    return (this.#byMonitor.get(monitorId) ?? []).map((id) => this.#runs.get(id) as MonitorRun).reverse();
  }

  /** The open runs of a monitor. */
  openOf(monitorId: string): MonitorRun[] {
    return this.#openRuns().filter((run) => run.monitorId === monitorId);
  }

  /** The open run that ends first. */
  firstEnd(): MonitorRun | null {
    let first: MonitorRun | null = null;
    for (const run of this.#openRuns()) if (!first || endOf(run) < endOf(first)) first = run;
    return first;
  }

  /** Adds a run, or replaces its earlier state; it counts as open. */
  put(run: MonitorRun): void {
    if (!this.#runs.has(run.id)) {
      const ids = this.#byMonitor.get(run.monitorId);
      if (ids) ids.push(run.id);
      else this.#byMonitor.set(run.monitorId, [run.id]);
    }
    this.#runs.set(run.id, run);
    this.#open.add(run.id);
    this.#serial = Math.max(this.#serial, run.serial);
  }

  /** Marks the run as ended. */
  close(id: string): void {
    this.#open.delete(id);
  }

  /** Deletes the runs of a monitor. */
  remove(monitorId: string): void {
    for (const id of this.#byMonitor.get(monitorId) ?? []) {
      this.#runs.delete(id);
      this.#open.delete(id);
    }
    this.#byMonitor.delete(monitorId);
  }

  statuses(now: number): string[] {
    return [...this.#runs.values()].map((run) => runStatus(run, now));
  }

  #openRuns(): MonitorRun[] {
    return [...this.#open].map((id) => this.#runs.get(id) as MonitorRun);
  }
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

function runStatus(run: MonitorRun, now: number): 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' {
  if (run.cancelledAt !== null && now >= run.cancelledAt) return 'cancelled';
  if (now < run.startsAt) return 'pending';
  if (now < run.endsAt) return 'running';
  return run.failReason === null ? 'completed' : 'failed';
}

/**
 * Cost of a run in micro-dollars: 15,000, and more for results above ten and for summaries. Only a completed run costs
 * anything.
 */
function runMicros({ failReason, cancelledAt, asked }: MonitorRun): number {
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
