import type { Migration } from '../../../postgres/index.js';

/**
 * Only a process that has been connected for a while may remove other processes as dead. After an outage, other processes may still be
 * reconnecting; a new process can't know that.
 */
export const inTouch: Migration = {
  name: '0007-in-touch',
  sql: (schema) => `
ALTER TABLE ${schema}.processes ADD COLUMN in_touch_since timestamptz NOT NULL DEFAULT clock_timestamp();
COMMENT ON COLUMN ${schema}.processes.in_touch_since IS 'Since when its heartbeats have come in time; only after half of dead_after may it remove others as dead';

CREATE OR REPLACE FUNCTION ${schema}.register_process(p_id uuid, p_host text, p_pid integer, p_dead_after_ms double precision) RETURNS void
LANGUAGE sql AS $body$
  INSERT INTO ${schema}.processes (id, host, pid, dead_after)
  VALUES (p_id, p_host, p_pid, p_dead_after_ms * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp();
$body$;

-- A heartbeat; false if the process counts as dead.
CREATE OR REPLACE FUNCTION ${schema}.beat(p_id uuid) RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
  beaten ${schema}.processes;
BEGIN
  UPDATE ${schema}.processes SET seen_at = clock_timestamp(),
    in_touch_since = CASE WHEN clock_timestamp() - seen_at < dead_after / 2 THEN in_touch_since ELSE clock_timestamp() END
  WHERE id = p_id RETURNING * INTO beaten;
  IF NOT FOUND THEN RETURN false; END IF;
  IF beaten.seen_at - beaten.in_touch_since >= beaten.dead_after / 2 THEN
    PERFORM ${schema}.reap();
  END IF;
  RETURN true;
END $body$;
`,
};
