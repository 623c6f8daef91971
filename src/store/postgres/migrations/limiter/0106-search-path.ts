import type { Migration } from '../../../../postgres/index.js';

/**
 * All functions of the store resolve unqualified names only in PostgreSQL's own schema, regardless of the session. The store's own names
 * are qualified. A later migration that creates or replaces a function must set its search_path itself.
 */
export const searchPath: Migration = {
  name: '0106-search-path',
  sql: (schema) => `
DO $body$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = '${schema.replaceAll("'", "''")}'::regnamespace AND p.prokind = 'f' AND l.lanname IN ('sql', 'plpgsql')
      AND p.proowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO pg_catalog, pg_temp', f);
  END LOOP;
END $body$;
`,
};
