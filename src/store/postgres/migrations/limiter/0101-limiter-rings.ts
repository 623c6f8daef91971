import type { Migration } from '../../../../postgres/index.js';

/**
 * Tables of the team's limit, and the rule of the ring: the functions of `core/limiter/ring` in SQL, with the same test cases. Times are Unix
 * milliseconds of the database's clock.
 *
 * Buckets are unlogged, so there are no buckets after a crash. A new bucket starts with a full ring, because the starts of the last second
 * are not known. Blocks are logged.
 */
export const limiterRings: Migration = {
  name: '0101-limiter-rings',
  sql: (schema) => `
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
  turns ${schema}.limiter_turn[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (scope, name)
) WITH (fillfactor = 30);
COMMENT ON TABLE ${schema}.limiter_buckets IS 'Buckets of rate limits: the start times of their last units, and the queues that wait.';

CREATE TABLE ${schema}.limiter_blocks (
  team text COLLATE "C" PRIMARY KEY,
  until_ms double precision NOT NULL,
  span_ms double precision NOT NULL,
  reason text NOT NULL
);
COMMENT ON TABLE ${schema}.limiter_blocks IS 'Blocks of teams by the service: until when, and for how long when the block began.';

CREATE FUNCTION ${schema}.now_ms() RETURNS double precision
LANGUAGE sql VOLATILE AS $body$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision $body$;

CREATE FUNCTION ${schema}.ring_earliest(p_ring double precision[], p_limit integer, p_margin double precision,
  p_now double precision, p_weight integer, p_calls integer, p_units integer) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE AS $body$
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
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
  units integer := greatest(0, least(p_weight, p_limit));
BEGIN
  RETURN p_ring[units + 1:] || array_fill(p_start, ARRAY[units]);
END $body$;

CREATE FUNCTION ${schema}.ring_late(p_ring double precision[], p_planned double precision, p_actual double precision,
  p_weight integer) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE AS $body$
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
LANGUAGE plpgsql IMMUTABLE AS $body$
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
`,
};
