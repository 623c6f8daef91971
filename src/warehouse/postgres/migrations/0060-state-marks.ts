import type { Migration } from '../../../postgres/index.js';
import { addStateMarks } from '../../events/make-tables.js';
import { postgresDialect } from '../dialect/event-dialect.js';

/** Columns that mark the loads whose events are not in the current state yet. */
export const stateMarks: Migration = {
  name: '0060-state-marks',
  sql: (schema) => addStateMarks(postgresDialect(`${schema}.`), `${schema}.`),
};
