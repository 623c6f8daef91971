/** Landed units. */
export const units = (schema: string): string => `
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

${forgotten(schema)}
-- The landed units among these keys that satisfy the freshness rules.
CREATE FUNCTION ${schema}.landed(p_keys uuid[], p_fresh_after double precision, p_retry_tags text[],
  p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text)
LANGUAGE sql STABLE SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT u.key, u.fetched_ms, u.status, u.error_tag FROM ${schema}.units u
  WHERE u.key = ANY (p_keys) AND ${schema}.counts(u.fetched_ms, u.status, u.error_tag, u.body IS NULL, p_fresh_after,
    p_retry_tags, p_retry_before, p_rebuy_before)
$body$;
`;

/** Forgotten units, and the functions that respect them: see `core/purchase/forgotten`. */
const forgotten = (schema: string): string => `
CREATE INDEX IF NOT EXISTS units_forgotten ON ${schema}.units (key) WHERE error_tag = 'FORGOTTEN';

-- Whether a landed answer satisfies the freshness rules. A forgotten unit satisfies all.
CREATE OR REPLACE FUNCTION ${schema}.counts(p_fetched_ms double precision, p_status text, p_tag text, p_gone boolean,
  p_fresh_after double precision, p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT p_tag IS NOT DISTINCT FROM 'FORGOTTEN' OR (p_fresh_after IS NULL OR p_fetched_ms >= p_fresh_after)
    AND NOT (p_retry_tags IS NOT NULL AND p_status = 'error' AND coalesce(p_tag, '') = ANY (p_retry_tags)
      AND p_fetched_ms < coalesce(p_retry_before, 0))
    AND NOT (p_rebuy_before IS NOT NULL AND p_gone AND p_fetched_ms < p_rebuy_before)
$body$;

-- Writes units, except those that were bought by another request in the meantime or have a newer answer, and except forgotten units. Returns the number of units
-- that were bought by another request. p_bodies: one line for each unit.
CREATE OR REPLACE FUNCTION ${schema}.put_units(p_purchase uuid, p_segment text, p_bought boolean, p_since timestamptz,
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
