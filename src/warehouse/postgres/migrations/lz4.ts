/**
 * Statement that sets the compression of columns to lz4, which is several times as fast as the default. The statement changes nothing if
 * the server was built without lz4. `schema` is already quoted. It may contain `$$`, so the block has a named dollar quote.
 */
export function lz4(schema: string, columns: readonly (readonly [table: string, column: string])[]): string {
  const prefix = `${schema.replaceAll("'", "''")}.`;
  return `DO $body$ BEGIN
  ${columns.map(([table, column]) => `EXECUTE 'ALTER TABLE ${prefix}${table} ALTER COLUMN ${column} SET COMPRESSION lz4';`).join('\n  ')}
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value OR syntax_error THEN NULL;
END $body$;`;
}
