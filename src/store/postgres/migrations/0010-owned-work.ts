import type { Migration } from '../../../postgres/index.js';

/** Who owns the work that commands began. */
export const ownedWork: Migration = {
  name: '0010-owned-work',
  sql: (schema) => `
CREATE TABLE ${schema}.owned_work (
  workflow_id text COLLATE "C" PRIMARY KEY,
  owned text NOT NULL
);
COMMENT ON TABLE ${schema}.owned_work IS 'Work of commands that has not ended, with the processes that own or watch it, as JSON.';
`,
};
