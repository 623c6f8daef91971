/**
 * Purchases, with those that are unknown outcomes or run at the service. A purchase that runs at the service belongs to no process; the next
 * claim of the unit takes over the purchase.
 */
export const purchases = (schema: string): string => `
CREATE TABLE ${schema}.purchases (
  id uuid PRIMARY KEY,
  team text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  segment text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  tier text COLLATE "C" NOT NULL DEFAULT '',
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL,
  keys uuid[] NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('open', 'landed', 'unknown', 'never', 'settled')),
  estimate_micros bigint NOT NULL,
  list_micros bigint NOT NULL DEFAULT 0,
  cost_micros bigint NOT NULL DEFAULT 0,
  cost_multiple double precision,
  units integer NOT NULL DEFAULT 0,
  bought_twice integer NOT NULL DEFAULT 0,
  request_id text,
  reason text,
  http_status integer,
  wait_ms double precision,
  came text,
  note text,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  day date NOT NULL,
  deadline_ms double precision,
  closed_at timestamptz
);
CREATE INDEX purchases_job ON ${schema}.purchases (job);
CREATE INDEX purchases_open_job ON ${schema}.purchases (job) WHERE state = 'open';
CREATE INDEX purchases_open_owner ON ${schema}.purchases (owner) WHERE state = 'open';
CREATE INDEX purchases_open_process ON ${schema}.purchases (process) WHERE state = 'open';
CREATE INDEX purchases_priced ON ${schema}.purchases (job, day, operation, tier, closed_at) WHERE cost_multiple IS NOT NULL;
COMMENT ON TABLE ${schema}.purchases IS 'All requests that were or may have been paid for, one row for each. Rows are never deleted.';
COMMENT ON COLUMN ${schema}.purchases.tier IS 'Setting that decides its price together with the operation, such as the effort of an agent run';
COMMENT ON COLUMN ${schema}.purchases.state IS 'open: in flight; landed: answered; unknown: without an answer, possibly charged; never: not sent, or certainly not charged; settled: units ended without a request';
COMMENT ON COLUMN ${schema}.purchases.estimate_micros IS 'Amount that it takes from caps until it is answered; of an unknown outcome its likely price';
COMMENT ON COLUMN ${schema}.purchases.list_micros IS 'Its price by the price table';
COMMENT ON COLUMN ${schema}.purchases.cost_multiple IS 'Cost of its answer as a multiple of the list price; null: not known';
COMMENT ON COLUMN ${schema}.purchases.bought_twice IS 'Number of units of its answer that another request bought while this one was an unknown outcome';
COMMENT ON COLUMN ${schema}.purchases.http_status IS 'HTTP status of a refused or failed request; wait_ms: the wait that the answer named';
COMMENT ON COLUMN ${schema}.purchases.came IS 'Text that came instead of an answer, at most 64 KiB';
COMMENT ON COLUMN ${schema}.purchases.note IS 'The run at the service, as JSON; a purchase with a note outlives its process';

CREATE TABLE ${schema}.lost_units (
  key uuid PRIMARY KEY,
  times integer NOT NULL,
  purchase uuid NOT NULL
);
COMMENT ON TABLE ${schema}.lost_units IS 'Number of lost answers for each unit that has not landed.';
COMMENT ON COLUMN ${schema}.lost_units.purchase IS 'The latest purchase with a lost answer';

CREATE TABLE ${schema}.runs (
  key uuid PRIMARY KEY,
  purchase uuid NOT NULL
);
COMMENT ON TABLE ${schema}.runs IS 'Units of runs at the service, with the open purchase of each.';

-- Number of the newest answers to such purchases of a day, at most 100, and the 95th percentile of their cost as a multiple of
-- the list price.
CREATE FUNCTION ${schema}.observed(p_team text, p_job text, p_day date, p_operation text, p_tier text,
  OUT answers bigint, OUT multiple double precision)
LANGUAGE plpgsql STABLE SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  SELECT count(*), coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY cost_multiple), 0) INTO answers, multiple
  FROM (SELECT cost_multiple FROM ${schema}.purchases
    WHERE job = p_job AND day = p_day AND operation = p_operation AND tier = p_tier AND cost_multiple IS NOT NULL AND team = p_team
    ORDER BY closed_at DESC LIMIT 100) AS newest;
END $body$;

-- Turns the purchases among these that are open into unknown outcomes, except those that run at the service. Each counts at its likely price:
-- see lostMicros of store/spend/spend-sums.
CREATE FUNCTION ${schema}.lose(p_ids uuid[], p_reason text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  lost ${schema}.purchases[];
  one ${schema}.purchases;
  micros bigint;
BEGIN
  WITH changed AS (
    UPDATE ${schema}.purchases SET state = 'unknown', reason = p_reason, closed_at = clock_timestamp()
    WHERE id = ANY (p_ids) AND state = 'open' AND note IS NULL RETURNING *)
  SELECT array_agg(p) INTO lost FROM (SELECT * FROM changed) AS p;
  INSERT INTO ${schema}.lost_units AS l (key, times, purchase)
  SELECT k, count(*), (array_agg(p.id ORDER BY p.at DESC))[1] FROM unnest(lost) AS p, unnest(p.keys) AS k GROUP BY k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET times = l.times + excluded.times, purchase = excluded.purchase;
  FOR one IN SELECT * FROM unnest(lost) LOOP
    SELECT CASE WHEN answers < 3 THEN one.estimate_micros
      ELSE least(one.estimate_micros, floor(one.list_micros * greatest(1, multiple) + 0.5)::bigint) END INTO micros
    FROM ${schema}.observed(one.team, one.job, one.day, one.operation, one.tier);
    UPDATE ${schema}.purchases SET estimate_micros = micros WHERE id = one.id;
    PERFORM ${schema}.add_spend(one, 0, 0, 0, -one.estimate_micros, 1, micros);
  END LOOP;
END $body$;

CREATE FUNCTION ${schema}.end_runs(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  DELETE FROM ${schema}.runs WHERE key = ANY (p.keys) AND purchase = p.id;
$body$;

CREATE FUNCTION ${schema}.forget_lost(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  UPDATE ${schema}.lost_units SET times = times - 1 WHERE key = ANY (p.keys);
  DELETE FROM ${schema}.lost_units WHERE key = ANY (p.keys) AND times <= 0;
$body$;

-- Records the run of a purchase; false if there is no such purchase. An unknown outcome becomes open again. The caller has claimed the
-- unit.
CREATE FUNCTION ${schema}.note(p_id uuid, p_process uuid, p_owner text, p_note text) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  p ${schema}.purchases;
BEGIN
  PERFORM ${schema}.check_process(p_process);
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF p.state NOT IN ('open', 'unknown') THEN RETURN true; END IF;
  UPDATE ${schema}.purchases
  SET state = 'open', note = p_note, owner = p_owner, process = p_process, reason = NULL, closed_at = NULL
  WHERE id = p_id;
  IF p.state = 'unknown' THEN
    PERFORM ${schema}.add_spend(p, 0, 0, 0, p.estimate_micros, -1, -p.estimate_micros);
    PERFORM ${schema}.forget_lost(p);
  END IF;
  INSERT INTO ${schema}.runs (key, purchase) SELECT k, p_id FROM unnest(p.keys) AS k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET purchase = excluded.purchase;
  RETURN true;
END $body$;
`;
