import { z } from 'zod';
import { Refusal } from '../base/refusal.js';
import type { Timers } from '../base/state-options.js';
import type { RestoreFact } from '../ledger/log-file.js';
import type { MonitorWishes } from './monitor.js';
import { type Monitor, type MonitorEvent, monitorRecord, periodMs, storedMonitorSchema } from './monitor.js';
import { endOf, type MonitorRun, MonitorRuns, type MonitorRunsParts, storedRunSchema } from './monitor-runs.js';

/** Minimum time between two runs of a monitor, in milliseconds of the wall clock. */
const LEAST_MS = 20;
/** Maximum number of missed runs that are started after the process was suspended. */
const CATCH_UP = 10;

/**
 * Time of the next run of each monitor: one run per period, counted from the creation of the monitor, on a clock that may be faster than
 * the wall clock.
 */
class Schedule {
  readonly #clock: number;
  readonly #next = new Map<string, number>();

  constructor(clock: number) {
    this.#clock = clock;
  }

  /** Milliseconds of the wall clock; null if no run is scheduled. */
  next(id: string): number | null {
    return this.#next.get(id) ?? null;
  }

  first(): { readonly id: string; readonly at: number } | null {
    let first: { id: string; at: number } | null = null;
    for (const [id, at] of this.#next) if (!first || at < first.at) first = { id, at };
    return first;
  }

  /** Adds a monitor in its current state; its next run is the first one after `now`. */
  set(monitor: Monitor, now: number): void {
    const every = this.#every(monitor);
    if (every === null) this.#next.delete(monitor.id);
    else this.#next.set(monitor.id, after(monitor.createdAt, every, now));
  }

  /** Sets the next run after the run that was due at `at`. Of many missed runs only the last few are started. */
  advance(monitor: Monitor, at: number, now: number): void {
    const every = this.#every(monitor);
    if (every !== null)
      this.#next.set(monitor.id, after(monitor.createdAt, every, Math.max(at, now - every * CATCH_UP)));
  }

  remove(id: string): void {
    this.#next.delete(id);
  }

  #every({ status, trigger }: Monitor): number | null {
    if (status !== 'active' || trigger === null) return null;
    // The period is a whole number of milliseconds, so that the time of a run is calculated exactly.
    return Math.max(LEAST_MS, Math.round((periodMs(trigger.period) ?? 3_600_000) / this.#clock));
  }
}

function after(anchor: number, every: number, time: number): number {
  return anchor + (Math.floor((time - anchor) / every) + 1) * every;
}

const factSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('monitor'), monitor: storedMonitorSchema }),
  z.object({ kind: z.literal('monitor-deleted'), id: z.string() }),
  z.object({ kind: z.literal('monitor-run'), run: storedRunSchema }),
  z.object({ kind: z.literal('monitor-run-over'), id: z.string() }),
]);

/** Number of consecutive failures because of the API key after which the service disables a monitor. */
const KEY_FAILURES = 10;

export interface MonitorsParts extends MonitorRunsParts {
  readonly clock: number;
  readonly timers: Timers;
  readonly now: () => number;
}

/** The monitors of the team and their runs. {@link tick} runs schedules and ends runs. */
export class Monitors {
  readonly #parts: MonitorsParts;
  readonly #monitors = new Map<string, Monitor>();
  readonly #runs: MonitorRuns;
  readonly #schedule: Schedule;
  #serial = 0;
  #wake = new AbortController();

  constructor(parts: MonitorsParts) {
    this.#parts = parts;
    this.#runs = new MonitorRuns(parts);
    this.#schedule = new Schedule(parts.clock);
  }

