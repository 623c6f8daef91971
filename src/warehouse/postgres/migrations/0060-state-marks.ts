import type { Migration } from '../../../postgres/index.js';
import { addStateMarks } from '../../events/make-tables.js';
import { postgresDialect } from '../dialect/event-dialect.js';

/** Which loads current state is still to be made of. */
export const stateMarks: Migration = {
  name: '0060-state-marks',
  sql: (schema) => addStateMarks(postgresDialect(`${schema}.`), `${schema}.`),
};
