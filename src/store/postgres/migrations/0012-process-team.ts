import type { Migration } from '../../../postgres/index.js';

/** Whose limit a worker keeps to, so that one with a limit of its own is noticed. Processes of older versions don't say. */
export const processTeam: Migration = {
  name: '0012-process-team',
  sql: (schema) => `
ALTER TABLE ${schema}.processes ADD COLUMN team text, ADD COLUMN queue text;
COMMENT ON COLUMN ${schema}.processes.team IS 'Of a worker: whose rate limit and budget it keeps to';
COMMENT ON COLUMN ${schema}.processes.queue IS 'Of a worker: its task queue';
`,
};
