import type { Migration } from '../../../postgres/index.js';

/** Names that workflows may use because a person typed them. */
export const allowedNames: Migration = {
  name: '0011-allowed',
  sql: (schema) => `
CREATE TABLE ${schema}.allowed (
  field text NOT NULL,
  what text COLLATE "C" NOT NULL,
  host text NOT NULL,
  PRIMARY KEY (field, what, host)
);
COMMENT ON TABLE ${schema}.allowed IS 'Files and database servers that persons named in commands, and that workflows may therefore use.';
COMMENT ON COLUMN ${schema}.allowed.field IS 'Field of a workflow''s input';
COMMENT ON COLUMN ${schema}.allowed.what IS 'Path without links, or host:port';
COMMENT ON COLUMN ${schema}.allowed.host IS 'Machine of a file; empty for a server';
`,
};
