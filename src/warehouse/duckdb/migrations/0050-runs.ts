import { rowComments } from '../../rows/row-tables.js';

/** The table of finished runs of a job. */
export const runs = {
  name: '0050-runs',
  sql: `
CREATE TABLE searchflow_runs (
  job VARCHAR NOT NULL,
  run VARCHAR NOT NULL,
  scheduled BOOLEAN NOT NULL,
  generation VARCHAR NOT NULL,
  started_at TIMESTAMP NOT NULL,
  ended_at TIMESTAMP NOT NULL,
  phase VARCHAR NOT NULL,
  reason VARCHAR,
  message VARCHAR,
  rows BIGINT NOT NULL,
  success BIGINT NOT NULL,
  error BIGINT NOT NULL,
  invalid BIGINT NOT NULL,
  missing BIGINT NOT NULL,
  vanished BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  cost_micros BIGINT NOT NULL,
  PRIMARY KEY (job, run)
);
${rowComments(['searchflow_runs'], false)}`,
} as const;
