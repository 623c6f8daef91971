export const MIGRATIONS_TABLE = 'searchflow_migrations';

export type SchemaKind = 'store' | 'warehouse';

/** Name of the schema of version 0.2.0, the first release. Names of steps that only add columns begin with it: other versions continue. */
export const baselineOf = (kind: SchemaKind): string => `0.2.0-${kind}`;

/** Returns COMMENT statements for the table of migrations. `prefix`: the schema with its dot, or nothing. */
export function migrationsComments(prefix = ''): string {
  const table = `${prefix}${MIGRATIONS_TABLE}`;
  return `
COMMENT ON TABLE ${table} IS 'Migrations that were applied here; searchflow reads it before it applies the next one. Each row: one migration.';
COMMENT ON COLUMN ${table}.name IS 'Name of the migration.';
COMMENT ON COLUMN ${table}.applied_at IS 'When it was applied, UTC.';`;
}
