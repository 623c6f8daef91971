import { z } from 'zod';
import type { RestoreFact, WriteFact } from '../fact-log.js';
import type { NextId } from '../ids.js';
import { Refusal } from '../refusal.js';
import type { PageSettings } from '../result.js';
import type { MonitorOptions } from '../state-options.js';
import type { Till } from '../till.js';
import type { Timers } from '../timers.js';
import { type Monitor, type MonitorEvent, monitorRecord, storedMonitorSchema } from './monitor.js';
import type { MonitorWishes } from './monitor-input.js';
import { type MonitorRun, monitorRunRecord, runMicros, storedRunSchema } from './monitor-run.js';
import { planRun } from './plan-run.js';
import { endOf, RunShelf } from './run-shelf.js';
import { Schedule } from './schedule.js';
import type { Webhooks } from './webhooks.js';

const factSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('monitor'), monitor: storedMonitorSchema }),
  z.object({ kind: z.literal('monitor-deleted'), id: z.string() }),
  z.object({ kind: z.literal('monitor-run'), run: storedRunSchema }),
  z.object({ kind: z.literal('monitor-run-over'), id: z.string() }),
]);

/** Runs in a row that fail for the key, after which the service disables a monitor (public facts section 7.2). */
const KEY_FAILURES = 10;

export interface MonitorsParts {
  readonly options: MonitorOptions;
  readonly clock: number;
  readonly pages: PageSettings;
  readonly nextId: NextId;
  readonly till: Till;
  readonly timers: Timers;
  readonly webhooks: Webhooks;
  readonly write: WriteFact;
  readonly now: () => number;
}

/** The monitors of the team and their runs. Schedules and the ends of runs are kept up by {@link tick}. */
export class Monitors {
  readonly #parts: MonitorsParts;
  readonly #monitors = new Map<string, Monitor>();
  readonly #runs = new RunShelf();
  readonly #schedule: Schedule;
  #serial = 0;
  #wake = new AbortController();

  constructor(parts: MonitorsParts) {
    this.#parts = parts;
    this.#schedule = new Schedule(parts.clock);
  }

  get now(): number {
    return this.#parts.now();
  }

  /** The newest first. */
  list(): Monitor[] {
    return [...this.#monitors.values()].sort((left, right) => right.serial - left.serial);
  }

  /** Throws 404 where there is no such monitor. */
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
    this.#tell(monitor, 'monitor.created', this.record(monitor));
    return monitor;
  }

  update(id: string, change: (monitor: Monitor) => Monitor): Monitor {
    const monitor = { ...change(this.get(id)), updatedAt: this.now };
    this.#save(monitor);
    this.#tell(monitor, 'monitor.updated', this.record(monitor));
    return monitor;
  }

  delete(id: string): Monitor {
    const monitor = this.get(id);
    this.#cancelRuns(id, () => true);
    this.#parts.write({ kind: 'monitor-deleted', id });
    this.#remove(id);
    this.#tell(monitor, 'monitor.deleted', monitorRecord(monitor, null));
    return monitor;
  }

  /** Begins a run now, whatever the schedule says. Refuses where the monitor is disabled (section 4.6). */
  trigger(id: string): MonitorRun {
    const monitor = this.get(id);
    if (monitor.status === 'disabled') {
      throw new Refusal(
        400,
        'INVALID_REQUEST',
        `The monitor ${id} is disabled: only active and paused ones can be triggered`,
      );
    }
    return this.#begin(monitor, this.now, false);
  }

  /** The runs of a monitor, the newest first. */
  runsOf(id: string): MonitorRun[] {
    return this.#runs.of(this.get(id).id);
  }

  run(monitorId: string, runId: string): MonitorRun {
    this.get(monitorId);
    const run = this.#runs.get(runId);
    if (run?.monitorId !== monitorId) throw new Refusal(404, 'NOT_FOUND', `There is no run ${runId} of ${monitorId}`);
    return run;
  }

