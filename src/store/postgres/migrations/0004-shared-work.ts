import type { Migration } from '../../../postgres/index.js';

/** Staged rows and job entries, for workers without a common folder. */
export const sharedWork: Migration = {
  name: '0004-shared-work',
  sql: (schema) => `
CREATE TABLE ${schema}.stages (
  job text COLLATE "C" NOT NULL,
  generation text COLLATE "C" NOT NULL,
  slices integer NOT NULL,
  shared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job, generation)
);
COMMENT ON TABLE ${schema}.stages IS 'Stages of jobs that are complete in stage_slices.';

CREATE TABLE ${schema}.stage_slices (
  job text COLLATE "C" NOT NULL,
  generation text COLLATE "C" NOT NULL,
  slice integer NOT NULL,
  rows bytea NOT NULL,
  PRIMARY KEY (job, generation, slice)
);
ALTER TABLE ${schema}.stage_slices ALTER COLUMN rows SET STORAGE EXTERNAL;
COMMENT ON COLUMN ${schema}.stage_slices.rows IS 'JSON lines, compressed with gzip';

CREATE TABLE ${schema}.jobs (
  job text COLLATE "C" PRIMARY KEY,
  entry text NOT NULL,
  touched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE ${schema}.jobs IS 'Entries of jobs and walks, as JSON.';
`,
};
