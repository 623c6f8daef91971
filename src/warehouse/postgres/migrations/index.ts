import type { Migration } from '../../../postgres/index.js';
import { rowJobs } from './0001-row-jobs.js';
import { events } from './0010-events.js';
import { monitors } from './0020-monitors.js';
import { rowResults } from './0030-row-results.js';
import { runs } from './0050-runs.js';
import { stateMarks } from './0060-state-marks.js';
import { exactDollars } from './0071-exact-dollars.js';
import { readerPath } from './0072-reader-path.js';

/** All migrations, in order. Append only. */
export const migrations: readonly Migration[] = [
  rowJobs,
  events,
  monitors,
  rowResults,
  runs,
  stateMarks,
  exactDollars,
  readerPath,
];
