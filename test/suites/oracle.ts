import type { MadeEvent } from './made-events.js';

/** The newest version of an object, by the rule that the documents give. */
export interface Version {
  readonly order: string;
  readonly data: unknown;
  readonly deleted: string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of eight shapes.
type Any = any;

/** Current state by table and id, computed one event at a time. */
export function currentState(events: readonly MadeEvent[]): Map<string, Map<string, Version>> {
  const tables = new Map<string, Map<string, Version>>();
  const see = (table: string, object: Any, { createdAt }: MadeEvent, gone = false) => {
    if (typeof object?.id !== 'string') return;
    const rows = tables.get(table) ?? new Map<string, Version>();
    tables.set(table, rows);
    const order = `${object.updatedAt ?? createdAt} ${createdAt}`;
    const known = rows.get(object.id);
    const deletions = [known?.deleted, gone ? createdAt : null].filter((at) => typeof at === 'string').sort();
    // The service lists the events in their order.
    const newest = !known || order >= known.order ? { order, data: object } : known;
    rows.set(object.id, { order: newest.order, data: newest.data, deleted: deletions[0] ?? null });
  };
  for (const event of events) {
    const data = event.data as Any;
    const { type } = event;
    if (type.startsWith('webset.search.')) see('webset_searches', data, event);
    else if (type.startsWith('webset.item.')) see('webset_items', data, event);
    else if (type.startsWith('webset.export.')) see('webset_exports', data, event);
    else if (type.startsWith('import.')) see('webset_imports', data, event);
    else if (type.startsWith('monitor.run.')) see('webset_monitor_runs', data, event);
    else if (type.startsWith('monitor.')) {
      see('webset_monitors', data, event, type === 'monitor.deleted');
      see('webset_monitor_runs', data.lastRun, event);
    } else if (type.startsWith('webset.')) {
      see('websets', data, event, type === 'webset.deleted');
      for (const one of data.searches ?? []) see('webset_searches', one, event);
      for (const one of data.imports ?? []) see('webset_imports', one, event);
      for (const one of data.enrichments ?? []) see('webset_enrichments', one, event);
      for (const one of data.items ?? []) see('webset_items', one, event);
      for (const one of data.monitors ?? []) {
        see('webset_monitors', one, event);
        see('webset_monitor_runs', one.lastRun, event);
      }
    }
  }
  return tables;
}
