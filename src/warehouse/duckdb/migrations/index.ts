import { rowJobs } from './0001-row-jobs.js';
import { spendAndComments } from './0002-spend-and-comments.js';
import { events } from './0010-events.js';
import { monitors } from './0020-monitors.js';
import { rowResults } from './0030-row-results.js';
import { runs } from './0050-runs.js';
import { stateMarks } from './0060-state-marks.js';
import { loadParts } from './0070-load-parts.js';
import { exactDollars } from './0071-exact-dollars.js';

/** A step of a warehouse's schema. A released step is never changed. */
export interface Migration {
  readonly name: string;
  /**
   * The SQL, or a function that makes the SQL. `taken`: lower-case names of existing tables and views; `ofJobs`: lower-case names of the
   * views of jobs.
   */
  readonly sql: string | ((taken: ReadonlySet<string>, ofJobs: ReadonlySet<string>) => string);
}

/** All migrations, in order. Append only. */
export const migrations: readonly Migration[] = [
  rowJobs,
  spendAndComments,
  events,
  monitors,
  rowResults,
  runs,
  stateMarks,
  loadParts,
  exactDollars,
];
