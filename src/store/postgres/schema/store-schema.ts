import type { Schema } from '../../../postgres/index.js';
import { answers } from './answers.js';
import { claims } from './claims.js';
import { intents } from './intents.js';
import { limiterBuckets } from './limiter-buckets.js';
import { limiterTurns } from './limiter-turns.js';
import { processes } from './processes.js';
import { purchases } from './purchases.js';
import { slots } from './slots.js';
import { units } from './units.js';

/** Sums of costs, and caps. */
const spend = (schema: string): string => `
CREATE TABLE ${schema}.spend (
  job text COLLATE "C" NOT NULL,
  day date NOT NULL,
  team text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  requests bigint NOT NULL,
  units bigint NOT NULL,
  landed_micros bigint NOT NULL,
  open_micros bigint NOT NULL,
  unknown_outcomes bigint NOT NULL,
  unknown_micros bigint NOT NULL,
  PRIMARY KEY (job, day, team, operation, shard)
);
CREATE INDEX spend_team_day ON ${schema}.spend (team, day);
COMMENT ON TABLE ${schema}.spend IS 'Sums of purchases by the UTC day of their request, updated in the same transactions. Each sum is spread over shards, so that parallel requests do not wait for each other; add the shards up.';

CREATE TABLE ${schema}.caps (
  team text COLLATE "C" PRIMARY KEY,
  day_micros bigint,
  month_micros bigint
);
COMMENT ON TABLE ${schema}.caps IS 'Caps of a team for a UTC day and a UTC month; null: no cap.';

-- Adds to the sums of a purchase.
CREATE FUNCTION ${schema}.add_spend(p ${schema}.purchases, p_requests bigint, p_units bigint, p_landed bigint, p_open bigint,
  p_unknowns bigint, p_unknown bigint) RETURNS void
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  INSERT INTO ${schema}.spend AS s
  VALUES (p.job, p.day, p.team, p.operation, floor(random() * 8), p_requests, p_units, p_landed, p_open, p_unknowns, p_unknown)
  ON CONFLICT (job, day, team, operation, shard) DO UPDATE SET
    requests = s.requests + excluded.requests,
    units = s.units + excluded.units,
    landed_micros = s.landed_micros + excluded.landed_micros,
    open_micros = s.open_micros + excluded.open_micros,
    unknown_outcomes = s.unknown_outcomes + excluded.unknown_outcomes,
    unknown_micros = s.unknown_micros + excluded.unknown_micros;
$body$;
`;

/** Staged rows, job entries, owners of the work of commands and the allowlist, for processes without a common folder. */
const sharedWork = (schema: string): string => `
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

const parts = [
  processes,
  purchases,
  units,
  claims,
  spend,
  intents,
  answers,
  sharedWork,
  limiterBuckets,
  limiterTurns,
  slots,
];

/**
 * The schema of the store. Keys are the 32 hex digits of a unit key; `*_ms` are Unix milliseconds of the calling process, `timestamptz` values
 * are of the database's clock; amounts are micro-dollars.
 *
 * Every function resolves unqualified names only in PostgreSQL's own schema, regardless of the session. The store's own names are qualified.
 * A later migration that creates or replaces a function must set its search_path, too.
 */
export const storeSchema: Schema = {
  kind: 'store',
  create: (schema) => parts.map((part) => part(schema)).join(''),
  migrations: [],
};
