/**
 * Requests for turns: `ask` of `core/limiter/rate-queue` in SQL, with the same test cases, and the team's block. One call is one statement,
 * which locks its buckets in a fixed order.
 */
export const limiterTurns = (schema: string): string => `
CREATE TABLE ${schema}.limiter_blocks (
  team text COLLATE "C" PRIMARY KEY,
  until_ms double precision NOT NULL,
  span_ms double precision NOT NULL,
  reason text NOT NULL
);
COMMENT ON TABLE ${schema}.limiter_blocks IS 'Blocks of teams by the service: until when, and for how long when the block began.';

-- Earliest start of a call on one bucket, not before p_from, and whether all queues ahead of the call let it pass.
CREATE FUNCTION ${schema}.limiter_chance(b ${schema}.limiter_buckets, p_limit integer, p_ahead ${schema}.limiter_turn[],
  p_from double precision, p_weight integer, OUT start double precision, OUT first boolean)
LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  span double precision := (${schema}.limiter_margin(b, p_from)).margin;
  turn ${schema}.limiter_turn;
  calls integer := 0;
  units integer := 0;
BEGIN
  FOREACH turn IN ARRAY p_ahead LOOP
    CONTINUE WHEN calls = 0 AND p_weight = 1 AND turn.weight > 1 AND turn.passed < 3
      AND ${schema}.ring_earliest(b.ring, p_limit, span, p_from, 1, 0, 0)
        < ${schema}.ring_earliest(b.ring, p_limit, span, p_from, turn.weight, 0, 0);
    calls := calls + 1;
    units := units + least(turn.weight, p_limit);
  END LOOP;
  start := ${schema}.ring_earliest(b.ring, p_limit, span, p_from, p_weight, calls, units);
  first := calls = 0;
END $body$;

CREATE FUNCTION ${schema}.limiter_passed(p_turns ${schema}.limiter_turn[]) RETURNS ${schema}.limiter_turn[]
LANGUAGE sql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT ARRAY(SELECT ROW(turn.who, turn.weight, turn.passed + 1, turn.due, turn.waiting)::${schema}.limiter_turn
    FROM unnest(p_turns) AS turn)
$body$;

CREATE FUNCTION ${schema}.limiter_look(p_team text, p_now double precision DEFAULT NULL, OUT now_ms double precision,
  OUT blocked_until double precision, OUT block_reason text, OUT blocked_since double precision)
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  now_ms := coalesce(p_now, ${schema}.now_ms());
  -- Never longer than the original block, even if the clock was set back.
  SELECT least(until_ms, now_ms + span_ms), reason, until_ms - span_ms INTO blocked_until, block_reason, blocked_since
    FROM ${schema}.limiter_blocks WHERE team = p_team AND until_ms > now_ms;
END $body$;

CREATE FUNCTION ${schema}.limiter_ask(p_team text, p_scopes text[], p_names text[], p_limits integer[], p_who text,
  p_weight integer, p_count integer, p_margin double precision, p_queued integer, p_now double precision DEFAULT NULL,
  OUT starts double precision[], OUT come_at double precision, OUT now_ms double precision,
  OUT blocked_until double precision, OUT block_reason text, OUT blocked_since double precision)
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  many integer := cardinality(p_names);
  held ${schema}.limiter_buckets[] := '{}';
  b ${schema}.limiter_buckets;
  chance record;
  at integer[];
  own_start double precision[];
  own_passed integer[];
  most integer := p_count;
  earliest double precision;
  start double precision;
  first boolean;
  waiting integer;
BEGIN
  FOR i IN 1..many LOOP
    LOOP
      SELECT * INTO b FROM ${schema}.limiter_buckets WHERE scope = p_scopes[i] AND name = p_names[i] FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO ${schema}.limiter_buckets (scope, name) VALUES (p_scopes[i], p_names[i]) ON CONFLICT DO NOTHING;
    END LOOP;
    held[i] := b;
  END LOOP;
  SELECT * INTO now_ms, blocked_until, block_reason, blocked_since FROM ${schema}.limiter_look(p_team, p_now);
  starts := '{}';
  IF p_weight <= 0 THEN
    IF blocked_until IS NULL THEN starts := array_fill(now_ms, ARRAY[p_count]); END IF;
    come_at := coalesce(blocked_until, now_ms);
    RETURN;
  END IF;

  FOR i IN 1..many LOOP
    b := held[i];
    b.ring := ${schema}.ring_resize(b.ring, p_limits[i], now_ms);
    b.margin := greatest(p_margin, b.margin);
    IF p_queued > 0 THEN
      b.slack := least(0.24, (${schema}.limiter_margin(b, now_ms)).slack + 0.01 * p_queued);
      b.slack_at := now_ms;
    END IF;
    b.turns := ARRAY(SELECT turn FROM unnest(b.turns) AS turn WHERE turn.due + 100 >= now_ms);
    -- Removes the caller's own entry; at[i] is its position.
    at[i] := cardinality(b.turns) + 1;
    own_passed[i] := 0;
    FOR place IN 1..cardinality(b.turns) LOOP
      CONTINUE WHEN b.turns[place].who <> p_who;
      at[i] := place;
      own_passed[i] := b.turns[place].passed;
      b.turns := b.turns[:place - 1] || b.turns[place + 1:];
      EXIT;
    END LOOP;
    IF cardinality(b.turns) > 0 THEN most := least(most, greatest(1, p_limits[i] / (4 * (cardinality(b.turns) + 1)))); END IF;
    held[i] := b;
  END LOOP;

  earliest := greatest(now_ms, blocked_until);
  LOOP
    start := earliest;
    first := true;
    FOR i IN 1..many LOOP
      b := held[i];
      chance := ${schema}.limiter_chance(b, p_limits[i], b.turns[:at[i] - 1], earliest, p_weight);
      start := greatest(start, chance.start);
      first := first AND chance.first;
    END LOOP;
    EXIT WHEN cardinality(starts) = most OR start > now_ms + 250 OR NOT first;
    FOR i IN 1..many LOOP
      b := held[i];
      b.turns := ${schema}.limiter_passed(b.turns[:at[i] - 1]) || b.turns[at[i]:];
      b.ring := ${schema}.ring_book(b.ring, p_limits[i], start, p_weight);
      b.margin := greatest(p_margin, b.margin - 0.0001);
      held[i] := b;
    END LOOP;
    starts := starts || start;
  END LOOP;

  waiting := p_count - cardinality(starts);
  start := earliest;
  first := true;
  FOR i IN 1..many LOOP
    b := held[i];
    -- A queue that got a start goes to the end.
    IF cardinality(starts) > 0 THEN at[i] := cardinality(b.turns) + 1; END IF;
    chance := ${schema}.limiter_chance(b, p_limits[i], b.turns[:at[i] - 1], earliest, p_weight);
    own_start[i] := chance.start;
    start := greatest(start, chance.start);
    first := first AND chance.first;
  END LOOP;
  come_at := start - 250;
  IF NOT first THEN come_at := greatest(come_at, now_ms + 20); END IF;
  FOR i IN 1..many LOOP
    CONTINUE WHEN waiting = 0 OR own_start[i] <> start;
    b := held[i];
    b.turns := b.turns[:at[i] - 1] || ROW(p_who, p_weight, own_passed[i], least(come_at, now_ms + 4000), waiting)::${schema}.limiter_turn
      || b.turns[at[i]:];
    held[i] := b;
  END LOOP;

  FOREACH b IN ARRAY held LOOP
    UPDATE ${schema}.limiter_buckets
      SET ring = b.ring, margin = b.margin, slack = b.slack, slack_at = b.slack_at, turns = b.turns
      WHERE scope = b.scope AND name = b.name;
  END LOOP;
END $body$;

-- A shorter block never ends a longer one. All waiting processes are notified.
CREATE FUNCTION ${schema}.limiter_block(p_team text, p_until double precision, p_reason text) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  INSERT INTO ${schema}.limiter_blocks AS known (team, until_ms, span_ms, reason)
    VALUES (p_team, p_until, p_until - ${schema}.now_ms(), p_reason)
    ON CONFLICT (team) DO UPDATE SET until_ms = excluded.until_ms, span_ms = excluded.span_ms, reason = excluded.reason
    WHERE excluded.until_ms > least(known.until_ms, ${schema}.now_ms() + known.span_ms);
  PERFORM pg_notify('searchflow_limiter', p_team);
END $body$;

-- Ends the block of a team. All waiting processes are notified.
CREATE FUNCTION ${schema}.limiter_unblock(p_team text) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  DELETE FROM ${schema}.limiter_blocks WHERE team = p_team;
  PERFORM pg_notify('searchflow_limiter', p_team);
END $body$;
`;
