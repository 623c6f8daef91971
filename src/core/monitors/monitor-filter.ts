import type { MonitorFilter } from '../workflow-input-schemas.js';
import type { BatchProgress } from '../workflow-result-schemas.js';

const fields: ReadonlySet<string> = new Set(['status', 'name', 'metadata'] satisfies (keyof MonitorFilter)[]);

/**
 * Returns the problem of a filter beyond types, with `path` before the field; null if there is none. If a field did not reach the service,
 * the filter would match more monitors than intended.
 */
export function filterProblem(filter: MonitorFilter, path = 'filter.'): string | null {
  const unknown = Object.keys(filter).find((field) => !fields.has(field));
  if (unknown !== undefined) return `${path}${unknown}: unknown field; a filter has name, status and metadata`;
  const empty = (['name', 'status'] as const).find((field) => filter[field] === '');
  if (empty !== undefined) return `${path}${empty} must be a non-empty string`;
  // Assigning to a field of this name sets the prototype, so a copy of the object would lack the field.
  const isLost = Object.hasOwn(filter.metadata ?? {}, '__proto__');
  return isLost ? `${path}metadata: '__proto__' cannot be used as a name` : null;
}

/** Whether a filter can exclude monitors. A filter without fields, or with an empty map of metadata, matches all monitors. */
export function takesSome({ name, status, metadata }: MonitorFilter): boolean {
  return name !== undefined || status !== undefined || Object.keys(metadata ?? {}).length > 0;
}

function filterText({ name, status, metadata }: MonitorFilter): string {
  const parts = [
    ...(name === undefined ? [] : [`name contains "${name}"`]),
    ...(status === undefined ? [] : [`status is ${status}`]),
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key}=${value}`),
  ];
  return parts.length > 0 ? parts.join(', ') : 'all';
}

export function chosenText({ filter, ofSchedule }: Pick<BatchProgress, 'filter' | 'ofSchedule'>): string {
  return ofSchedule === null ? filterText(filter) : `paused by the schedule ${ofSchedule}`;
}
