import type { Migration } from '../../../postgres/index.js';

/** Team and task queue of each worker, so that a worker with another limit is noticed. Older versions don't record them. */
export const processTeam: Migration = {
  name: '0012-process-team',
  sql: (schema) => `
ALTER TABLE ${schema}.processes ADD COLUMN team text, ADD COLUMN queue text;
COMMENT ON COLUMN ${schema}.processes.team IS 'Team of a worker, whose rate limit and budget it uses';
COMMENT ON COLUMN ${schema}.processes.queue IS 'Task queue of a worker';
`,
};
