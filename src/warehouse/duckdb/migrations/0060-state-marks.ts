import { addStateMarks } from '../../events/make-tables.js';
import { duckDbDialect } from '../dialect/event-dialect.js';

/** Columns that mark the loads whose events are not in the current state yet. */
export const stateMarks = { name: '0060-state-marks', sql: addStateMarks(duckDbDialect, '') } as const;
