/**
 * Claims of units. Error SF002: the owner has lost its claims. Here and in other functions sequential scans are off, because a plan that was
 * made while the tables were empty is kept for the session.
 */
export const claims = (schema: string): string => `
CREATE TABLE ${schema}.claims (
  key uuid PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL
);
CREATE INDEX claims_owner ON ${schema}.claims (owner);
COMMENT ON TABLE ${schema}.claims IS 'Units that are being bought now.';

CREATE FUNCTION ${schema}.check_claims(p_owner text, p_keys uuid[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  -- Checked by keys and not by all claims of the owner.
  IF (SELECT count(*) FILTER (WHERE owner = p_owner) FROM ${schema}.claims WHERE key = ANY (p_keys)) < cardinality(p_keys) THEN
    RAISE EXCEPTION 'the owner does not hold these units' USING ERRCODE = 'SF002';
  END IF;
END $body$;

-- Returns the landed units and those that the owner has now claimed; all others are claimed by other owners. A unit of a run at the service
-- is claimed with its purchase, even if the unit landed before.
CREATE FUNCTION ${schema}.claim(p_process uuid, p_owner text, p_keys uuid[], p_fresh_after double precision,
  p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text, unknowns integer,
  started uuid, started_note text, started_ms double precision, lost uuid, lost_ms double precision, lost_deadline_ms double precision)
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
#variable_conflict use_column
DECLARE
  landed uuid[];
  gained uuid[];
  late uuid[];
BEGIN
  PERFORM ${schema}.check_process(p_process);
  landed := ARRAY(
    SELECT u.key FROM ${schema}.landed(p_keys, p_fresh_after, p_retry_tags, p_retry_before, p_rebuy_before) u
    WHERE NOT EXISTS (SELECT FROM ${schema}.claims c WHERE c.key = u.key)
      AND NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.key = u.key));
  -- In the order of keys, as everywhere, so that two callers with the same keys do not deadlock.
  WITH wanted AS (SELECT unnest(p_keys) AS k EXCEPT SELECT unnest(landed)),
  put AS (
    INSERT INTO ${schema}.claims (key, owner, process) SELECT k, p_owner, p_process FROM wanted ORDER BY k
    ON CONFLICT DO NOTHING RETURNING key)
  SELECT array_agg(key) INTO gained FROM put;
  -- Another owner may have landed a key between the two statements above.
  late := ARRAY(
    SELECT u.key FROM ${schema}.landed(gained, p_fresh_after, p_retry_tags, p_retry_before, p_rebuy_before) u
    WHERE NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.key = u.key));
  IF late <> '{}' THEN
    DELETE FROM ${schema}.claims WHERE key = ANY (late);
  END IF;
  UPDATE ${schema}.purchases SET owner = p_owner, process = p_process
  WHERE state = 'open' AND owner <> p_owner AND id IN (
    SELECT r.purchase FROM ${schema}.runs r JOIN ${schema}.claims c ON c.key = r.key
    WHERE r.key = ANY (gained) AND c.owner = p_owner);
  RETURN QUERY
    SELECT u.key, u.fetched_ms, u.status, u.error_tag, 0, NULL::uuid, NULL, NULL::double precision, NULL::uuid,
      NULL::double precision, NULL::double precision
    FROM ${schema}.units u WHERE u.key = ANY (landed || late)
    UNION ALL
    SELECT c.key, NULL, NULL, NULL, coalesce(l.times, 0),
      s.id, s.note, floor(extract(epoch FROM s.at) * 1000)::double precision,
      p.id, floor(extract(epoch FROM p.at) * 1000)::double precision, p.deadline_ms
    FROM ${schema}.claims c
    LEFT JOIN ${schema}.runs r ON r.key = c.key
    LEFT JOIN ${schema}.purchases s ON s.id = r.purchase AND s.state = 'open'
    LEFT JOIN ${schema}.lost_units l ON l.key = c.key
    LEFT JOIN ${schema}.purchases p ON p.id = l.purchase AND p.state = 'unknown'
    WHERE c.key = ANY (p_keys) AND c.owner = p_owner;
END $body$;

-- Releases the claims of an owner; its open intents become unknown outcomes. Returns the number of released keys.
CREATE FUNCTION ${schema}.release(p_owner text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  given integer;
BEGIN
  PERFORM ${schema}.lose(
    ARRAY(SELECT id FROM ${schema}.purchases WHERE owner = p_owner AND state = 'open' ORDER BY id),
    'given up before an answer landed');
  DELETE FROM ${schema}.claims WHERE owner = p_owner;
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;
`;
