import { STORE_SCHEMA } from '../../../core/connections/postgres-address.js';
import { CodedError, UsageError } from '../../../core/errors/coded-error.js';
import {
  migrate,
  OtherSchema,
  openPostgres,
  type Postgres,
  type PostgresOptions,
  parseAddress,
  type Schema,
} from '../../../postgres/index.js';
import { limiter, slots } from './limits.js';
import { answers, claims, processes, purchases } from './purchases.js';

/**
 * Intents, and what a request takes from a cap: `reserve` of `store/file/spend` and `isLeftRunning` of the file journal in SQL, with
 * the same contract tests.
 */
const intents = (schema: string): string => `
-- Whether an open purchase is a run that was left running: its unit has an outcome since the intent, and no owner claims the unit.
CREATE FUNCTION ${schema}.is_left_running(p ${schema}.purchases) RETURNS boolean
LANGUAGE sql STABLE SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT NOT EXISTS (SELECT FROM ${schema}.claims WHERE key = ANY (p.keys))
    AND EXISTS (SELECT FROM ${schema}.units WHERE key = ANY (p.keys) AND landed_at > p.at)
$body$;

-- Writes an intent and returns no row. If the purchase would exceed a cap, writes nothing and returns that cap. If it would exceed several
-- caps, returns the cap with the least left. Purchases under one cap wait for each other, so that two can't both take the rest of the cap.
-- Under a cap a request takes the observed cost of answers if that cost is higher than its estimate, and waits while the first requests of
-- its kind are in flight. Runs that were left running do not count as in flight.
CREATE FUNCTION ${schema}.intend(p_id uuid, p_process uuid, p_team text, p_owner text, p_segment text, p_operation text, p_tier text,
  p_keys uuid[], p_estimate bigint, p_list bigint, p_deadline_ms double precision, p_cap_job text, p_cap bigint)
RETURNS TABLE (scope text, cap double precision, remaining double precision, open double precision, resets_ms double precision,
  multiple double precision, unproven boolean)
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
#variable_conflict use_column
DECLARE
  bound ${schema}.caps;
  p ${schema}.purchases;
  of_job text := split_part(p_segment, '/', 1);
  today date;
  month date;
  answers integer;
  observed double precision;
  micros bigint := p_estimate;
  waits boolean;
BEGIN
  PERFORM 1 FROM ${schema}.purchases WHERE id = p_id;
  IF FOUND THEN RETURN; END IF;
  PERFORM ${schema}.check_process(p_process);
  PERFORM ${schema}.check_claims(p_owner, p_keys);
  IF p_cap IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'searchflow cap of job', p_cap_job), 0));
  END IF;
  SELECT * INTO bound FROM ${schema}.caps WHERE team = p_team AND (day_micros IS NOT NULL OR month_micros IS NOT NULL);
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'searchflow cap of team', p_team), 0));
  END IF;
  today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  month := date_trunc('month', today)::date;
  IF p_cap IS NOT NULL OR bound.team IS NOT NULL THEN
    SELECT o.answers, o.multiple INTO answers, observed FROM ${schema}.observed(p_team, of_job, today, p_operation, p_tier) AS o;
    micros := greatest(p_estimate, floor(p_list * observed + 0.5)::bigint);
    waits := p_estimate > 0 AND answers < 3 AND (SELECT count(*) >= 2 FROM ${schema}.purchases p
      WHERE state = 'open' AND job = of_job AND operation = p_operation AND tier = p_tier AND team = p_team
        AND at > clock_timestamp() - interval '1 day'
        AND NOT ${schema}.is_left_running(p));
    RETURN QUERY
      WITH sums (nth, scope, cap, taken, resets, since) AS (
        SELECT 1, 'job', p_cap, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), NULL::date, NULL::date
        FROM ${schema}.spend WHERE job = p_cap_job AND p_cap IS NOT NULL
        UNION ALL
        SELECT 2, 'day', bound.day_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), today + 1, today
        FROM ${schema}.spend WHERE team = bound.team AND day = today
        UNION ALL
        SELECT 3, 'month', bound.month_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0),
          (month + interval '1 month')::date, month
        FROM ${schema}.spend WHERE team = bound.team AND day >= month AND bound.month_micros IS NOT NULL
      )
      SELECT scope, cap::double precision, greatest(0, cap - taken)::double precision,
        (SELECT coalesce(sum(p.estimate_micros), 0) FROM ${schema}.purchases p WHERE p.state = 'open' AND NOT ${schema}.is_left_running(p)
          AND CASE scope WHEN 'job' THEN p.job = p_cap_job ELSE p.team = p_team AND p.day >= since END)::double precision,
        (extract(epoch FROM resets::timestamp AT TIME ZONE 'UTC') * 1000)::double precision,
        observed, micros <= greatest(0, cap - taken)
      FROM sums WHERE cap IS NOT NULL AND (waits OR micros > greatest(0, cap - taken))
      ORDER BY greatest(0, cap - taken), nth LIMIT 1;
    IF FOUND THEN RETURN; END IF;
  END IF;
  INSERT INTO ${schema}.purchases (id, team, job, segment, operation, tier, owner, process, keys, state, estimate_micros, list_micros, day,
    deadline_ms)
  VALUES (p_id, p_team, of_job, p_segment, p_operation, p_tier, p_owner, p_process, p_keys, 'open', micros, p_list, today, p_deadline_ms)
  RETURNING * INTO p;
  PERFORM ${schema}.add_spend(p, 0, 0, 0, micros, 0, 0);
END $body$;
`;

