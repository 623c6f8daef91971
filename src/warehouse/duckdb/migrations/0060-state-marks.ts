import { addStateMarks } from '../../events/make-tables.js';
import { duckDbDialect } from '../dialect/event-dialect.js';

/** Which loads current state is still to be made of. */
export const stateMarks = { name: '0060-state-marks', sql: addStateMarks(duckDbDialect, '') } as const;
