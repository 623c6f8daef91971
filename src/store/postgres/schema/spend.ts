/** Sums of costs, and caps. */
export const spend = (schema: string): string => `
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
