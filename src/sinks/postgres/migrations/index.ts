import type { Migration } from '../../../postgres/index.js';
import { rowJobs } from './0001-row-jobs.js';
import { events } from './0010-events.js';

/** All migrations, in order. Append only. */
export const migrations: readonly Migration[] = [rowJobs, events];
