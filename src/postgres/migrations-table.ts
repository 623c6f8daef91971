/** The table of the migrations that were applied to a database. */
export const MIGRATIONS_TABLE = 'searchflow_migrations';

/** Returns COMMENT statements for the table of migrations. `at`: its column of times; `prefix`: the schema with its dot, or nothing. */
export function migrationsComments(at: string, prefix = ''): string {
  const table = `${prefix}${MIGRATIONS_TABLE}`;
  return `
COMMENT ON TABLE ${table} IS 'Migrations that were applied here; searchflow reads it before it applies the next one.';
COMMENT ON COLUMN ${table}.name IS 'Name of the migration.';
COMMENT ON COLUMN ${table}.${at} IS 'When it was applied, UTC.';`;
}
