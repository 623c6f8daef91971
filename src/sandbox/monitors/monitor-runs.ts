import { choose, fraction, hashText } from '../base/hash.js';
import type { NextId } from '../base/ids.js';
import { type MonitorOptions, millisOf } from '../base/state-options.js';
import type { WriteFact } from '../ledger/fact-log.js';
import type { Ledger } from '../ledger/ledger.js';
import type { PageSettings } from '../pages/result.js';
import type { Monitor, MonitorEvent } from './monitor.js';
import { type MonitorRun, monitorRunRecord, runMicros } from './monitor-run.js';
import { RunStore } from './run-store.js';
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
