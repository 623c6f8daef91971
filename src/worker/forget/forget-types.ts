import type { JobEntry } from '../../core/rows/job-entries.js';
import type { ForgetSubjects } from '../../core/rows/row-warehouse.js';
import type { JobStatus, RuntimeConfig } from '../config/runtime-types.js';
import type { Store } from '../store/store.js';
import type { Warehouses } from '../warehouse/warehouses.js';

/** The parts of a runtime that `forget` uses. */
export interface ForgetParts {
  readonly config: RuntimeConfig;
  readonly store: Store;
  readonly warehouses: Warehouses;
  /** The states of jobs. */
  statuses(entries: readonly JobEntry[]): Promise<readonly JobStatus[]>;
}

/** What a person wants to forget: a job, some of its rows, or a URL in all jobs. */
export type ForgetWish = { readonly job: string; readonly rows?: readonly number[] } | { readonly url: string };

/** The data that a person wants to remove, and where it is. */
export interface ForgetPlan {
  readonly wish: ForgetWish;
  readonly subjects: ForgetSubjects;
  /** The jobs that have rows of these units. */
  readonly jobs: readonly string[];
  /** Number of units that are not recorded as forgotten yet; bad rows count as units. */
  readonly units: number;
  /** Number of loaded rows with values. */
  readonly rows: number;
  readonly warehouses: readonly { readonly into: string; readonly rows: number }[];
  /** Number of slices of staged rows, and of staged rows with values. */
  readonly slices: number;
  readonly stagedRows: number;
  /** Number of answers in the journal, with their bytes. */
  readonly bodies: number;
  readonly bytes: number;
  /** Enriched CSVs of these jobs on this machine, which are written again. */
  readonly csvs: readonly { readonly job: string; readonly file: string }[];
  /** Copies of data of these jobs that are not changed. */
  readonly targets: readonly string[];
  /** Sentences for a person. */
  readonly notes: readonly string[];
  /** Whether there is nothing to remove. */
  readonly isEmpty: boolean;
}

/** What was removed. */
export interface Forgot {
  readonly plan: ForgetPlan;
  /** Enriched CSVs that were written again. */
  readonly csvs: readonly string[];
  readonly notes: readonly string[];
}
