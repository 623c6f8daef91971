/** Parts of a slice that could not be loaded at once. */
export const loadParts = {
  name: '0070-load-parts',
  sql: `
CREATE TABLE load_parts (
  job VARCHAR NOT NULL,
  generation VARCHAR NOT NULL,
  slice INTEGER NOT NULL,
  first_row BIGINT NOT NULL,
  last_row BIGINT NOT NULL,
  rows BIGINT NOT NULL,
  attempt VARCHAR NOT NULL,
  loaded_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE load_parts IS 'Parts of slices that need more memory than a warehouse is given, written in the same transaction as their rows. They make way for the line of the whole slice in load_ledger.';
COMMENT ON COLUMN load_parts.job IS 'Job of the rows.';
COMMENT ON COLUMN load_parts.generation IS 'Content and options that they were loaded for.';
COMMENT ON COLUMN load_parts.slice IS 'Slice that they are a part of.';
COMMENT ON COLUMN load_parts.first_row IS 'Number of the first row that the part had to load.';
COMMENT ON COLUMN load_parts.last_row IS 'Number of the last one.';
COMMENT ON COLUMN load_parts.attempt IS 'Who loaded it.';
COMMENT ON COLUMN load_parts.loaded_at IS 'When, UTC.';
COMMENT ON COLUMN load_parts.rows IS 'Rows that were loaded.';
`,
} as const;