  get now(): number {
    return this.#parts.now();
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
    return monitorRecord(monitor, this.#schedule.next(monitor.id));
  }

  create(wishes: MonitorWishes): Monitor {
    const { nextId, now } = this.#parts;
    const id = `monitor_${nextId()}`;
    const at = now();
    const times = { createdAt: at, updatedAt: at };
    const monitor: Monitor = {
      id,
      serial: this.#serial + 1,
      ...times,
      status: 'active',
      ...wishes,
      secret: `whsec_${nextId()}`,
      keyFailures: 0,
    };
    this.#save(monitor);
    this.#notify(monitor, 'monitor.created', this.record(monitor));
    return monitor;
  }

  update(id: string, change: (monitor: Monitor) => Monitor): Monitor {
    const monitor = { ...change(this.get(id)), updatedAt: this.now };
    this.#save(monitor);
    this.#notify(monitor, 'monitor.updated', this.record(monitor));
    return monitor;
  }

  delete(id: string): Monitor {
    const monitor = this.get(id);
    this.#runs.cancel(id, () => true, this.now);
    this.#parts.write({ kind: 'monitor-deleted', id });
    this.#remove(id);
    this.#notify(monitor, 'monitor.deleted', monitorRecord(monitor, null));
    return monitor;
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
    const run = this.#runs.begin(monitor, this.now, false);
    this.#wakeUp();
    return run;
  }

  /** The runs of a monitor, the newest first. */
  runsOf(id: string): MonitorRun[] {
    return this.#runs.runs_.of(this.get(id).id);
  }

  run(monitorId: string, runId: string): MonitorRun {
    this.get(monitorId);
    const run = this.#runs.runs_.get(runId);
    if (run?.monitorId !== monitorId) throw new Refusal(404, 'NOT_FOUND', `There is no run ${runId} of ${monitorId}`);
    return run;
  }

  /** Does all work that is due (runs by schedule, ends of runs), in the order of its times. */
  advance(): void {
    const now = this.now;
    for (;;) {
      const tick = this.#schedule.first();
      const run = this.#runs.runs_.firstEnd();
      const at = Math.min(tick?.at ?? Number.POSITIVE_INFINITY, run ? endOf(run) : Number.POSITIVE_INFINITY);
      if (at > now) return;
      if (run && endOf(run) === at) this.#finish(run);
      else if (tick) this.#tick(tick.id, tick.at, now);
    }
  }

  /** Does all due work until the sandbox closes. */
  async keepTime(): Promise<void> {
    const { timers } = this.#parts;
    while (!timers.stopped) {
      this.advance();
      const run = this.#runs.runs_.firstEnd();
      const next = Math.min(
        this.#schedule.first()?.at ?? Number.POSITIVE_INFINITY,
        run ? endOf(run) : Number.POSITIVE_INFINITY,
      );
      await timers.wait(Math.max(1, next - this.now), this.#wake.signal);
    }
  }

  counts(): { readonly monitors: Record<string, number>; readonly runs: Record<string, number> } {
    return {
      monitors: countBy([...this.#monitors.values()].map(({ status }) => status)),
      runs: countBy(this.#runs.runs_.statuses(this.now)),
    };
  }

  readonly restore: RestoreFact = (content) => {
    const fact = factSchema.safeParse(content).data;
    if (!fact) return false;
    if (fact.kind === 'monitor') this.#keep(fact.monitor);
    else if (fact.kind === 'monitor-deleted') this.#remove(fact.id);
    else if (fact.kind === 'monitor-run') this.#runs.runs_.put(fact.run);
    else this.#runs.runs_.close(fact.id);
    return true;
  };

  reset(): void {
    for (const id of [...this.#monitors.keys()]) this.#remove(id);
  }

  #tick(id: string, at: number, now: number): void {
    const monitor = this.get(id);
    this.#runs.cancel(id, ({ scheduled }) => scheduled, at);
    this.#runs.begin(monitor, at, true);
    this.#schedule.advance(monitor, at, now);
  }

  #finish(run: MonitorRun): void {
    const monitor = this.#monitors.get(run.monitorId);
    if (!this.#runs.finish(run, monitor) || !monitor) return;
    const keyFailures = run.failReason === 'api_key_invalid' ? monitor.keyFailures + 1 : 0;
    if (keyFailures === monitor.keyFailures) return;
    const status = keyFailures >= KEY_FAILURES ? 'disabled' : monitor.status;
    this.#save({ ...monitor, keyFailures, status });
  }

  #save(monitor: Monitor): void {
    this.#parts.write({ kind: 'monitor', monitor });
    this.#keep(monitor);
    this.#wakeUp();
  }

  #keep(monitor: Monitor): void {
    this.#monitors.set(monitor.id, monitor);
    this.#serial = Math.max(this.#serial, monitor.serial);
    this.#schedule.set(monitor, this.now);
  }

  #remove(id: string): void {
    this.#monitors.delete(id);
    this.#schedule.remove(id);
    this.#runs.runs_.remove(id);
  }

  #notify(monitor: Monitor, type: MonitorEvent, data: unknown): void {
    this.#parts.webhooks.send(monitor, type, data, this.now);
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = new AbortController();
    wake.abort();
  }
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
