import type { Migration } from '../../../postgres/index.js';
import { rowComments } from '../../rows/row-tables.js';

/** The table of finished runs of a job. */
export const runs: Migration = {
  name: '0050-runs',
  sql: (schema) => `
CREATE TABLE ${schema}.searchflow_runs (
  job text NOT NULL,
  run text NOT NULL,
  scheduled boolean NOT NULL,
  generation text NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  phase text NOT NULL,
  reason text,
  message text,
  rows bigint NOT NULL,
  success bigint NOT NULL,
  error bigint NOT NULL,
  invalid bigint NOT NULL,
  missing bigint NOT NULL,
  vanished bigint NOT NULL,
  requests bigint NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (job, run)
);
${rowComments(['searchflow_runs'], true, `${schema}.`)}`,
};
