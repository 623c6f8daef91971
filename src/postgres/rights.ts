import type { PgTransaction } from './postgres.js';

/**
 * Rights that this user lacks to load rows, in the words of GRANT: on the tables of a schema (null: all of its tables), on the schema and
 * on the database.
 */
export async function missingRights(
  postgres: Pick<PgTransaction, 'query'>,
  schema: string,
  tables: readonly string[] | null,
): Promise<string[]> {
  const rights = await postgres.query<{ right: string }>(
    `SELECT r AS right FROM (
       SELECT p || ' ON ' || c.relname AS r, has_table_privilege(c.oid, p) AS has
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
       WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND ($2::text[] IS NULL OR c.relname = ANY($2))
       UNION ALL SELECT 'CREATE ON SCHEMA ' || quote_ident($1), has_schema_privilege($1, 'CREATE')
       UNION ALL SELECT 'TEMPORARY ON DATABASE ' || quote_ident(current_database()),
         has_database_privilege(current_database(), 'TEMPORARY')) AS rights
     WHERE NOT has`,
    [schema, tables],
  );
  return rights.map(({ right }) => right);
}
