/** Where databases remember which steps made their tables. */
export const MIGRATIONS_TABLE = 'searchflow_migrations';

/** COMMENT statements for that table. `at`: its column of times; `prefix`: the schema with its dot, or nothing. */
export function migrationsComments(at: string, prefix = ''): string {
  const table = `${prefix}${MIGRATIONS_TABLE}`;
  return `
COMMENT ON TABLE ${table} IS 'Steps that made the tables here: what searchflow itself looks at before it adds the next one.';
COMMENT ON COLUMN ${table}.name IS 'Name of the step.';
COMMENT ON COLUMN ${table}.${at} IS 'When it was taken, UTC.';`;
}