  /** Does everything that is due: schedules, ends of runs, in the order of their times. */
  settle(): void {
    const now = this.now;
    for (;;) {
      const tick = this.#schedule.first();
      const run = this.#runs.firstEnd();
      const at = Math.min(tick?.at ?? Number.POSITIVE_INFINITY, run ? endOf(run) : Number.POSITIVE_INFINITY);
      if (at > now) return;
      if (run && endOf(run) === at) this.#finish(run);
      else if (tick) this.#tick(tick.id, tick.at, now);
    }
  }

  /** Settles what falls due, as long as the sandbox runs. */
  async keepTime(): Promise<void> {
    const { timers } = this.#parts;
    while (!timers.stopped) {
      this.settle();
      const run = this.#runs.firstEnd();
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
      runs: countBy(this.#runs.statuses(this.now)),
    };
  }

  readonly restore: RestoreFact = (given) => {
    const fact = factSchema.safeParse(given).data;
    if (!fact) return false;
    if (fact.kind === 'monitor') this.#keep(fact.monitor);
    else if (fact.kind === 'monitor-deleted') this.#remove(fact.id);
    else if (fact.kind === 'monitor-run') this.#runs.put(fact.run);
    else this.#runs.close(fact.id);
    return true;
  };

  reset(): void {
    for (const id of [...this.#monitors.keys()]) this.#remove(id);
  }

  #tick(id: string, at: number, now: number): void {
    const monitor = this.get(id);
    this.#cancelRuns(id, ({ scheduled }) => scheduled, at);
    this.#begin(monitor, at, true);
    this.#schedule.advance(monitor, at, now);
  }

  #begin(monitor: Monitor, at: number, scheduled: boolean): MonitorRun {
    const { options, nextId, pages, till } = this.#parts;
    const plan = { id: `monitor_run_${nextId()}`, serial: this.#runs.nextSerial, at, scheduled, seed: pages.seed };
    const run = planRun(monitor, { ...plan, isPaid: till.credits === null || till.credits > 0 }, options);
    this.#saveRun(run);
    this.#tellRun(run, 'monitor.run.created', at);
    return run;
  }

  #finish(run: MonitorRun): void {
    const { till, write } = this.#parts;
    till.charge('monitorRun', run.id, runMicros(run));
    write({ kind: 'monitor-run-over', id: run.id });
    this.#runs.close(run.id);
    const monitor = this.#monitors.get(run.monitorId);
    if (!monitor || run.cancelledAt !== null) return;
    this.#tellRun(run, 'monitor.run.completed', run.endsAt);
    const keyFailures = run.failReason === 'api_key_invalid' ? monitor.keyFailures + 1 : 0;
    if (keyFailures === monitor.keyFailures) return;
    const status = keyFailures >= KEY_FAILURES ? 'disabled' : monitor.status;
    this.#save({ ...monitor, keyFailures, status });
  }

  #cancelRuns(monitorId: string, which: (run: MonitorRun) => boolean, at = this.now): void {
    for (const run of this.#runs.openOf(monitorId).filter(which)) this.#saveRun({ ...run, cancelledAt: at });
  }

  #save(monitor: Monitor): void {
    this.#parts.write({ kind: 'monitor', monitor });
    this.#keep(monitor);
    this.#wakeUp();
  }

  #saveRun(run: MonitorRun): void {
    this.#parts.write({ kind: 'monitor-run', run });
    this.#runs.put(run);
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
    this.#runs.remove(id);
  }

  #tell(monitor: Monitor, type: MonitorEvent, data: unknown): void {
    this.#parts.webhooks.send(monitor, type, data, this.now);
  }

  #tellRun(run: MonitorRun, type: MonitorEvent, at: number): void {
    const monitor = this.#monitors.get(run.monitorId);
    if (!monitor) return;
    const record = monitorRunRecord(run, at, this.#parts.pages);
    this.#parts.webhooks.send(monitor, type, { ...record, metadata: monitor.metadata }, at);
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
