import { z } from 'zod';
import { Refusal } from '../base/refusal.js';
import { countBy, Runs } from '../base/runs.js';
import type { NextId } from '../base/sentences.js';
import type { World } from '../world.js';
import {
  type Monitor,
  type MonitorEvent,
  type MonitorWishes,
  monitorRecord,
  periodMs,
  storedMonitorSchema,
} from './monitor.js';
import {
  endOf,
  type MonitorRun,
  monitorRunRecord,
  planRun,
  runMicros,
  runStatus,
  storedRunSchema,
} from './monitor-runs.js';
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
  readonly #nextId: NextId;
  readonly #monitors = new Map<string, Monitor>();
  readonly #runs = new Runs<MonitorRun>();
  readonly #keep: (monitor: Monitor) => void;
  readonly #keepDeletion: (id: string) => void;
  readonly #keepRun: (run: MonitorRun) => void;
  readonly #keepEnd: (id: string) => void;
  /** Time of the next run of each monitor with a schedule, in milliseconds of the wall clock. */
  readonly #nextRunAt = new Map<string, number>();
  #serial = 0;
  #runSerial = 0;
  #wake = new AbortController();

  constructor(world: World) {
    this.#world = world;
    this.#webhooks = new Webhooks(world);
    this.#nextId = world.ids('monitor');
    const { ledger } = world;
    this.#keep = ledger.facts('monitor', storedMonitorSchema, (monitor) => {
      this.#monitors.set(monitor.id, monitor);
      this.#serial = Math.max(this.#serial, monitor.serial);
      this.#schedule(monitor, world.now());
    });
    this.#keepDeletion = ledger.facts('monitor-deleted', z.string(), (id) => this.#remove(id));
    this.#keepRun = ledger.facts('monitor-run', storedRunSchema, (run) => {
      this.#runs.put(run);
      this.#runSerial = Math.max(this.#runSerial, run.serial);
    });
    this.#keepEnd = ledger.facts('monitor-run-over', z.string(), (id) => this.#runs.close(id));
  }

  /** The newest first. */
  list(): Monitor[] {
    return [...this.#monitors.values()].sort((left, right) => right.serial - left.serial);
  }

  /** Throws 404 if there is no such monitor. */
  get(id: string): Monitor {
    const monitor = this.#monitors.get(id);
    if (!monitor) throw new Refusal(404, 'NOT_FOUND', `There is no monitor ${id}`);
    return monitor;
  }

  record(monitor: Monitor): Record<string, unknown> {
    return monitorRecord(monitor, this.#nextRunAt.get(monitor.id) ?? null);
  }

  create(wishes: MonitorWishes): Monitor {
    const at = this.#world.now();
    const monitor: Monitor = {
      id: `monitor_${this.#nextId()}`,
      serial: this.#serial + 1,
      createdAt: at,
      updatedAt: at,
      status: 'active',
      ...wishes,
      secret: `whsec_${this.#nextId()}`,
      keyFailures: 0,
    };
    this.#save(monitor);
    this.#notify(monitor, 'monitor.created', this.record(monitor));
    return monitor;
  }

  update(id: string, change: (monitor: Monitor) => Monitor): Monitor {
    const monitor = { ...change(this.get(id)), updatedAt: this.#world.now() };
    this.#save(monitor);
    this.#notify(monitor, 'monitor.updated', this.record(monitor));
    return monitor;
  }

  delete(id: string): void {
    const monitor = this.get(id);
    this.#cancel(id, () => true, this.#world.now());
    this.#keepDeletion(id);
    this.#notify(monitor, 'monitor.deleted', this.record(monitor));
  }

  /** Starts a run now, regardless of the schedule. Refuses if the monitor is disabled. */
  trigger(id: string): MonitorRun {
    const monitor = this.get(id);
    if (monitor.status === 'disabled') {
      throw new Refusal(
        400,
        'INVALID_REQUEST',
        `The monitor ${id} is disabled: only active and paused ones can be triggered`,
      );
    }
    const run = this.#begin(monitor, this.#world.now(), false);
    this.#wakeUp();
    return run;
  }

  /** The runs of a monitor, the newest first. */
  runsOf(id: string): MonitorRun[] {
    this.get(id);
    return this.#runs.newestFirst().filter(({ monitorId }) => monitorId === id);
  }

  run(monitorId: string, runId: string): MonitorRun {
    this.get(monitorId);
    const run = this.#runs.get(runId);
    if (run?.monitorId !== monitorId) throw new Refusal(404, 'NOT_FOUND', `There is no run ${runId} of ${monitorId}`);
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
      await timers.wait(Math.max(1, this.#due().at - now()), this.#wake.signal);
    }
  }

  view() {
    const now = this.#world.now();
    const runs = this.#runs.newestFirst().reverse();
    return {
      monitors: {
        byStatus: countBy([...this.#monitors.values()].map(({ status }) => status)),
        runsByStatus: countBy(runs.map((run) => runStatus(run, now))),
      },
      webhooks: this.#webhooks.view(),
    };
  }

  reset(): void {
    for (const id of [...this.#monitors.keys()]) this.#remove(id);
    this.#webhooks.reset();
  }

  /** The work that is due first, the end of a run before a start at the same time. */
  #due(): { readonly at: number; readonly work: (now: number) => void } {
    let due = { at: Number.POSITIVE_INFINITY, work: (_now: number) => {} };
    for (const run of this.#runs.open()) {
      if (endOf(run) < due.at) due = { at: endOf(run), work: () => this.#finish(run) };
    }
    for (const [id, at] of this.#nextRunAt) {
      if (at < due.at) due = { at, work: (now) => this.#tick(this.get(id), at, now) };
    }
    return due;
  }

  /** Starts the run that was due at `at`. Of many missed runs only the last few are started. */
  #tick(monitor: Monitor, at: number, now: number): void {
    this.#cancel(monitor.id, ({ scheduled }) => scheduled, at);
    this.#begin(monitor, at, true);
    this.#schedule(monitor, Math.max(at, now - this.#everyMs(monitor) * CATCH_UP));
  }

  #begin(monitor: Monitor, at: number, scheduled: boolean): MonitorRun {
    const { options, ledger } = this.#world;
    const run = planRun(monitor, options, {
      id: `monitor_run_${this.#nextId()}`,
      serial: this.#runSerial + 1,
      createdAt: at,
      scheduled,
      isPaid: ledger.isFunded,
    });
    this.#keepRun(run);
    this.#notifyRun(monitor, run, 'monitor.run.created', at);
    return run;
  }

  #cancel(id: string, which: (run: MonitorRun) => boolean, at: number): void {
    const runs = this.#runs.open().filter(({ monitorId }) => monitorId === id);
    for (const run of runs.filter(which)) this.#keepRun({ ...run, cancelledAt: at });
  }

  /** Ends a run. A cancelled run sends no webhook. */
  #finish(run: MonitorRun): void {
    this.#world.ledger.charge('monitorRun', run.id, runMicros(run));
    this.#keepEnd(run.id);
    if (run.cancelledAt !== null) return;
    const monitor = this.get(run.monitorId);
    this.#notifyRun(monitor, run, 'monitor.run.completed', run.endsAt);
    const keyFailures = run.failReason === 'api_key_invalid' ? monitor.keyFailures + 1 : 0;
    if (keyFailures === monitor.keyFailures) return;
    const status = keyFailures >= KEY_FAILURES ? 'disabled' : monitor.status;
    this.#save({ ...monitor, keyFailures, status });
  }

  #save(monitor: Monitor): void {
    this.#keep(monitor);
    this.#wakeUp();
  }

  #remove(id: string): void {
    for (const run of this.runsOf(id)) this.#runs.delete(run.id);
    this.#monitors.delete(id);
    this.#nextRunAt.delete(id);
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
    return Math.max(LEAST_MS, Math.round((periodMs(trigger?.period ?? '') ?? 0) / this.#world.options.monitorClock));
  }

  #notify(monitor: Monitor, type: MonitorEvent, data: unknown, at = this.#world.now()): void {
    this.#webhooks.send(monitor, type, data, at);
  }

  #notifyRun(monitor: Monitor, run: MonitorRun, type: MonitorEvent, at: number): void {
    const record = monitorRunRecord(run, at, this.#world.options);
    this.#notify(monitor, type, { ...record, metadata: monitor.metadata }, at);
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = new AbortController();
    wake.abort();
  }
}
