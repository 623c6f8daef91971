import type { Migration } from '../../../postgres/index.js';

/**
 * Observed costs of answers. These costs decide the amount that a request takes from a cap. The rule is `reserve` of
 * `store/spend/budget-check` in SQL, with the same contract tests.
 */
export const observedPrices: Migration = {
  name: '0006-observed-prices',
  sql: (schema) => `
ALTER TABLE ${schema}.purchases
  ADD COLUMN tier text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN list_micros bigint,
  ADD COLUMN cost_multiple double precision;
COMMENT ON COLUMN ${schema}.purchases.estimate_micros IS 'Amount that it takes from caps until it is answered';
COMMENT ON COLUMN ${schema}.purchases.tier IS 'Setting that decides its price together with the operation, such as the effort of an agent run';
COMMENT ON COLUMN ${schema}.purchases.list_micros IS 'Its price by the price table; null: the same as estimate_micros';
COMMENT ON COLUMN ${schema}.purchases.cost_multiple IS 'Cost of its answer as a multiple of the list price; null: not known';
CREATE INDEX purchases_priced ON ${schema}.purchases (job, day, operation, tier, closed_at) WHERE cost_multiple IS NOT NULL;
CREATE INDEX purchases_open_job ON ${schema}.purchases (job) WHERE state = 'open';

-- Like intend, which older workers call. Under a cap a request takes the observed cost of answers if that cost is higher than its estimate,
-- and waits while the first requests of its kind are in flight. Writes an intent and returns no row. If the purchase would exceed a cap,
-- writes nothing and returns that cap. If it would exceed several caps, returns the cap with the least left.
CREATE FUNCTION ${schema}.reserve(p_id uuid, p_process uuid, p_team text, p_owner text, p_book text, p_operation text, p_tier text,
  p_keys uuid[], p_estimate bigint, p_list bigint, p_deadline_ms double precision, p_cap_job text, p_cap bigint)
RETURNS TABLE (scope text, cap double precision, remaining double precision, open double precision, resets_ms double precision,
  multiple double precision, unproven boolean)
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
#variable_conflict use_column
DECLARE
  bound ${schema}.caps;
  p ${schema}.purchases;
  of_job text := split_part(p_book, '/', 1);
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
    SELECT count(*), coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY cost_multiple), 0) INTO answers, observed
    FROM (SELECT cost_multiple FROM ${schema}.purchases
      WHERE job = of_job AND day = today AND operation = p_operation AND tier = p_tier AND cost_multiple IS NOT NULL AND team = p_team
      ORDER BY closed_at DESC LIMIT 100) AS newest;
    micros := greatest(p_estimate, floor(p_list * observed + 0.5)::bigint);
    waits := p_estimate > 0 AND answers < 3 AND (SELECT count(*) >= 2 FROM ${schema}.purchases
      WHERE state = 'open' AND job = of_job AND operation = p_operation AND tier = p_tier AND team = p_team
        AND at > clock_timestamp() - interval '1 day');
    RETURN QUERY
      WITH sums (nth, scope, cap, taken, open, resets) AS (
        SELECT 1, 'job', p_cap, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0), NULL::date
        FROM ${schema}.spend WHERE job = p_cap_job AND p_cap IS NOT NULL
        UNION ALL
        SELECT 2, 'day', bound.day_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0), today + 1
        FROM ${schema}.spend WHERE team = bound.team AND day = today
        UNION ALL
        SELECT 3, 'month', bound.month_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0),
          (month + interval '1 month')::date
        FROM ${schema}.spend WHERE team = bound.team AND day >= month AND bound.month_micros IS NOT NULL
      )
      SELECT scope, cap::double precision, greatest(0, cap - taken)::double precision, open::double precision,
        (extract(epoch FROM resets::timestamp AT TIME ZONE 'UTC') * 1000)::double precision,
        observed, micros <= greatest(0, cap - taken)
      FROM sums WHERE cap IS NOT NULL AND (waits OR micros > greatest(0, cap - taken))
      ORDER BY greatest(0, cap - taken), nth LIMIT 1;
    IF FOUND THEN RETURN; END IF;
  END IF;
  INSERT INTO ${schema}.purchases (id, team, job, book, operation, tier, owner, process, keys, state, estimate_micros, list_micros, day,
    deadline_ms)
  VALUES (p_id, p_team, of_job, p_book, p_operation, p_tier, p_owner, p_process, p_keys, 'open', micros, p_list, today, p_deadline_ms)
  RETURNING * INTO p;
  PERFORM ${schema}.add_spend(p, 0, 0, 0, micros, 0, 0);
END $body$;

-- Cost of an answer as a multiple of its list price; null if it is not known. Failed units are free.
CREATE FUNCTION ${schema}.cost_multiple(p ${schema}.purchases, p_cost bigint, p_statuses text[]) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE WHEN list > 0 AND (p_cost > 0 OR charged > 0)
    THEN p_cost::double precision * units / (list * CASE WHEN charged > 0 THEN charged ELSE units END) END
  FROM (SELECT coalesce(p.list_micros, p.estimate_micros)::double precision AS list, cardinality(p_statuses) AS units,
    cardinality(array_positions(p_statuses, 'success')) AS charged) AS answer
$body$;

-- Writes an answer. Returns the number of released keys, or null if there is no such intent. A late answer, whose intent is already an
-- unknown outcome, also ends newer claims of its units, which need not be bought again.
CREATE OR REPLACE FUNCTION ${schema}.land(p_id uuid, p_request_id text, p_fetched_ms double precision, p_cost bigint, p_keys uuid[],
  p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  p ${schema}.purchases;
  twice integer;
  given integer;
BEGIN
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p.state IN ('landed', 'settled') THEN RETURN 0; END IF;
  twice := ${schema}.put_units(p_id, p.book, true, p.at, p_fetched_ms, p_keys, p_statuses, p_tags, p_bodies);
  UPDATE ${schema}.purchases
  SET state = 'landed', closed_at = clock_timestamp(), cost_micros = p_cost, units = cardinality(p_keys),
    cost_multiple = ${schema}.cost_multiple(p, p_cost, p_statuses), request_id = p_request_id, bought_twice = twice,
    reason = CASE WHEN twice > 0 THEN
      format('bought twice: %s of its %s unit(s) landed from another request while it was written off; its cost is counted',
        twice, cardinality(p_keys)) END
  WHERE id = p_id;
  PERFORM ${schema}.end_runs(p);
  PERFORM ${schema}.add_spend(p, 1, cardinality(p_keys), p_cost,
    CASE p.state WHEN 'open' THEN -p.estimate_micros ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -1 ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -p.estimate_micros ELSE 0 END);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND (owner = p.owner OR p.state <> 'open');
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;
`,
};
