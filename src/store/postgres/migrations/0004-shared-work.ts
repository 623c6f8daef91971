import type { Migration } from '../../../postgres/index.js';

/** Staged rows and job entries, for workers that share no folder. */
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
COMMENT ON TABLE ${schema}.stages IS 'Inputs of jobs whose slices are all in stage_slices.';

CREATE TABLE ${schema}.stage_slices (
  job text COLLATE "C" NOT NULL,
  generation text COLLATE "C" NOT NULL,
  slice integer NOT NULL,
  rows bytea NOT NULL,
  PRIMARY KEY (job, generation, slice)
);
ALTER TABLE ${schema}.stage_slices ALTER COLUMN rows SET STORAGE EXTERNAL;
COMMENT ON COLUMN ${schema}.stage_slices.rows IS 'Gzip JSON lines';

CREATE TABLE ${schema}.jobs (
  job text COLLATE "C" PRIMARY KEY,
  entry text NOT NULL,
  touched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE ${schema}.jobs IS 'What is remembered of jobs between commands, as JSON.';
`,
};
