import { Refusal } from '../base/refusal.js';
import { Table } from '../base/table.js';
import type { World } from '../world.js';
import { type Monitor, type MonitorEvent, type MonitorInput, monitorSchema, periodMs } from './monitor.js';
import type { MonitorRun } from './monitor-runs.js';
import * as runs from './monitor-runs.js';
import { Webhooks } from './webhooks.js';

/** Minimum time between two runs of a monitor, in milliseconds of the wall clock. */
const LEAST_MS = 20;
/** Maximum number of missed runs that are started after the process was suspended. */
const CATCH_UP = 10;
/** Number of consecutive failures because of the API key after which the service disables a monitor. */
const KEY_FAILURES = 10;

/** The monitors of the team and their runs. Runs are recorded at their start and charged at their end. */
export class Monitors {
  readonly #world: World;
  readonly #webhooks: Webhooks;
  readonly table: Table<Monitor>;
  readonly runs: Table<MonitorRun>;
  /** Time of the next run of each monitor with a schedule, in Unix ms. */
  readonly #nextRunAt = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    this.#webhooks = new Webhooks(world);
    const monitor = { fact: 'monitor', ids: 'monitor', noun: 'monitor', schema: monitorSchema };
    this.table = new Table(world, monitor, (id, monitor) => {
      if (monitor) this.#schedule(monitor, world.now());
      else this.#nextRunAt.delete(id);
    });
    const run = { operation: 'monitorRun', endOf: runs.endOf, priceOf: runs.runMicros };
    this.runs = new Table(world, { fact: 'monitor-run', ids: '', noun: 'run', schema: runs.monitorRunSchema, run });
  }

  record({ secret, keyFailures, createdAt, updatedAt, ...monitor }: Monitor): Record<string, unknown> {
    const nextRunAt = this.#nextRunAt.get(monitor.id);
    return {
      ...monitor,
      nextRunAt: nextRunAt === undefined ? null : new Date(nextRunAt).toISOString(),
      createdAt: new Date(createdAt).toISOString(),
      updatedAt: new Date(updatedAt).toISOString(),
    };
  }

  create(input: MonitorInput): Monitor {
    const { nextId } = this.table;
    const at = this.#world.now();
    const [id, secret] = [`monitor_${nextId()}`, `whsec_${nextId()}`];
    const times = { createdAt: at, updatedAt: at };
    return this.#save({ id, status: 'active', ...input, ...times, secret, keyFailures: 0 }, 'monitor.created');
  }

  update(id: string, change: (monitor: Monitor) => Monitor): Monitor {
    return this.#save({ ...change(this.table.get(id)), updatedAt: this.#world.now() }, 'monitor.updated');
  }

  /** Returns the last state. */
  delete(id: string): Record<string, unknown> {
    const monitor = this.table.get(id);
    const record = this.record(monitor);
    for (const run of this.runs.all()) if (run.monitorId === id) this.runs.delete(run.id);
    this.table.delete(id);
    this.#webhooks.send(monitor, 'monitor.deleted', this.record(monitor), this.#world.now());
    return record;
  }

  /** Starts a run now, regardless of the schedule. Refuses if the monitor is disabled. */
  trigger(id: string): MonitorRun {
    const monitor = this.table.get(id);
    if (monitor.status === 'disabled') {
      throw new Refusal(400, `The monitor ${id} is disabled: only active and paused ones can be triggered`);
    }
    const run = this.#begin(monitor, this.#world.now(), false);
    this.#world.timers.wake();
    return run;
  }

  /** Does all work that is due (runs by schedule, ends of runs), in the order of its times. */
  advance(): void {
    const now = this.#world.now();
    for (let due = this.#due(); due.at <= now; due = this.#due()) due.work(now);
  }

  /** Does all due work until the sandbox closes. */
  async keepTime(): Promise<void> {
    const { timers, now } = this.#world;
    while (!timers.stopped) {
      this.advance();
      await timers.wait(Math.max(1, this.#due().at - now()), timers.change);
    }
  }

  view() {
    const now = this.#world.now();
    const { byStatus } = this.table.view(({ status }) => status);
    const { byStatus: runsByStatus } = this.runs.view((run) => runs.runStatus(run, now));
    return { monitors: { byStatus, runsByStatus }, webhooks: this.#webhooks.view() };
  }

  reset(): void {
    for (const part of [this.table, this.runs, this.#webhooks]) part.reset();
    this.#nextRunAt.clear();
  }

  /** The work that is due first, the end of a run before a start at the same time. */
  #due(): { readonly at: number; readonly work: (now: number) => void } {
    let due = { at: Number.POSITIVE_INFINITY, work: (_now: number) => {} };
    for (const run of this.runs.open()) {
      if (runs.endOf(run) < due.at) due = { at: runs.endOf(run), work: () => this.#finish(run) };
    }
    for (const [id, at] of this.#nextRunAt) {
      if (at < due.at) due = { at, work: (now) => this.#tick(this.table.get(id), at, now) };
    }
    return due;
  }

  /** Starts the run that was due at `at`, and cancels the one before. Of many missed runs only the last few are started. */
  #tick(monitor: Monitor, at: number, now: number): void {
    for (const run of this.runs.open()) {
      if (run.monitorId === monitor.id && run.scheduled) this.runs.put({ ...run, cancelledAt: at });
    }
    this.#begin(monitor, at, true);
    this.#schedule(monitor, Math.max(at, now - this.#everyMs(monitor) * CATCH_UP));
  }

  #begin(monitor: Monitor, createdAt: number, scheduled: boolean): MonitorRun {
    const { options, ledger } = this.#world;
    const start = { id: `monitor_run_${this.table.nextId()}`, serial: this.runs.count + 1, createdAt, scheduled };
    const run = runs.planRun(monitor, options, ledger.isFunded, start);
    this.runs.put(run);
    this.#notifyRun(monitor, run, 'monitor.run.created', createdAt);
    return run;
  }

  /** Ends a run. A cancelled run sends no webhook. */
  #finish(run: MonitorRun): void {
    this.runs.close(run);
    if (run.cancelledAt !== null) return;
    const monitor = this.table.get(run.monitorId);
    this.#notifyRun(monitor, run, 'monitor.run.completed', run.endsAt);
    const keyFailures = run.failReason === 'api_key_invalid' ? monitor.keyFailures + 1 : 0;
    if (keyFailures === monitor.keyFailures) return;
    this.#save({ ...monitor, keyFailures, status: keyFailures >= KEY_FAILURES ? 'disabled' : monitor.status });
  }

  #save(monitor: Monitor, type?: MonitorEvent): Monitor {
    this.table.put(monitor);
    this.#world.timers.wake();
    if (type) this.#webhooks.send(monitor, type, this.record(monitor), monitor.updatedAt);
    return monitor;
  }

  /** Sets the first run after a time. There is one run per period, counted from the creation of the monitor. */
  #schedule(monitor: Monitor, time: number): void {
    const { id, status, trigger, createdAt } = monitor;
    const every = this.#everyMs(monitor);
    if (status !== 'active' || trigger === null) this.#nextRunAt.delete(id);
    else this.#nextRunAt.set(id, createdAt + (Math.floor((time - createdAt) / every) + 1) * every);
  }

  /** The period, as a whole number of milliseconds of the wall clock, so that the time of a run is calculated exactly. */
  #everyMs({ trigger }: Monitor): number {
    return Math.max(LEAST_MS, Math.round(periodMs(trigger?.period) / this.#world.options.monitorClock));
  }

  #notifyRun(monitor: Monitor, run: MonitorRun, type: MonitorEvent, at: number): void {
    const record = runs.monitorRunRecord(run, at, this.#world.options);
    this.#webhooks.send(monitor, type, { ...record, metadata: monitor.metadata }, at);
  }
}
