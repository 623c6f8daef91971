import type { JobEntry, StagedJob } from '../../../src/core/job-entry-schemas.js';

/** The entry of a job of one row that was staged. */
export const jobEntry = (
  job: string,
  staged: Partial<StagedJob> = {},
  changes: Partial<Omit<JobEntry, 'staged'>> = {},
): JobEntry => ({
  staged: {
    ...{ job, name: 'x', origin: 'sandbox', operation: 'contents', input: '/x.csv', into: '/x.duckdb' },
    ...{ generation: 'g', columns: ['url'], unitColumn: 'url', options: {}, batch: 100 },
    ...{ rows: 1, badRows: 0, distinctUnits: 1, slices: 1, rowsPerSlice: 1, window: 3, stageDir: '/stage' },
    ...staged,
  },
  ...{ named: true, csv: null, completed: null, state: { phase: 'running', since: 0 }, asked: {} },
  ...changes,
});

/** Records that know nothing, for a status. */
export const noRecords = { owned: [], ledger: async () => ({ phase: null, since: null }), bought: async () => 0 };
