import { rowJobs } from './0001-row-jobs.js';

/** All migrations, in order. Append only. */
export const migrations: readonly { readonly name: string; readonly sql: string }[] = [rowJobs];
