import { addStateMarks } from '../../events/make-tables.js';
import { duckDbDialect } from '../dialect/event-dialect.js';

/** Marks of the loads that are not in the current state yet. */
export const stateMarks = { name: '0060-state-marks', sql: addStateMarks(duckDbDialect, '') } as const;
