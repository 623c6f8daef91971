import type { Json } from '../text/json.js';
import type { BatchRun, Decision, MonitorState } from './monitor-batch.js';
import type { MonitorEffect, PlannedMonitor } from './monitor-effect.js';
import type { MonitorExport } from './monitor-export.js';
import type { MonitorFilter } from './monitor-filter.js';
import type { HeldMonitor, QuietMark, QuietMonitor } from './quiet-plan.js';

/** A batch before anything is done. */
export interface BatchRecord extends BatchRun {
  readonly action: string;
  readonly filter: MonitorFilter;
  readonly by: string | null;
  /** Unix ms. */
  readonly at: number;
}

/** Monitors that one call affected. */
export interface BatchCall {
  /** Number of the call in its run, from 1. */
  readonly call: number;
  readonly requestId: string | null;
  /** Unix ms. */
  readonly at: number;
  /** False: no answer landed; a look at the list showed it. */
  readonly answered: boolean;
  readonly ids: readonly string[];
}

/** What a call was the first to affect. */
export interface FreshMonitors {
  /** Monitors of the plan. */
  readonly planned: number;
  /** Ids of others. */
  readonly unplanned: readonly string[];
}

/**
 * The audit of batches (interface section 4.6): a line for each monitor of a plan, and what was done to it. Everything may be
 * written twice: the second time changes nothing.
 */
export interface BatchAudit {
  /** Writes the plan down, in the place of an earlier one of this run that nothing was done for. */
  plan(record: BatchRecord, toDo: readonly MonitorState[], already: readonly MonitorState[]): Promise<void>;
  /** Writes the decision down, whatever comes of it. */
  decide(run: BatchRun, decision: Decision & { readonly approved: boolean; readonly at: number }): Promise<void>;
  /** What was approved is begun. Whoever approved to pause keeps what is paused already paused. */
  begin(run: BatchRun, by: string): Promise<void>;
  /** Writes down what a call did; answers with what no call before it affected. */
  record(run: BatchRun, call: BatchCall): Promise<FreshMonitors>;
  /** The monitors of the plan that no call has affected, or all that it or a call names. */
  monitors(run: BatchRun, which: 'pending' | 'all'): Promise<readonly PlannedMonitor[]>;
  /** Writes down what came of each monitor, and the end of the run. */
  finish(
    run: BatchRun,
    end: { readonly phase: string; readonly at: number; readonly effects: readonly MonitorEffect[] },
  ): Promise<void>;
}

/** What quiet hours remember: which monitors they paused themselves, and how these were then. */
export interface QuietMemory {
  mark(origin: string, schedule: string): Promise<QuietMark | null>;
  setMark(origin: string, schedule: string, mark: QuietMark | null): Promise<void>;
  /** Monitors it is about to pause, has paused, or is about to unpause. */
  remembered(origin: string, schedule: string): Promise<readonly QuietMonitor[]>;
  /** Monitors that other schedules have paused and not put back. */
  held(origin: string, schedule: string): Promise<readonly HeldMonitor[]>;
  /** Adds or replaces them by id. */
  remember(origin: string, schedule: string, monitors: readonly QuietMonitor[]): Promise<void>;
  forget(origin: string, schedule: string, ids: readonly string[]): Promise<void>;
  /** Writes down what was left alone, and why. */
  report(origin: string, schedule: string, at: number, lines: readonly QuietReport[]): Promise<void>;
}

/** A monitor that quiet hours left alone, or found gone. */
export interface QuietReport {
  readonly id: string;
  readonly name: string | null;
  readonly what: string;
}

/** A run as the warehouse knows it. */
export interface KnownRun {
  readonly id: string;
  /** It has come to its end: there is nothing new to read of it. */
  readonly over: boolean;
  /** All runs of its monitor that are older are loaded, too. */
  readonly reached: boolean;
}

export type ExportCounts = Pick<MonitorExport, 'read' | 'added' | 'again' | 'results'>;

/** A record as it came: fields that nobody knows, and all. */
export type RawRecord = { readonly id: string } & { readonly [name: string]: unknown };

/** The runs of monitors, for analysis (interface section 2.6, public facts 7.2). */
export interface MonitorRuns {
  /** Loads monitors as they are now; `mark` tells this export from others. Those that are gone stay, with `gone_at`. */
  loadMonitors(origin: string, mark: string, monitors: readonly RawRecord[]): Promise<void>;
  /**
   * Ends the list of an export. `wholeSince`: where it was of all monitors, when it began, Unix ms; those that neither it nor another
   * export has seen since are gone.
   */
  endMonitors(origin: string, mark: string, wholeSince: number | null): Promise<void>;
  /** The next monitors of an export whose runs are not read yet, by id. */
  unread(origin: string, mark: string, limit: number): Promise<readonly string[]>;
  knownRuns(origin: string, monitor: string): Promise<readonly KnownRun[]>;
  /** Adds or replaces runs, with their results. */
  loadRuns(origin: string, mark: string, monitor: string, runs: readonly RawRecord[]): Promise<void>;
  /** The runs of a monitor are read to their end. */
  endRuns(origin: string, mark: string, monitor: string): Promise<void>;
  /** What an export has done so far, however often it was interrupted. */
  counts(origin: string, mark: string): Promise<ExportCounts>;
}

/**
 * A warehouse for what is done to monitors and what they found. Rejects with `SinkBusy` and `SinkUnusable` as a `Sink` does.
 */
export interface MonitorWarehouse {
  readonly audit: BatchAudit;
  readonly quiet: QuietMemory;
  readonly runs: MonitorRuns;
  close(): Promise<void>;
}

/** A record of the service as JSON, for a column that keeps it whole. */
export function rawJson(record: RawRecord): Json {
  // It came as JSON.
  return record as unknown as Json;
}
