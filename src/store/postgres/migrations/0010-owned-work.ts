import type { Migration } from '../../../postgres/index.js';

/** Owners of the work of commands. */
export const ownedWork: Migration = {
  name: '0010-owned-work',
  sql: (schema) => `
CREATE TABLE ${schema}.owned_work (
  workflow_id text COLLATE "C" PRIMARY KEY,
  owned text NOT NULL
);
COMMENT ON TABLE ${schema}.owned_work IS 'Current work of commands, with the processes that own or watch it, as JSON.';
`,
};
