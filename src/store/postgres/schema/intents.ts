/**
 * Intents, and what a request takes from a cap: `reserve` of `store/spend/budget-check` and `isLeftRunning` of the file journal in SQL, with
 * the same contract tests.
 */
export const intents = (schema: string): string => `
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
    SELECT count(*), coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY cost_multiple), 0) INTO answers, observed
    FROM (SELECT cost_multiple FROM ${schema}.purchases
      WHERE job = of_job AND day = today AND operation = p_operation AND tier = p_tier AND cost_multiple IS NOT NULL AND team = p_team
      ORDER BY closed_at DESC LIMIT 100) AS newest;
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
