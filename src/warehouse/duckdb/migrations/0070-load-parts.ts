/** The loaded parts of slices. A slice has parts if the slice could not be loaded in one transaction. */
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
COMMENT ON TABLE load_parts IS 'Loaded parts of slices that need more memory than the warehouse has, written in the same transaction as their rows. The row of the whole slice in load_ledger replaces them.';
COMMENT ON COLUMN load_parts.job IS 'Id of the job.';
COMMENT ON COLUMN load_parts.generation IS 'Generation of the slice.';
COMMENT ON COLUMN load_parts.slice IS 'Number of the slice, from 0.';
COMMENT ON COLUMN load_parts.first_row IS 'Number of the first row of the part.';
COMMENT ON COLUMN load_parts.last_row IS 'Number of the last row of the part.';
COMMENT ON COLUMN load_parts.attempt IS 'Attempt that loaded it.';
COMMENT ON COLUMN load_parts.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN load_parts.rows IS 'Number of rows that were loaded.';
`,
} as const;
