import { partTables, stateTables } from '../../core/events/state-tables.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { EventDialect } from '../events/event-sql.js';
import { eventTables } from '../events/event-tables.js';
import { monitors, results, runs } from '../monitors/monitor-tables.js';
import type { Relation } from '../shared/relation.js';

/** The tables of current state: of all websets, or of all monitors with their runs and results. */
export function publishedTables(subject: 'events' | 'monitors', dialect: EventDialect): readonly Relation[] {
  if (subject === 'monitors') return [monitors, runs, results];
  const names = [...stateTables, ...partTables].map(({ name }) => name);
  return eventTables(dialect).filter(({ name }) => names.includes(name));
}

/** Throws for a warehouse that does not exist. */
export function nothingToPublish(subject: 'events' | 'monitors', shown: string): WarehouseUnusable {
  return new WarehouseUnusable(
    'job-not-loaded',
    `${shown} does not exist, so it has no ${subject}: name their warehouse with --from`,
  );
}
