import { agentRunTables } from './agent-run-store.js';
import type { Dialect } from './dialect.js';
import { eventTables, makeEventTables } from './events/event-tables.js';
import { monitorTables } from './monitors/monitor-tables.js';
import { makeResultViews } from './rows/result-relations.js';
import { makeRowTables, rowTables } from './rows/row-tables.js';
import { createTables, type Relation } from './shared/relation.js';

/** All tables of a warehouse. */
export const tablesOf = (dialect: Dialect): readonly Relation[] => [
  ...rowTables(dialect.keepsExact),
  ...eventTables(dialect),
  ...monitorTables,
  ...agentRunTables,
];

/** Statements that create all tables and views of the newest version in an empty file or schema. */
export const createSchema = (dialect: Dialect): string =>
  [
    makeRowTables(dialect),
    makeEventTables(dialect),
    createTables([...monitorTables, ...agentRunTables], dialect),
    makeResultViews(dialect),
  ].join('\n');
