import type { Decision, MonitorFilter } from '../workflow-input-schemas.js';
import type { MonitorEffect, MonitorExport, MonitorState } from '../workflow-result-schemas.js';
import type { BatchRun } from './monitor-batch.js';
import type { PlannedMonitor } from './monitor-effect.js';
import type { ScheduledPauses } from './scheduled-pauses.js';

/** The record of a batch, written before its calls. */
export interface BatchRecord extends BatchRun {
  readonly action: string;
  readonly filter: MonitorFilter;
  readonly by: string | null;
  /** Unix ms. */
  readonly at: number;
  /** Schedule that starts the batch, or whose pauses it ends. */
  readonly schedule?: string | undefined;
}

export interface BatchCall {
  /** Number of the call in its run, from 1. */
  readonly call: number;
  readonly requestId: string | null;
  /** Unix ms. */
  readonly at: number;
  /** False: no answer landed; the effect was read from the list of monitors. */
  readonly answered: boolean;
  readonly ids: readonly string[];
}

/** Monitors that a call affected and no earlier call did. */
export interface FreshMonitors {
  readonly planned: number;
  /** Ids of monitors outside the plan. */
  readonly unplanned: readonly string[];
}

/**
 * The audit of batches (API reference: /monitors): one line for each monitor of a plan, with the effects on that monitor. All writes are
 * idempotent.
 */
export interface BatchAudit {
  /** Records the plan; replaces an earlier plan of this run, unless the batch has begun. */
  plan(record: BatchRecord, toDo: readonly MonitorState[], already: readonly MonitorState[]): Promise<void>;
  decide(run: BatchRun, decision: Decision & { readonly approved: boolean; readonly at: number }): Promise<void>;
  begin(run: BatchRun, by: string): Promise<void>;
  pausesOf(origin: string, schedule: string): Promise<ScheduledPauses>;
  /** Records the effect of a call; returns the monitors that no earlier call affected. */
  record(run: BatchRun, call: BatchCall): Promise<FreshMonitors>;
  /** `pending`: the monitors of the plan that no call has affected; `all`: all monitors of the plan and of calls. */
  monitors(run: BatchRun, which: 'pending' | 'all'): Promise<readonly PlannedMonitor[]>;
  /** Records the effect on each monitor, and the end of the run. */
  finish(
    run: BatchRun,
    end: { readonly phase: string; readonly at: number; readonly effects: readonly MonitorEffect[] },
  ): Promise<void>;
}

export interface KnownRun {
  readonly id: string;
  /** Whether the run has ended. The record of an ended run does not change. */
  readonly over: boolean;
  /** Whether all older runs of the monitor are loaded, too. */
  readonly reached: boolean;
}

export type ExportCounts = Pick<MonitorExport, 'read' | 'added' | 'again' | 'results'>;

/** A record of the service with all its fields, including unknown fields. */
export type RawRecord = { readonly id: string } & { readonly [name: string]: unknown };

export interface MonitorRuns {
  /** Loads the present monitors; `mark` identifies the export. Monitors that no longer exist keep their rows, with a time in `gone_at`. */
  loadMonitors(origin: string, mark: string, monitors: readonly RawRecord[]): Promise<void>;
  /**
   * Ends the list of an export. `wholeSince`: the beginning of an export of all monitors, in Unix ms; null for an export with a filter.
   * Monitors that no export has seen since that time are marked as gone.
   */
  endMonitors(origin: string, mark: string, wholeSince: number | null): Promise<void>;
  /** The ids of the next monitors whose runs an export has not read yet. */
  unread(origin: string, mark: string, limit: number): Promise<readonly string[]>;
  knownRuns(origin: string, monitor: string): Promise<readonly KnownRun[]>;
  /** Adds or replaces runs, with their results. */
  loadRuns(origin: string, mark: string, monitor: string, runs: readonly RawRecord[]): Promise<void>;
  /** Records that all runs of a monitor have been read. */
  endRuns(origin: string, mark: string, monitor: string): Promise<void>;
  /** The counts of an export so far, over all interruptions. */
  counts(origin: string, mark: string): Promise<ExportCounts>;
}

/** A warehouse for batches and runs of monitors. Rejects with `WarehouseBusy` and `WarehouseUnusable` as a `RowWarehouse` does. */
export interface MonitorWarehouse {
  readonly audit: BatchAudit;
  readonly runs: MonitorRuns;
  close(): Promise<void>;
}
