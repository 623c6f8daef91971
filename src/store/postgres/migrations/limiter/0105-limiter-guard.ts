import type { Migration } from '../../../../postgres/index.js';

/** The guard of a bucket: `refused` of `core/limiter/rate-queue` in SQL, with the same test cases. */
export const limiterGuard: Migration = {
  name: '0105-limiter-guard',
  sql: (schema) => `
ALTER TABLE ${schema}.limiter_buckets
  ADD COLUMN guard double precision NOT NULL DEFAULT 0,
  ADD COLUMN guard_at double precision NOT NULL DEFAULT 0;
COMMENT ON COLUMN ${schema}.limiter_buckets.guard IS 'Part of a second added to each window at guard_at after refused calls; it decreases over time';

CREATE FUNCTION ${schema}.limiter_guard(b ${schema}.limiter_buckets, p_now double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $body$
  SELECT greatest(0, b.guard - greatest(0, p_now - b.guard_at) * 0.03 / 1800000)
$body$;

CREATE OR REPLACE FUNCTION ${schema}.limiter_margin(b ${schema}.limiter_buckets, p_now double precision,
  OUT slack double precision, OUT margin double precision)
LANGUAGE plpgsql IMMUTABLE AS $body$
BEGIN
  slack := greatest(0, b.slack - greatest(0, p_now - b.slack_at) * 0.24 / 30000);
  margin := b.margin + ${schema}.limiter_guard(b, p_now) + slack;
END $body$;

-- Records that a call of these buckets was refused for its rate.
CREATE FUNCTION ${schema}.limiter_refused(p_scopes text[], p_names text[], p_limits integer[],
  p_now double precision DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $body$
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
`,
};
