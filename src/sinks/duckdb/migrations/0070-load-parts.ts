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
COMMENT ON COLUMN load_parts.first_row IS 'Row numbers of the first and the last row that the part had to load.';
COMMENT ON COLUMN load_parts.rows IS 'Rows that were loaded.';
`,
} as const;
