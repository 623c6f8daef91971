/** Staged rows, job entries, owners of the work of commands and the allowlist, for processes without a common folder. */
export const sharedWork = (schema: string): string => `
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
COMMENT ON TABLE ${schema}.jobs IS 'Entries of jobs, as JSON.';

CREATE TABLE ${schema}.walks (
  job text COLLATE "C" PRIMARY KEY,
  entry text NOT NULL,
  touched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE ${schema}.walks IS 'Entries of walks, as JSON.';

CREATE TABLE ${schema}.owned_work (
  workflow_id text COLLATE "C" PRIMARY KEY,
  owned text NOT NULL
);
COMMENT ON TABLE ${schema}.owned_work IS 'Current work of commands, with the processes that own or watch it, as JSON.';

CREATE TABLE ${schema}.allowed (
  field text NOT NULL,
  what text COLLATE "C" NOT NULL,
  host text NOT NULL,
  PRIMARY KEY (field, what, host)
);
COMMENT ON TABLE ${schema}.allowed IS 'Files and database servers that persons named in commands, and that workflows may therefore use.';
COMMENT ON COLUMN ${schema}.allowed.field IS 'Field of a workflow''s input';
COMMENT ON COLUMN ${schema}.allowed.what IS 'Path without links, or host:port';
COMMENT ON COLUMN ${schema}.allowed.host IS 'Machine of a file; empty for a server';
`;