/** Landed units. For forgotten ones see `core/purchase/forgotten`. */
const units = (schema: string): string => `
CREATE TABLE ${schema}.units (
  key uuid PRIMARY KEY,
  purchase uuid NOT NULL,
  segment text COLLATE "C" NOT NULL,
  bought boolean NOT NULL,
  fetched_ms double precision NOT NULL,
  landed_at timestamptz NOT NULL,
  status text COLLATE "C" NOT NULL,
  error_tag text COLLATE "C",
  body text
);
DO $body$ BEGIN
  ALTER TABLE ${schema}.units ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN NULL;
END $body$;
CREATE INDEX units_segment ON ${schema}.units (segment) WHERE body IS NOT NULL;
COMMENT ON TABLE ${schema}.units IS 'Landed units, which are not bought again.';
COMMENT ON COLUMN ${schema}.units.body IS 'The unit as a line of JSON (as text, because json and jsonb refuse some values of the service); null: pruned';

CREATE INDEX units_forgotten ON ${schema}.units (key) WHERE error_tag = 'FORGOTTEN';

-- The landed units among these keys that satisfy the freshness rules. A forgotten unit satisfies all.
CREATE FUNCTION ${schema}.landed(p_keys uuid[], p_fresh_after double precision, p_retry_tags text[],
  p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text)
LANGUAGE sql STABLE SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT u.key, u.fetched_ms, u.status, u.error_tag FROM ${schema}.units u
  WHERE u.key = ANY (p_keys) AND (u.error_tag IS NOT DISTINCT FROM 'FORGOTTEN'
    OR (p_fresh_after IS NULL OR u.fetched_ms >= p_fresh_after)
      AND NOT (p_retry_tags IS NOT NULL AND u.status = 'error' AND coalesce(u.error_tag, '') = ANY (p_retry_tags)
        AND u.fetched_ms < coalesce(p_retry_before, 0))
      AND NOT (p_rebuy_before IS NOT NULL AND u.body IS NULL AND u.fetched_ms < p_rebuy_before))
$body$;

-- Writes units, except those that were bought by another request in the meantime or have a newer answer, and except forgotten units. Returns
-- the number of units that were bought by another request. p_bodies: one line for each unit.
CREATE FUNCTION ${schema}.put_units(p_purchase uuid, p_segment text, p_bought boolean, p_since timestamptz,
  p_fetched_ms double precision, p_keys uuid[], p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  put integer;
BEGIN
  INSERT INTO ${schema}.units AS u (key, purchase, segment, bought, fetched_ms, landed_at, status, error_tag, body)
  SELECT k, p_purchase, p_segment, p_bought, p_fetched_ms, clock_timestamp(), s, t, b
  FROM unnest(p_keys, p_statuses, p_tags, string_to_array(p_bodies, E'\\n')) AS given (k, s, t, b) ORDER BY k
  ON CONFLICT (key) DO UPDATE SET purchase = excluded.purchase, segment = excluded.segment, bought = excluded.bought,
    fetched_ms = excluded.fetched_ms, landed_at = excluded.landed_at, status = excluded.status,
    error_tag = excluded.error_tag, body = excluded.body
  WHERE u.error_tag IS DISTINCT FROM 'FORGOTTEN'
    AND (NOT u.bought OR (u.landed_at <= p_since AND u.fetched_ms <= excluded.fetched_ms));
  GET DIAGNOSTICS put = ROW_COUNT;
  DELETE FROM ${schema}.lost_units WHERE key = ANY (p_keys);
  IF put = cardinality(p_keys) THEN RETURN 0; END IF;
  RETURN (SELECT count(*) FROM ${schema}.units
    WHERE key = ANY (p_keys) AND purchase <> p_purchase AND bought AND landed_at > p_since);
END $body$;
`;

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

const parts = [processes, purchases, units, claims, spend, intents, answers, sharedWork, limiter, slots];

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

/**
 * Connects to a store and migrates its schema. `url`: value of `SEARCHFLOW_STORE`. Throws `PostgresRefused`, `PostgresAway`, a
 * `UsageError` for a schema that is no store or of another version, or an `Error` if the database cannot be used as a store.
 */
export async function connectStore(url: string, options: PostgresOptions): Promise<Postgres> {
  const postgres = await openPostgres(parseAddress(url, STORE_SCHEMA), options);
  try {
    const [settings] = await postgres.query<{ encoding: string; isolation: string; version: string }>(
      `SELECT current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
         current_setting('server_version_num') AS version`,
    );
    const { shown } = postgres.address;
    if (Number(settings?.version) < 140_000)
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} runs on a PostgreSQL older than 14. Use PostgreSQL 14 or newer`,
      );
    if (settings?.encoding !== 'UTF8')
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} has the encoding ${settings?.encoding}. Use a database with the encoding UTF8`,
      );
    // A statement that waited for another process must see the rows which that process wrote.
    if (settings.isolation !== 'read committed')
      throw new CodedError(
        'postgres-unsuitable',
        `The store ${shown} has default_transaction_isolation = ${settings.isolation}. Set it to read committed`,
      );
    await migrate(postgres, storeSchema).catch((error: unknown) => {
      throw error instanceof OtherSchema
        ? new UsageError('schema-of-another-version', refusal(shown, error), { cause: error })
        : error;
    });
    return postgres;
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

function refusal(shown: string, { is }: OtherSchema): string {
  const what = is === null ? 'was not created by this version' : `is a ${is}`;
  return `The store ${shown} ${what} of searchflow. Use another schema (?schema=name)`;
}
