/**
 * Buckets of the team's limit, and the rules of the ring and of the guard: the functions of `core/limiter/ring` and `refused` of
 * `core/limiter/rate-queue` in SQL, with the same test cases. Times are Unix milliseconds of the database's clock.
 *
 * Buckets are unlogged, so there are no buckets after a crash. A new bucket starts with a full ring, because the starts of the last second
 * are not known. Blocks are logged.
 */
export const limiterBuckets = (schema: string): string => `
CREATE TYPE ${schema}.limiter_turn AS (
  who text, weight integer, passed integer, due double precision, waiting integer
);

CREATE UNLOGGED TABLE ${schema}.limiter_buckets (
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  ring double precision[] NOT NULL DEFAULT '{}',
  margin double precision NOT NULL DEFAULT 0,
  slack double precision NOT NULL DEFAULT 0,
  slack_at double precision NOT NULL DEFAULT 0,
  guard double precision NOT NULL DEFAULT 0,
  guard_at double precision NOT NULL DEFAULT 0,
  turns ${schema}.limiter_turn[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (scope, name)
) WITH (fillfactor = 30);
COMMENT ON TABLE ${schema}.limiter_buckets IS 'Buckets of rate limits: the start times of their last units, and the queues that wait.';
COMMENT ON COLUMN ${schema}.limiter_buckets.guard IS 'Part of a second added to each window at guard_at after refused calls; it decreases over time';

CREATE FUNCTION ${schema}.now_ms() RETURNS double precision
LANGUAGE sql VOLATILE SET search_path TO pg_catalog, pg_temp AS $body$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision $body$;

CREATE FUNCTION ${schema}.ring_earliest(p_ring double precision[], p_limit integer, p_margin double precision,
  p_now double precision, p_weight integer, p_calls integer, p_units integer) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  oldest integer := cardinality(p_ring) - p_limit + 1;
  before integer := least(p_weight, p_limit) + p_units - 1;
  span double precision := 1000 * (1 + p_margin);
  gap double precision := 600::double precision / p_limit;
BEGIN
  IF p_weight <= 0 THEN RETURN p_now; END IF;
  RETURN greatest(
    p_ring[oldest + before % p_limit] + span * (1 + before / p_limit),
    greatest(p_now, p_ring[oldest] + span, p_ring[cardinality(p_ring)] + gap) + gap * p_calls);
END $body$;

CREATE FUNCTION ${schema}.ring_book(p_ring double precision[], p_limit integer, p_start double precision, p_weight integer)
RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  units integer := greatest(0, least(p_weight, p_limit));
BEGIN
  RETURN p_ring[units + 1:] || array_fill(p_start, ARRAY[units]);
END $body$;

CREATE FUNCTION ${schema}.ring_late(p_ring double precision[], p_planned double precision, p_actual double precision,
  p_weight integer) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  ring double precision[] := p_ring;
  at integer;
BEGIN
  FOR unit IN 1..p_weight LOOP
    at := array_position(ring, p_planned);
    EXIT WHEN at IS NULL;
    ring := ring[:at - 1] || ring[at + 1:] || p_actual;
  END LOOP;
  RETURN ARRAY(SELECT time FROM unnest(ring) AS time ORDER BY time);
END $body$;

CREATE FUNCTION ${schema}.ring_resize(p_ring double precision[], p_limit integer, p_now double precision)
RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  ring double precision[] := p_ring;
BEGIN
  IF ring[cardinality(ring)] > p_now + 1000 THEN
    ring := ARRAY(SELECT least(time, p_now) FROM unnest(ring) AS time ORDER BY time);
  END IF;
  IF cardinality(ring) < p_limit THEN
    ring := array_fill(coalesce(ring[1], p_now), ARRAY[p_limit - cardinality(ring)]) || ring;
  END IF;
  WHILE cardinality(ring) > p_limit AND ring[2] < p_now - 2000 LOOP
    ring := ring[2:];
  END LOOP;
  RETURN ring;
END $body$;

CREATE FUNCTION ${schema}.limiter_guard(b ${schema}.limiter_buckets, p_now double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT greatest(0, b.guard - greatest(0, p_now - b.guard_at) * 0.03 / 1800000)
$body$;

CREATE FUNCTION ${schema}.limiter_margin(b ${schema}.limiter_buckets, p_now double precision,
  OUT slack double precision, OUT margin double precision)
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  slack := greatest(0, b.slack - greatest(0, p_now - b.slack_at) * 0.24 / 30000);
  margin := b.margin + ${schema}.limiter_guard(b, p_now) + slack;
END $body$;

-- Records that a call of these buckets was refused for its rate.
CREATE FUNCTION ${schema}.limiter_refused(p_scopes text[], p_names text[], p_limits integer[],
  p_now double precision DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  at_ms double precision := coalesce(p_now, ${schema}.now_ms());
BEGIN
  FOR i IN 1..cardinality(p_names) LOOP
    UPDATE ${schema}.limiter_buckets AS b
      SET guard = least(0.03, ${schema}.limiter_guard(b, at_ms) + 0.0075), guard_at = at_ms
      WHERE scope = p_scopes[i] AND name = p_names[i] AND cardinality(ring) >= p_limits[i]
        AND ring[cardinality(ring)] - ring[cardinality(ring) - p_limits[i] + 1]
          <= 1000 * (1 + (${schema}.limiter_margin(b, at_ms)).margin);
  END LOOP;
END $body$;

CREATE FUNCTION ${schema}.limiter_late(p_scopes text[], p_names text[], p_planned double precision,
  p_actual double precision, p_weight integer) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  FOR i IN 1..cardinality(p_names) LOOP
    UPDATE ${schema}.limiter_buckets SET ring = ${schema}.ring_late(ring, p_planned, p_actual, p_weight)
      WHERE scope = p_scopes[i] AND name = p_names[i];
  END LOOP;
END $body$;
`;
