/** The object in an event's `data` (API reference: /websets/v0/websets, /websets/v0/events). */
export interface Payload {
  readonly kind: PayloadKind;
  readonly types: readonly string[];
  /** The value of the payload's field `object`. Events of unknown types are recognized by this value. */
  readonly object: string;
}

export type PayloadKind = 'webset' | 'search' | 'import' | 'enrichment' | 'item' | 'monitor' | 'monitor_run' | 'export';

export const payloads: readonly Payload[] = [
  { kind: 'webset', types: ['webset.created', 'webset.deleted', 'webset.paused', 'webset.idle'], object: 'webset' },
  {
    kind: 'search',
    types: ['webset.search.created', 'webset.search.updated', 'webset.search.canceled', 'webset.search.completed'],
    object: 'webset_search',
  },
  { kind: 'import', types: ['import.created', 'import.completed'], object: 'import' },
  { kind: 'enrichment', types: [], object: 'webset_enrichment' },
  { kind: 'item', types: ['webset.item.created', 'webset.item.enriched'], object: 'webset_item' },
  { kind: 'monitor', types: ['monitor.created', 'monitor.updated', 'monitor.deleted'], object: 'monitor' },
  { kind: 'monitor_run', types: ['monitor.run.created', 'monitor.run.completed'], object: 'monitor_run' },
  // The payload of exports is not documented.
  { kind: 'export', types: ['webset.export.created', 'webset.export.completed'], object: 'webset_export' },
];

/** The documented event types; the service may have more. */
export const eventTypes: readonly string[] = payloads.flatMap(({ types }) => types);
