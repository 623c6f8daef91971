import { type MonitorRun, runStatus } from './monitor-run.js';

/** End of a run: its own time, or the time of its cancellation. */
export function endOf(run: MonitorRun): number {
  return run.cancelledAt ?? run.endsAt;
}

/** The runs of all monitors, and which of them are open. */
export class RunStore {
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
