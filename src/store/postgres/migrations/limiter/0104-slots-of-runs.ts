import type { Migration } from '../../../../postgres/index.js';

/** A run that is already in progress takes a slot even if none is free. */
export const slotsOfRuns: Migration = {
  name: '0104-slots-of-runs',
  sql: (schema) => `
CREATE FUNCTION ${schema}.slots_hold(p_team text, p_owner text, p_run_id text) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM ${schema}.slots_lock(p_team);
  INSERT INTO ${schema}.slots (team, owner, run_id) VALUES (p_team, p_owner, p_run_id)
    ON CONFLICT (team, owner) DO UPDATE SET run_id = excluded.run_id;
  PERFORM pg_notify('searchflow_slots', p_team);
END $body$;
`,
};
